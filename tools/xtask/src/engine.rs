//! The model checkers that run the models: loom, or joint-check in its place.
//!
//! For joint-check, cargo builds a package in the target folder that has the models' sources and a
//! `Cargo.lock` of its own. The repository's never changes, however the command ends.

use std::{
    env,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    plans,
    programs::{self, BUILD},
    step::{Step, root},
};

/// How many seconds joint-check explores a model, and how many steps a thread may take, unless the
/// variables are set.
pub(crate) const MOST: [(&str, &str); 2] =
    [("LOOM_MAX_DURATION", "10"), ("LOOM_MAX_BRANCHES", "4000")];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Engine {
    Loom,
    Check,
}

impl Engine {
    /// Returns the engine of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "loom" => Some(Self::Loom),
            "check" => Some(Self::Check),
            _ => None,
        }
    }

    /// Returns the step that builds the models.
    pub(crate) fn build(self) -> Result<Step, String> {
        match self {
            Self::Loom => Ok(programs::build()),
            Self::Check => build_for_check("models", &[]),
        }
    }

    /// Returns the step that runs the models against each change, or each whose place's name
    /// contains the filter. On joint-check the page is a copy in the target folder, so that the
    /// tests that find a change on loom are tried first.
    pub(crate) fn mutants(self, smoke: bool, filter: Option<&str>) -> Result<Step, String> {
        if self == Self::Loom {
            return Ok(plans::mutants(smoke, filter));
        }
        let at = check()?;
        let page = Path::new(&at[1]).with_file_name("orderings.md");
        let copied = fs::copy(root().join("docs/orderings.md"), &page);
        copied.map_err(|error| format!("{}: {error}", page.display()))?;
        let (at, page) = (at.each_ref().map(|arg| &**arg), page.to_string_lossy());
        let step = plans::mutants_on(&at, "joint_check", &page, smoke, filter);
        let unset = MOST.iter().filter(|(key, _)| env::var_os(key).is_none());
        let step = unset.fold(step, |step, &(key, value)| step.env(key, value));
        Ok(for_check(step))
    }
}

/// The step that builds the lessons, which run on joint-check alone: loom takes `SeqCst` accesses
/// for weaker ones, and would refuse a right repair.
pub(crate) fn lessons() -> Result<Step, String> {
    build_for_check("lessons", &["--test", LESSONS])
}

pub(crate) const LESSONS: &str = "lessons";

fn build_for_check(name: &'static str, which: &[&str]) -> Result<Step, String> {
    let at = check()?;
    let at: Vec<_> = at.iter().map(|arg| &**arg).collect();
    let args = [&BUILD[..], &at, which].concat();
    Ok(for_check(Step::cargo(name, &args)).cfg("joint_check"))
}

/// Writes the package for joint-check. Returns the arguments with which cargo builds it.
fn check() -> Result<[String; 4], String> {
    let manifest = package(&root()).map_err(|error| format!("the models' package: {error}"))?;
    let target = manifest.with_file_name("target");
    let [manifest, target] = [manifest, target].map(|path| path.to_string_lossy().into_owned());
    let [at, into] = ["--manifest-path", "--target-dir"].map(str::to_owned);
    Ok([at, manifest, into, target])
}

/// Sets what all is compiled with for joint-check, apart from its own cfg. The profile is that of
/// the models' folder. Paths in the programs begin at the root, as in the repository's own builds.
fn for_check(step: Step) -> Step {
    let root = root().join("").to_string_lossy().into_owned();
    let remapped = format!("--remap-path-prefix={root}=");
    let flags = ["--cfg", "joint_loom", &remapped];
    // A flag has no spaces.
    let has_spaces = root.contains(char::is_whitespace);
    let flags = &flags[..if has_spaces { 2 } else { 3 }];
    step.in_folder("loom-tests").rustc(flags)
}

/// Writes the package, and returns its manifest.
fn package(root: &Path) -> io::Result<PathBuf> {
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into());
    let folder = root.join(target).join("check");
    fs::create_dir_all(&folder)?;
    let read = |file| fs::read_to_string(root.join(file));
    let mut tests: Vec<_> = fs::read_dir(root.join("loom-tests/tests"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    tests.sort();
    let manifest = manifest(
        &root.to_string_lossy().replace('\\', "/"),
        &read("Cargo.toml")?,
        &read("loom-tests/Cargo.toml")?,
        tests.iter().filter_map(|path| program(path)),
    );
    fs::write(folder.join("Cargo.lock"), lock(&read("Cargo.lock")?))?;
    let file = folder.join("Cargo.toml");
    fs::write(&file, manifest)?;
    Ok(file)
}

/// The programs that test what the lab says about loom's executions.
const ABOUT_LOOM: [&str; 2] = ["lab_matrix", "lab_source"];

/// The name of a program of models, and its first file below the folder of tests.
fn program(path: &Path) -> Option<(&str, String)> {
    let name = path.file_stem()?.to_str()?;
    if ABOUT_LOOM.contains(&name) {
        return None;
    }
    if path.extension().is_some_and(|kind| kind == "rs") {
        return Some((name, format!("{name}.rs")));
    }
    let is_program = path.join("main.rs").exists();
    is_program.then(|| (name, format!("{name}/main.rs")))
}

/// The models' manifest in a workspace of its own, with all paths from the root.
fn manifest<'a>(
    root: &str,
    workspace: &str,
    models: &str,
    tests: impl Iterator<Item = (&'a str, String)>,
) -> String {
    let shared = workspace.split_once("[workspace.package]");
    let shared = shared.and_then(|(_, rest)| rest.split_once("\n[package]"));
    let (shared, _) = shared.unwrap_or_default();
    let shared = shared.replace("path = \"", &format!("path = \"{root}/"));
    let models = models.replace("path = \"", &format!("path = \"{root}/loom-tests/"));
    let mut text = format!(
        "[workspace]\n[workspace.package]{shared}\n{models}
[lib]
path = \"{root}/loom-tests/src/lib.rs\"

[patch.crates-io]
loom = {{ path = \"{root}/verify/joint-check/as-loom\" }}

[profile.release.package]
corosensei = {{ opt-level = 3 }}
joint-check = {{ opt-level = 3 }}
"
    );
    for (name, file) in tests {
        let path = format!("{root}/loom-tests/tests/{file}");
        _ = write!(text, "\n[[test]]\nname = \"{name}\"\npath = \"{path}\"\n");
    }
    text
}

/// The repository's lock file without loom, so that cargo takes what stands in its place, and all
/// others in the same versions.
pub(crate) fn lock(text: &str) -> String {
    let is_loom = |package: &&str| package.contains("name = \"loom\"\nversion = \"0.7.");
    let kept: Vec<_> = (text.split("\n\n"))
        .filter(|package| !is_loom(package))
        .collect();
    kept.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lessons_are_built_and_for_joint_check() {
        let build = lessons().expect("a step").to_string();
        assert!(build.ends_with("--test lessons"), "{build}");
        assert!(
            build.contains("--release") && build.contains("--cfg joint_check"),
            "{build}"
        );
    }

    #[test]
    fn the_package_has_every_model_and_leaves_the_lock_file_as_it_is() {
        let lock = || fs::read(root().join("Cargo.lock")).expect("a lock file");
        let before = lock();
        let file = package(&root()).expect("it can be written");
        assert_eq!(lock(), before);
        let text = fs::read_to_string(&file).expect("it was written");
        for name in ["completion.rs", "task/main.rs", "lessons/main.rs"] {
            let path = format!("loom-tests/tests/{name}\"");
            assert!(text.contains(&path), "{text}");
        }
        assert!(text.contains("/joint-check/as-loom"), "{text}");
        let lock = fs::read_to_string(file.with_file_name("Cargo.lock")).expect("it was written");
        assert!(!lock.contains("name = \"loom\"\nversion = \"0.7."));
        assert!(lock.contains("name = \"corosensei\""));
    }
}
