//! `cargo xtask package`: what the registry would get, without a network.
//!
//! cargo itself packs the packages together and builds each from its archive, with the archives of
//! the others in a registry of its own below the target folder. Before that this file checks what
//! cargo does not: that nothing but the source goes along, that each package has its licences, and
//! that the relative links of its README lead to files of the repository.

use std::{
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::step::{Step, root, say};

/// A package for the registry.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) folder: PathBuf,
    /// The address of the repository, if the manifest has a place for it.
    pub(crate) repository: Option<String>,
    /// Without `default`.
    pub(crate) features: Vec<String>,
}

/// The workspaces: the root's, and that of the checkers.
pub(crate) const WORKSPACES: [&str; 2] = ["", "verify"];

/// The packages of a workspace that can be published, by their names.
pub(crate) fn published_of(workspace: &'static str) -> Result<Vec<Package>, String> {
    let args = [
        "metadata",
        "--offline",
        "--no-deps",
        "--format-version",
        "1",
    ];
    let metadata: Value =
        serde_json::from_str(&output(workspace, &args)?).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let mut packages: Vec<_> = packages.filter_map(package).collect();
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    match packages.is_empty() {
        true => Err("the workspace has no package to publish".to_owned()),
        false => Ok(packages),
    }
}

/// The packages of all workspaces that can be published.
pub(crate) fn published() -> Result<Vec<Package>, String> {
    let all = WORKSPACES.map(published_of);
    Ok(all.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
}

/// One package of cargo's metadata, unless it has `publish = false`.
fn package(value: &Value) -> Option<Package> {
    if !value["publish"].is_null() {
        return None;
    }
    let manifest = Path::new(value["manifest_path"].as_str()?);
    let features = value["features"].as_object()?.keys().cloned();
    Some(Package {
        name: value["name"].as_str()?.to_owned(),
        version: value["version"].as_str()?.to_owned(),
        folder: manifest.parent()?.to_path_buf(),
        repository: value["repository"].as_str().map(str::to_owned),
        features: features.filter(|feature| feature != "default").collect(),
    })
}

/// Checks the lists of files or, unless only they are asked for, also packs and builds everything.
/// Returns the status to exit with.
pub(crate) fn run(only_lists: bool) -> i32 {
    match checked(only_lists) {
        Ok(wrong) if wrong.is_empty() => 0,
        Ok(wrong) => {
            wrong.iter().for_each(|line| say(line));
            say(&format!("package failed: {} complaints", wrong.len()));
            1
        }
        Err(why) => {
            say(&format!("package failed: {why}"));
            1
        }
    }
}

fn checked(only_lists: bool) -> Result<Vec<String>, String> {
    let packages: Vec<_> = WORKSPACES
        .iter()
        .map(|&workspace| Ok((workspace, published_of(workspace)?)))
        .collect::<Result<_, String>>()?;
    let all = || {
        let of_one = |(workspace, packages): &'_ (&'static str, Vec<Package>)| {
            packages
                .iter()
                .map(|package| (*workspace, package.clone()))
                .collect::<Vec<_>>()
        };
        packages.iter().flat_map(of_one)
    };
    let mut wrong = Vec::new();
    let mut table = "| package | files | KB |\n|---|---|---|\n".to_owned();
    for (workspace, package) in all() {
        let package = &package;
        let files = listed(workspace, &package.name)?;
        let size: u64 = files
            .iter()
            .map(|file| size(&package.folder.join(file)))
            .sum();
        table += &format!(
            "| `{}` | {} | {} |\n",
            package.name,
            files.len(),
            size.div_ceil(1024)
        );
        wrong.extend(complaints(package, &files));
        wrong.extend(readme(package));
    }
    print!("{table}");
    let is_empty = |package: &Package| package.repository.as_deref() == Some("");
    if all().any(|(_, package)| is_empty(&package)) {
        say("the address of the repository is empty in Cargo.toml: the registry needs it");
    }
    if wrong.is_empty() && !only_lists {
        if minor_version(&output("", &["--version"])?) < Some(KNOWS_WORKSPACES) {
            say("build from the archives skipped: it needs cargo 1.90");
        } else {
            for (workspace, packages) in &packages {
                verify(workspace, packages)?;
            }
            say("each package builds from its archive");
        }
    }
    Ok(wrong)
}

/// The first cargo, 1.90, that packs packages which depend on each other.
const KNOWS_WORKSPACES: u32 = 90;

/// The second part of the version that `cargo --version` prints.
fn minor_version(printed: &str) -> Option<u32> {
    let version = printed.split(' ').nth(1)?;
    version.split('.').nth(1)?.parse().ok()
}

/// The size of a file, except of those that cargo writes while it packs. The lock file in the root
/// is the workspace's, of which only a part goes along.
fn size(file: &Path) -> u64 {
    match file.ends_with("Cargo.lock") {
        true => 0,
        false => fs::metadata(file).map_or(0, |metadata| metadata.len()),
    }
}

/// The files of a package, as cargo would pack them.
fn listed(workspace: &'static str, name: &str) -> Result<Vec<String>, String> {
    let args = [
        "package",
        "--offline",
        "--allow-dirty",
        "--list",
        "--package",
        name,
    ];
    Ok(output(workspace, &args)?
        .lines()
        .map(|line| line.replace('\\', "/"))
        .collect())
}

/// Builds each package from its archive.
///
/// cargo takes the archives for those of a registry, in which a version never changes: what it has
/// unpacked or built of one would be used again. So neither is left from a run before this one.
fn verify(workspace: &'static str, packages: &[Package]) -> Result<(), String> {
    let target = root().join("target/packages");
    removed(&target)?;
    for package in packages {
        unpacked(package)
            .iter()
            .try_for_each(|folder| removed(folder))?;
    }
    let target = target.to_string_lossy();
    let mutants = root().join("verify/joint-mutants");
    let patch = format!("patch.crates-io.joint-mutants.path={mutants:?}");
    let names = packages
        .iter()
        .flat_map(|package| ["--package", &package.name]);
    let args = [
        "package",
        "--quiet",
        "--offline",
        "--allow-dirty",
        "--no-metadata",
        "--target-dir",
        &target,
        // It lies in the other workspace, and is not yet in the registry.
        "--config",
        &patch,
    ];
    output(
        workspace,
        &args.into_iter().chain(names).collect::<Vec<_>>(),
    )
    .map(drop)
}

/// The folders into which cargo has unpacked this version of a package, each from a registry on
/// this machine: the name of its folder begins where another registry's has the host.
fn unpacked(package: &Package) -> Vec<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let registries = home.and_then(|home| fs::read_dir(home.join("registry/src")).ok());
    let registries = registries.into_iter().flatten().flatten();
    let local =
        registries.filter(|registry| registry.file_name().to_string_lossy().starts_with('-'));
    let folder = format!("{}-{}", package.name, package.version);
    local
        .map(|registry| registry.path().join(&folder))
        .collect()
}

/// Removes a folder with what is in it, if it is there.
fn removed(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("could not remove {}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Runs cargo, and returns what it prints, or its errors.
fn output(workspace: &'static str, args: &[&str]) -> Result<String, String> {
    let step = Step::cargo("package", args).in_folder(workspace);
    let output = step.command().output();
    let output = output.map_err(|error| format!("could not start cargo: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Files that a package has beside its source and its licences.
const OTHERS: [&str; 7] = [
    ".cargo_vcs_info.json",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "Cargo.toml.orig",
    "README.md",
    "guide.md",
];

fn complaints(package: &Package, files: &[String]) -> Vec<String> {
    let name = &package.name;
    let mut wrong = Vec::new();
    if package.repository.is_none() {
        wrong.push(format!("{name} lacks `repository.workspace = true`"));
    }
    for file in files {
        let file = file.as_str();
        if !file.starts_with("src/") && !LICENCES.contains(&file) && !OTHERS.contains(&file) {
            wrong.push(format!(
                "{name} packs {file}; name what belongs to it in `include`"
            ));
        }
    }
    for licence in LICENCES {
        let read = |folder: &Path| fs::read(folder.join(licence)).ok();
        if !files.iter().any(|file| file == licence) || read(&package.folder) != read(&root()) {
            let folder = package.folder.display();
            wrong.push(format!(
                "{name} has no {licence} as in the root; copy it to {folder}"
            ));
        }
    }
    wrong
}

/// Returns the faults of the links in a package's README.
fn readme(package: &Package) -> Vec<String> {
    let name = &package.name;
    match fs::read_to_string(package.folder.join("README.md")) {
        Ok(text) => dead_links(&text, |link| package.folder.join(link).exists())
            .iter()
            .map(|link| format!("the README of {name} links to {link}, which does not exist"))
            .collect(),
        Err(error) => vec![format!("the README of {name}: {error}")],
    }
}

/// The relative links and pictures of a page that lead nowhere.
fn dead_links(page: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let links = page.split("](").skip(1);
    let links = links.filter_map(|rest| rest.split([')', ' ', '#']).next());
    let relative = links.filter(|link| !link.is_empty() && !link.contains("://"));
    relative
        .filter(|link| !exists(link))
        .map(str::to_owned)
        .collect()
}

/// All sets of a package's features, the empty one first.
pub(crate) fn powerset(features: &[String]) -> Vec<String> {
    let sets = 0..1_usize << features.len();
    let chosen = |set: usize| {
        let chosen = (features.iter().enumerate()).filter(move |(n, _)| set >> n & 1 == 1);
        chosen
            .map(|(_, name)| name.as_str())
            .collect::<Vec<_>>()
            .join(",")
    };
    sets.map(chosen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_are_not_published_are_left_out() {
        let text = r#"[
            {"name": "a", "version": "0.1.0", "publish": null, "manifest_path": "/x/Cargo.toml", "repository": "", "features": {"default": [], "f": []}},
            {"name": "b", "version": "0.1.0", "publish": [], "manifest_path": "/y/Cargo.toml", "features": {}}
        ]"#;
        let value: Value = serde_json::from_str(text).expect("JSON");
        let packages: Vec<_> = value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(package)
            .collect();
        let [a] = &packages[..] else {
            panic!("{packages:?}")
        };
        assert_eq!(
            (a.name.as_str(), a.folder.as_path()),
            ("a", Path::new("/x"))
        );
        assert_eq!(a.features, ["f"]);
        assert_eq!(a.repository.as_deref(), Some(""));
    }

    #[test]
    fn tests_and_foreign_files_are_named() {
        let mut package = Package {
            name: "a".to_owned(),
            version: "0.1.0".to_owned(),
            folder: root(),
            repository: Some(String::new()),
            features: Vec::new(),
        };
        let files = |more: &[&str]| {
            let files = LICENCES
                .iter()
                .chain(&["Cargo.toml", "src/lib.rs"])
                .chain(more);
            files.map(|&file| file.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(complaints(&package, &files(&[])), [""; 0]);
        let wrong = complaints(&package, &files(&["tests/a.rs"]));
        assert!(
            wrong.len() == 1 && wrong[0].contains("tests/a.rs"),
            "{wrong:?}"
        );
        package.repository = None;
        let wrong = complaints(&package, &files(&[]));
        assert!(
            wrong.len() == 1 && wrong[0].contains("repository.workspace"),
            "{wrong:?}"
        );
        package.repository = Some(String::new());
        let wrong = complaints(&package, &files(&[])[1..]);
        assert!(
            wrong.len() == 1 && wrong[0].contains("LICENSE-APACHE"),
            "{wrong:?}"
        );
    }

    #[test]
    fn only_relative_links_that_lead_nowhere_are_named() {
        let page = "[a](b.md) ![c](d.svg) [e](https://f.g) [h](#i) [j](k.md#l)";
        assert_eq!(dead_links(page, |link| link == "b.md"), ["d.svg", "k.md"]);
    }

    #[test]
    fn the_version_of_cargo_is_read() {
        let minor = minor_version("cargo 1.85.1 (d73d2caf9 2024-12-31)\n");
        assert_eq!(minor, Some(85));
        assert!(minor < Some(KNOWS_WORKSPACES));
        assert_eq!(minor_version("cargo"), None);
    }

    #[test]
    fn a_powerset_has_each_set_once() {
        let features = ["a", "b"].map(str::to_owned);
        assert_eq!(powerset(&features), ["", "a", "b", "a,b"]);
    }
}
