//! What the registry would get: the packages without `publish = false` of the root's workspace and
//! of `verify`.

use std::{fs, io::ErrorKind, path::Path, path::PathBuf};

use serde_json::Value;

use super::{
    plans::{LESSONS, toolchain},
    step::{Done, Step, Stop, needs, root, run_all, say, target},
    words::Words,
};

/// The workspaces. A package of the root's may depend on one of `verify`, so that one goes first.
const WORKSPACES: [&str; 2] = ["verify", ""];

/// The names of a workspace's packages, with their versions and their manifests.
fn published(workspace: &'static str) -> Result<Vec<(String, String, String)>, String> {
    let line = "metadata --offline --no-deps --format-version 1";
    let printed = Step::cargo("metadata", line)
        .in_folder(workspace)
        .output()?;
    let metadata: Value = serde_json::from_str(&printed).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let published = packages.filter(|package| package["publish"].is_null());
    let text = |package: &Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let each = |package: &Value| {
        let [name, version] = ["name", "version"].map(|key| text(package, key));
        (name, version, text(package, "manifest_path"))
    };
    let mut published: Vec<_> = published.map(each).collect();
    published.sort();
    Ok(published)
}

/// One step for each workspace, with all of its packages.
fn steps(step: impl Fn() -> Step) -> Result<Vec<Step>, String> {
    let of_one = |workspace: &'static str| {
        let packages = published(workspace)?;
        let named = packages.iter().flat_map(|(name, ..)| ["--package", name]);
        Ok(step().in_folder(workspace).args(named))
    };
    WORKSPACES.into_iter().map(of_one).collect()
}

/// Checks that each package compiles from its archive, with the archives of the others: unpacked,
/// they are the members of a workspace in the target folder.
pub(crate) fn run() -> Done {
    let folder = target().join("packages");
    removed(&folder)?;
    // What joint-switch depends on, which the registry may not have yet.
    let patches = ["joint-facade", "joint-lab", "joint-mutants"].map(|name| {
        let folder = root().join("verify").join(name);
        format!("patch.crates-io.{name}.path={folder:?}")
    });
    let line = "package --quiet --offline --allow-dirty --no-metadata --no-verify";
    let pack = || {
        let patches = patches.iter().flat_map(|patch| ["--config", patch]);
        let step = Step::cargo("packages", line).args(patches);
        step.args(["--target-dir", &folder.to_string_lossy()])
    };
    let status = run_all("package", steps(pack)?);
    if status != 0 {
        return Ok(status);
    }
    let archives = folder.join("package");
    let (mut members, mut by_path) = (Vec::new(), String::new());
    for workspace in WORKSPACES {
        for (name, version, _) in published(workspace)? {
            let member = format!("{name}-{version}");
            let archive = archives.join(format!("{member}.crate"));
            let unpack = Step::program("archive", "tar", "-xzf").arg(archive.to_string_lossy());
            unpack.args(["-C", &archives.to_string_lossy()]).output()?;
            by_path += &format!("{name}.path = {member:?}\n");
            members.push(member);
        }
    }
    let manifest = archives.join("Cargo.toml");
    let workspace = format!(
        "[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n[patch.crates-io]\n{by_path}"
    );
    let written = fs::write(&manifest, workspace);
    written.map_err(|error| format!("{}: {error}", manifest.display()))?;
    let copied = fs::copy(root().join("Cargo.lock"), archives.join("Cargo.lock"));
    copied.map_err(|error| format!("Cargo.lock: {error}"))?;
    let check = Step::cargo(
        "archives",
        "check --quiet --offline --workspace --manifest-path",
    )
    .arg(manifest.to_string_lossy())
    .args(["--target-dir", &folder.to_string_lossy()]);
    Ok(run_all("package", vec![check]))
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

/// Writes the public API, or compares it. The package `joint-api` makes it of rustdoc's JSON.
pub(crate) fn api(words: &Words) -> Done {
    let json = "-Z unstable-options --output-format json";
    let mut steps = steps(|| doc("rustdoc's JSON").flags("RUSTDOCFLAGS", json))?;
    let mut compare = Step::cargo("public API", "run --quiet -p joint-api --");
    compare = compare.args(words.has("--check").then_some("--check"));
    for workspace in WORKSPACES {
        for (name, _, manifest) in published(workspace)? {
            // A program has no API.
            if !Path::new(&manifest).with_file_name("src/lib.rs").exists() {
                continue;
            }
            let file = doc_folder().join(name.replace('-', "_") + ".json");
            compare = compare.arg(file.to_string_lossy());
        }
    }
    steps.push(compare);
    Ok(run_all("api", steps))
}

/// Documents packages in a folder of its own, because some build scripts run again if
/// `RUSTC_BOOTSTRAP` is set, and so that no other set of features is documented there.
fn doc(name: &'static str) -> Step {
    Step::cargo(name, "doc --no-deps --all-features")
        .env("CARGO_TARGET_DIR", target().join("api").to_string_lossy())
        .env("RUSTC_BOOTSTRAP", "1")
}

fn doc_folder() -> PathBuf {
    target().join("api/doc")
}

/// Looks up the aliases in the documentation, by the script of rustdoc that its pages search with.
pub(crate) fn aliases() -> Done {
    let why = "there is no node, in which rustdoc's search runs";
    Step::program("", "node", "--version").or_skip(why)?;
    let mut steps = steps(|| doc("documentation"))?;
    let search = Step::program("search", "node", "tools/api/search.mjs");
    let mut search = search.arg(doc_folder().to_string_lossy());
    for workspace in WORKSPACES {
        for (name, _, manifest) in published(workspace)? {
            let sources = Path::new(&manifest).with_file_name("src");
            search = search.arg(format!("{}={}", name.replace('-', "_"), sources.display()));
        }
    }
    steps.push(search);
    Ok(run_all("aliases", steps))
}

/// Without the database of advisories, which is fetched, checks the rest. Not in
/// `tools/compat/found`, whose dependencies are what is tested there.
pub(crate) fn audit() -> Done {
    needs("deny")?;
    let deny = |name, line: &str| {
        let config = root().join("deny.toml");
        let step = Step::cargo(name, "deny --workspace --config");
        step.arg(config.to_string_lossy()).args(line.split(' '))
    };
    let all = match deny("advisories", "fetch db").output() {
        Ok(_) => "check",
        Err(why) => {
            say(&format!(
                "advisories skipped, because they cannot be fetched: {}",
                why.trim()
            ));
            "check bans licenses sources"
        }
    };
    let audited = ["", "verify", LESSONS];
    let steps = audited.map(|workspace| deny("audit", all).in_folder(workspace));
    Ok(run_all("audit", steps.into()))
}

pub(crate) fn powerset() -> Done {
    needs("hack")?;
    let line = "hack clippy --feature-powerset";
    let hack = || Step::cargo("features", line);
    let deny = |step: Step| step.args(["--", "-D", "warnings"]);
    Ok(run_all(
        "powerset",
        steps(hack)?.into_iter().map(deny).collect(),
    ))
}

pub(crate) fn minimal() -> Done {
    needs("minimal-versions")?;
    toolchain("nightly", "--version", "toolchain install nightly")?;
    // In the whole workspace, the benches' peers ask for newer versions.
    let line = "minimal-versions check --direct --ignore-private --all-features";
    Ok(run_all(
        "minimal",
        steps(|| Step::cargo("oldest versions", line))?,
    ))
}

pub(crate) fn semver() -> Done {
    needs("semver-checks")?;
    let line = "describe --tags --abbrev=0 --match v*";
    let tag = Step::program("", "git", line).output();
    let none = |_| Stop::Skipped("there is no release: no tag `v*` leads here".to_owned());
    let tag = tag.map_err(none)?;
    let line = "semver-checks --all-features --baseline-rev";
    let compare = || Step::cargo("public API", line).arg(tag.trim());
    Ok(run_all("semver", steps(compare)?))
}
