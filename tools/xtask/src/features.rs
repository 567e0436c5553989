//! Checks before a release that take too long or need too much for every change: each
//! set of features, the oldest versions of the dependencies, and the API of the last release.

use std::fs;

use super::{
    nightly,
    package::{Package, powerset as sets, published},
    size::target,
    step::{Step, run_all, say},
};

/// Lints each published package with each set of its features. Returns the status to exit with.
pub(crate) fn powerset() -> i32 {
    match published() {
        Ok(packages) => {
            let steps: Vec<_> = packages.iter().flat_map(of_each_set).collect();
            run_all("powerset", &steps)
        }
        Err(why) => failed("powerset", &why),
    }
}

fn of_each_set(package: &Package) -> Vec<Step> {
    let sets = sets(&package.features).into_iter();
    let step = |set: String| {
        let args = [
            "clippy",
            "--package",
            &package.name,
            "--no-default-features",
        ];
        let args = [&args[..], &["--features", &set, "--", "-D", "warnings"]].concat();
        Step::cargo("features", &args)
    };
    sets.map(step).collect()
}

/// Builds the published packages with the oldest versions of their dependencies. Returns the status
/// to exit with.
///
/// They are built from their archives, in a workspace below the target folder: in the repository's
/// workspace the benches' peers ask for newer versions.
pub(crate) fn minimal() -> i32 {
    if let Err(why) = nightly::is_installed() {
        return skipped("minimal", &why);
    }
    match minimal_steps() {
        Ok(steps) => run_all("minimal", &steps),
        Err(why) => failed("minimal", &why),
    }
}

fn minimal_steps() -> Result<Vec<Step>, String> {
    let folder = target().join("minimal");
    let archives = folder.join("package");
    let (folder, archives) = (folder.to_string_lossy(), archives.to_string_lossy());
    let packages = published()?;
    let names = || packages.iter().map(|package| package.name.as_str());
    let manifest = folder.to_string() + "/Cargo.toml";
    let members = names().map(|name| format!("{name} = {{ path = {name:?} }}\n"));
    let text = format!(
        "[workspace]\nmembers = [\"joint*\"]\nresolver = \"3\"\n\n[patch.crates-io]\n{}",
        members.collect::<String>()
    );
    let _ = fs::remove_dir_all(&*folder);
    let written = fs::create_dir_all(&*folder).and_then(|()| fs::write(&manifest, text));
    written.map_err(|error| format!("{manifest}: {error}"))?;

    let pack = [
        "package",
        "--no-verify",
        "--offline",
        "--allow-dirty",
        "--no-metadata",
        "--quiet",
    ];
    let named = names().flat_map(|name| ["--package", name]);
    let pack: Vec<_> = pack
        .into_iter()
        .chain(["--target-dir", &folder])
        .chain(named)
        .collect();
    let mut steps = vec![Step::cargo("archives", &pack)];
    for package in &packages {
        let (name, version) = (&package.name, &package.version);
        let file = format!("{archives}/{name}-{version}.crate");
        let place = format!("{folder}/{name}");
        fs::create_dir_all(&place).map_err(|error| format!("{place}: {error}"))?;
        let args = ["-xzf", &file, "-C", &place, "--strip-components", "1"];
        steps.push(Step::program("unpacked", "tar", &args));
    }
    let args = [
        "check",
        "--workspace",
        "--all-features",
        "--manifest-path",
        &manifest,
    ];
    steps.push(Step::nightly_cargo(
        "oldest versions",
        &[
            &args[..],
            &["-Zdirect-minimal-versions", "-Zavoid-dev-deps"],
        ]
        .concat(),
    ));
    Ok(steps)
}

/// Compares the public API with that of the last release. Returns the status to exit with.
pub(crate) fn semver() -> i32 {
    let is_installed = |step: Step| {
        let output = step.command().output();
        output.is_ok_and(|output| output.status.success())
    };
    if !is_installed(Step::cargo("", &["semver-checks", "--version"])) {
        return skipped(
            "semver",
            "cargo-semver-checks is not installed; to get it: cargo install --locked cargo-semver-checks",
        );
    }
    let Some(tag) = last_release() else {
        return skipped(
            "semver",
            "there is no release to compare with: no tag `v*` leads here",
        );
    };
    match published() {
        Ok(packages) => {
            let names = packages
                .iter()
                .flat_map(|package| ["--package", &package.name]);
            let args = ["semver-checks", "--all-features", "--baseline-rev", &tag];
            let args: Vec<_> = args.into_iter().chain(names).collect();
            run_all("semver", &[Step::cargo("public API", &args)])
        }
        Err(why) => failed("semver", &why),
    }
}

fn last_release() -> Option<String> {
    let args = ["describe", "--tags", "--abbrev=0", "--match", "v*"];
    let output = Step::program("", "git", &args).command().output().ok()?;
    let tag = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| tag.trim().to_owned())
}

fn skipped(command: &str, why: &str) -> i32 {
    say(&format!("{command} skipped: {why}"));
    0
}

fn failed(command: &str, why: &str) -> i32 {
    say(&format!("{command} failed: {why}"));
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn each_set_of_features_is_linted() {
        let package = Package {
            name: "a".to_owned(),
            version: "0.1.0".to_owned(),
            folder: PathBuf::new(),
            repository: None,
            features: ["f", "g"].map(str::to_owned).into(),
        };
        let lines: Vec<_> = of_each_set(&package).iter().map(Step::to_string).collect();
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(
            lines[0].contains("--no-default-features --features '' "),
            "{}",
            lines[0]
        );
        assert!(
            lines[3].contains("--package a ") && lines[3].contains("--features f,g "),
            "{}",
            lines[3]
        );
    }
}
