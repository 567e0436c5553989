//! Runs upstream's own suites, unmodified, on the package in `tools/compat/async-task`, and the
//! published crates of `tools/compat/hunt` in the simulation.
//!
//! Everything is in `compat` of the target folder. `sources` is a package through which cargo
//! vendors the crates. `suites` is a workspace that patches async-task, and whose packages have the
//! vendored files as their targets:
//!
//! * `[lib]` is the crate's own source under another name, so that its doc tests are run, and the
//!   paths in them lead to the patched crate;
//! * each test is a `[[test]]`, and each example one without a harness, so that `cargo test` runs
//!   it.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use super::step::{Step, root, run_all, say};

/// A crate whose suites are run.
struct Suite {
    name: &'static str,
    version: &'static str,
    /// The dependency of its tests and examples on the crate itself.
    itself: &'static str,
}

const SUITES: [Suite; 2] = [
    Suite {
        name: "async-task",
        version: "4.7.1",
        itself: "version = \"4.7.1\"\n",
    },
    Suite {
        name: "async-executor",
        version: "1.14.1",
        itself: "version = \"=1.14.1\"\nfeatures = [\"static\"]\n",
    },
];

/// The package of this repository's own programs on smol.
const SMOL: &str = "\
[package]
name = \"smol-suite\"
edition = \"2024\"

[lib]
path = \"../../sources/lib.rs\"

[dev-dependencies]
smol = \"2\"
";

/// Fetches the suites and runs them, and returns the status to exit with.
pub(crate) fn run() -> i32 {
    match fetch_and_test(&Folder::new()) {
        Ok(()) => 0,
        Err((code, why)) => {
            say(&format!("compat failed: {why}"));
            code
        }
    }
}

/// A status to exit with, and why.
type Failed = (i32, String);

fn fetch_and_test(folder: &Folder) -> Result<(), Failed> {
    let broken = |why| (1, why);
    folder.write_sources().map_err(broken)?;
    let offline = "the crates could not be fetched; cargo fetches them from the registry, and says above what prevented it";
    pass("compat sources", &[folder.fetch()], offline)?;
    folder.write_suites().map_err(broken)?;
    pass("compat lock file", &[folder.lock()], offline)?;
    let lock = read(&folder.suites().join("Cargo.lock")).map_err(broken)?;
    let version = patched_version(&lock).map_err(broken)?;
    say(&format!(
        "the only async-task is the {version} of tools/compat/async-task"
    ));
    pass("compat", &folder.tests(), "a suite failed")?;
    let moved = "tools/compat/hunt does not build, a bug of docs/found.md is not found as it is written \
                 there, or a new one is found";
    pass("compat hunt", &folder.hunt(), moved)
}

fn pass(command: &str, steps: &[Step], otherwise: &str) -> Result<(), Failed> {
    match run_all(command, steps) {
        0 => Ok(()),
        code => Err((code, otherwise.to_owned())),
    }
}

/// `compat` in the target folder, which is never part of the repository.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let target = env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into());
        Self(root().join(target).join("compat"))
    }

    fn sources(&self) -> PathBuf {
        self.0.join("sources")
    }

    fn suites(&self) -> PathBuf {
        self.0.join("suites")
    }

    /// The folder of a vendored crate.
    fn vendored(&self, suite: &Suite) -> PathBuf {
        let folder = format!("{}-{}", suite.name, suite.version);
        self.sources().join("vendor").join(folder)
    }

    fn write_sources(&self) -> Result<(), String> {
        let crates = SUITES.map(|suite| format!("{} = \"={}\"\n", suite.name, suite.version));
        let manifest = format!(
            "[workspace]\n\n[package]\nname = \"sources\"\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n[dependencies]\n{}",
            crates.concat()
        );
        write(&self.sources().join("lib.rs"), "")?;
        write(&self.sources().join("Cargo.toml"), &manifest)
    }

    fn write_suites(&self) -> Result<(), String> {
        let compat = root().join("tools/compat/async-task");
        let own = targets(&compat.join("suites"), "")?;
        write(
            &self.suites().join("smol/Cargo.toml"),
            &format!("{SMOL}\n{own}"),
        )?;
        for suite in &SUITES {
            let manifest = suite_manifest(suite, &self.vendored(suite))?;
            write(
                &self.suites().join(suite.name).join("Cargo.toml"),
                &manifest,
            )?;
        }
        let manifest = format!(
            "[workspace]\nresolver = \"2\"\nmembers = [\"async-executor\", \"async-task\", \"smol\"]\n\n[patch.crates-io]\nasync-task = {{ path = {compat:?} }}\n"
        );
        write(&self.suites().join("Cargo.toml"), &manifest)
    }

    fn fetch(&self) -> Step {
        let vendor = self.sources().join("vendor");
        let vendor = vendor.to_string_lossy();
        let args = ["vendor", "--quiet", "--versioned-dirs", &vendor];
        self.step("unmodified sources", &args, &self.sources())
    }

    fn lock(&self) -> Step {
        self.step("resolution", &["generate-lockfile"], &self.suites())
    }

    fn tests(&self) -> [Step; 2] {
        let all = ["test", "--workspace", "--all-features", "--no-fail-fast"];
        let test = |name, which| self.step(name, &[&all[..], &[which]].concat(), &self.suites());
        [
            test("tests and examples", "--tests"),
            test("doc tests", "--doc"),
        ]
    }

    /// Returns the steps that lint the hunt, find its bugs again, and run the first seeds of each
    /// program.
    fn hunt(&self) -> [Step; 3] {
        let lints = ["clippy", "--all-targets", "--", "-D", "warnings"];
        let seeds = ["run", "--bin", "hunt", "--", "--seconds", "0"];
        [
            Step::cargo("lints of the hunt", &lints),
            Step::cargo("bugs that it found", &["run", "--example", "found"]),
            Step::cargo("its first seeds", &seeds),
        ]
        .map(|step| self.builds_here(step.in_folder("tools/compat/hunt")))
    }

    /// A run of cargo on the package in `folder`.
    fn step(&self, name: &'static str, args: &[&str], folder: &Path) -> Step {
        let manifest = folder.join("Cargo.toml");
        let manifest = manifest.to_string_lossy();
        let args = [args, &["--manifest-path", &manifest]].concat();
        self.builds_here(Step::cargo(name, &args))
    }

    /// All builds share a folder in the target folder.
    fn builds_here(&self, step: Step) -> Step {
        let target = self.0.join("target");
        step.env("CARGO_TARGET_DIR", target.to_string_lossy())
    }
}

/// A package whose targets are the files of the vendored crate.
fn suite_manifest(suite: &Suite, vendored: &Path) -> Result<String, String> {
    let theirs = read(&vendored.join("Cargo.toml"))?;
    let tests = targets(&vendored.join("tests"), "")?;
    let examples = targets(&vendored.join("examples"), "harness = false\n")?;
    Ok(format!(
        "[package]\nname = \"{name}-suite\"\nedition = \"2021\"\n\n[lib]\npath = {library:?}\n\n{tables}[dependencies.{name}]\n{itself}\n{tests}{examples}",
        name = suite.name,
        library = vendored.join("src/lib.rs"),
        tables = dependencies(&theirs),
        itself = suite.itself,
    ))
}

/// Returns the features and dependencies of a manifest, as cargo writes it for the registry: one
/// table for each. Leaves out criterion, which only benches use.
fn dependencies(manifest: &str) -> String {
    let tables = manifest.split("\n[").skip(1);
    tables
        .filter(|table| {
            let header = table.split(']').next().unwrap_or_default();
            header == "features" || header.contains("dependencies.")
        })
        .filter(|table| !table.starts_with("dev-dependencies.criterion]"))
        .map(|table| format!("[{}\n\n", table.trim_end()))
        .collect()
}

/// The Rust files of a folder as test targets.
fn targets(folder: &Path, more: &str) -> Result<String, String> {
    let wrong = |error| format!("cannot list {}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(wrong)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    paths.sort();
    let target = |path: &PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        format!("[[test]]\nname = {name:?}\npath = {path:?}\n{more}\n")
    };
    Ok(paths.iter().map(target).collect())
}

/// Returns the version of the only async-task in a lock file, if it is a package of the file
/// system.
fn patched_version(lock: &str) -> Result<&str, String> {
    let packages = lock.split("[[package]]\n");
    let mut found = packages.filter(|package| package.starts_with("name = \"async-task\"\n"));
    let (Some(package), None) = (found.next(), found.next()) else {
        return Err("the lock file of the suites has not exactly one async-task".to_owned());
    };
    if package.contains("\nsource = ") || package.contains("\nchecksum = ") {
        return Err(
            "the lock file of the suites takes async-task from the registry: the patch has no effect"
                .to_owned(),
        );
    }
    let version = package
        .lines()
        .find_map(|line| line.strip_prefix("version = "));
    let version = version.ok_or("the lock file of the suites gives async-task no version")?;
    Ok(version.trim_matches('"'))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let written = folder.and_then(|()| fs::write(path, text));
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str =
        "[[package]]\nname = \"async-task\"\nversion = \"4.7.100\"\ndependencies = [\n]\n\n";
    const THEIRS: &str = "[[package]]\nname = \"async-task\"\nversion = \"4.7.1\"\nsource = \"registry+x\"\nchecksum = \"y\"\n\n";
    const SUITE: &str = "[[package]]\nname = \"async-task-suite\"\nversion = \"0.0.0\"\n\n";

    #[test]
    fn a_lock_file_shows_whether_the_patch_took_effect() {
        assert_eq!(patched_version(&[SUITE, OURS].concat()), Ok("4.7.100"));
        for (lock, culprit) in [
            (vec![SUITE], "exactly one"),
            (vec![OURS, THEIRS], "exactly one"),
            (vec![THEIRS, SUITE], "from the registry"),
        ] {
            let error = patched_version(&lock.concat()).map(str::to_owned);
            assert!(
                error.clone().is_err_and(|e| e.contains(culprit)),
                "{error:?}"
            );
        }
    }

    #[test]
    fn a_suite_has_the_dependencies_of_its_crate() {
        let manifest = "[package]\nname = \"x\"\n\n[[test]]\nname = \"t\"\n\n[dependencies.a]\nversion = \"1\"\n\n\
            [dev-dependencies.b]\nversion = \"2\"\nfeatures = [\n    \"f\",\n]\n\n[dev-dependencies.criterion]\nversion = \"0.8\"\n\n\
            [features]\nstd = []\n\n[target.'cfg(x)'.dependencies.c]\nversion = \"3\"\n";
        assert_eq!(
            dependencies(manifest),
            "[dependencies.a]\nversion = \"1\"\n\n\
            [dev-dependencies.b]\nversion = \"2\"\nfeatures = [\n    \"f\",\n]\n\n\
            [features]\nstd = []\n\n[target.'cfg(x)'.dependencies.c]\nversion = \"3\"\n\n"
        );
    }
}
