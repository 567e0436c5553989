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
    programs::{self, BUILD},
    step::{Step, root},
};

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
        let package = match self {
            Self::Loom => return Ok(programs::build()),
            Self::Check => package(&root()),
        };
        let manifest = package.map_err(|error| format!("the models' package: {error}"))?;
        let target = manifest.with_file_name("target");
        let [manifest, target] = [manifest, target].map(|path| path.to_string_lossy().into_owned());
        let args = [
            &BUILD[..],
            &["--manifest-path", &manifest, "--target-dir", &target],
        ];
        let step = Step::cargo("models", &args.concat());
        Ok(step.cfg("joint_loom").cfg("joint_check"))
    }
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
const ABOUT_LOOM: [&str; 3] = ["lab_matrix", "lab_source", "lessons"];

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
loom = {{ path = \"{root}/check/as-loom\" }}

[profile.release]
opt-level = 1

[profile.release.package]
corosensei = {{ opt-level = 3 }}
joint-check = {{ opt-level = 3 }}
loom-tests = {{ opt-level = 0 }}
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
fn lock(text: &str) -> String {
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
    fn the_package_has_every_model_and_leaves_the_lock_file_as_it_is() {
        let lock = || fs::read(root().join("Cargo.lock")).expect("a lock file");
        let before = lock();
        let file = package(&root()).expect("it can be written");
        assert_eq!(lock(), before);
        let text = fs::read_to_string(&file).expect("it was written");
        for name in ["completion.rs", "task/main.rs"] {
            let path = format!("loom-tests/tests/{name}\"");
            assert!(text.contains(&path), "{text}");
        }
        assert!(text.contains("/check/as-loom"), "{text}");
        let lock = fs::read_to_string(file.with_file_name("Cargo.lock")).expect("it was written");
        assert!(!lock.contains("name = \"loom\"\nversion = \"0.7."));
        assert!(lock.contains("name = \"corosensei\""));
    }
}
