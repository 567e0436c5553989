//! The models, on loom or on joint-check in its place, and what changes the source under them.
//!
//! For joint-check, cargo builds a package in the target folder that has the models' sources and a
//! `Cargo.lock` of its own. The repository's never changes, however the command ends.

use std::{env, fs};

use super::{
    step::{Done, Step, Stop, needs, root, run_all, target},
    words::Words,
};

/// How many seconds joint-check explores a model, and how many steps a thread may take, unless the
/// variables are set.
const MOST: [(&str, &str); 2] = [("LOOM_MAX_DURATION", "10"), ("LOOM_MAX_BRANCHES", "4000")];

/// Whether joint-check runs the models.
fn on_check(words: &Words) -> Result<bool, Stop> {
    match words.option("--engine") {
        None | Some("loom") => Ok(false),
        Some("check") => Ok(true),
        Some(_) => Err(Stop::Refused("--engine takes loom or check".to_owned())),
    }
}

/// Writes the package for joint-check, and returns the arguments with which cargo builds it.
fn check() -> Result<Vec<String>, String> {
    let folder = target().join("check");
    let write = |file: &str, text: String| fs::write(folder.join(file), text);
    let read = |file| fs::read_to_string(root().join(file));
    let written = fs::create_dir_all(&folder)
        .and_then(|()| write("Cargo.lock", without_loom(&read("Cargo.lock")?)))
        .and_then(|()| {
            let (workspace, models) = (read("Cargo.toml")?, read("loom-tests/Cargo.toml")?);
            write("Cargo.toml", manifest(&workspace, &models))
        });
    written.map_err(|error| format!("{}: {error}", folder.display()))?;
    let [manifest, build] =
        ["Cargo.toml", "target"].map(|name| folder.join(name).display().to_string());
    Ok(["--manifest-path", &manifest, "--target-dir", &build]
        .map(str::to_owned)
        .into())
}

/// The models' manifest in a workspace of its own, with all paths from the root.
fn manifest(workspace: &str, models: &str) -> String {
    let root = root().display().to_string().replace('\\', "/");
    let shared = workspace.split_once("[workspace.package]");
    let shared = shared.and_then(|(_, rest)| rest.split_once("\n[package]"));
    let (shared, _) = shared.unwrap_or_default();
    let shared = shared.replace("path = \"", &format!("path = \"{root}/"));
    let models = models.replace("path = \"", &format!("path = \"{root}/loom-tests/"));
    format!(
        "[workspace]\n[workspace.package]{shared}\n{models}\n\
         [lib]\npath = \"{root}/loom-tests/src/lib.rs\"\n\n\
         [patch.crates-io]\nloom = {{ path = \"{root}/verify/joint-check/as-loom\" }}\n\n\
         [profile.release.package]\ncorosensei = {{ opt-level = 3 }}\n\
         joint-check = {{ opt-level = 3 }}\n"
    )
}

/// The repository's lock file without loom, so that cargo takes what stands in its place, and all
/// others in the same versions.
fn without_loom(lock: &str) -> String {
    let is_loom = |package: &&str| package.contains("name = \"loom\"\nversion = \"0.7.");
    let kept = lock.split("\n\n").filter(|package| !is_loom(package));
    kept.collect::<Vec<_>>().join("\n\n")
}

/// Sets what all is compiled with for joint-check, and the limits. Paths in the programs begin at
/// the root, as in the repository's own builds.
fn for_check(step: Step) -> Step {
    let root = root().join("").display().to_string();
    let step = step.rustc("--cfg joint_loom --cfg joint_check");
    let step = match root.contains(char::is_whitespace) {
        true => step,
        false => step.rustc(&format!("--remap-path-prefix={root}=")),
    };
    let unset = MOST.iter().filter(|(key, _)| env::var_os(key).is_none());
    unset.fold(step.in_folder("loom-tests"), |step, (key, value)| {
        step.env(key, value)
    })
}

/// Runs the models in release, because a model runs its closure thousands of times.
pub(crate) fn loom(words: &Words) -> Done {
    let (check_args, full) = (
        on_check(words)?.then(check).transpose()?,
        words.has("--full"),
    );
    if full && check_args.is_some() {
        let why = "joint-check has no bounds on preemptions that --full could take away";
        return Err(Stop::Refused(why.to_owned()));
    }
    let is_set = |key: &&str| env::var_os(key).is_some();
    let counts = ["JOINT_LOOM_RUNS", "JOINT_CHECK_LOG"].iter().any(is_set);
    // Counts have to be told from one another, by the lines of plain cargo before them.
    let has_nextest = !counts && check_args.is_none() && needs("nextest").is_ok();
    let mut step = match has_nextest {
        true => Step::cargo("models", "nextest run --cargo-profile release").args([
            "--config-file",
            &root()
                .join("loom-tests/.config/nextest.toml")
                .display()
                .to_string(),
        ]),
        false => Step::cargo("models", "test --release --no-fail-fast"),
    };
    step = match &check_args {
        // Says which models have not ended.
        Some(args) if !counts => for_check(step.args(args)).env("JOINT_CHECK_LOG", "cut"),
        Some(args) => for_check(step.args(args)),
        None => step.in_models(),
    };
    step = step.arg("--tests").args(words.word(0));
    if full {
        step = step.env("JOINT_LOOM_FULL", "1");
    }
    if counts || check_args.is_some() {
        step = step.args(["--", "--nocapture"]);
    }
    Ok(run_all("loom", vec![step]))
}

pub(crate) fn lab(words: &Words) -> Done {
    let step = Step::cargo("lab", "run --quiet --release --bin lab --").in_models();
    let words = (0..).map_while(|n| words.word(n));
    Ok(run_all("lab", vec![step.args(words)]))
}

/// The models against each change, or each whose place's name contains the filter. Both builds have
/// the same target folder. On joint-check the page is a copy in the target folder, so that the
/// tests that find a change on loom are tried first.
pub(crate) fn mutants(words: &Words) -> Done {
    let line = "run --quiet -p joint-mutants --manifest-path ../verify/Cargo.toml \
                --no-default-features";
    let mut step = Step::cargo("mutants", line);
    let (mut build, mut page, mut cfg) =
        (Vec::new(), "../docs/orderings.md".to_owned(), "joint_loom");
    if on_check(words)? {
        build = check()?;
        let copy = target().join("check/orderings.md");
        let copied = fs::copy(root().join("docs/orderings.md"), &copy);
        copied.map_err(|error| format!("{}: {error}", copy.display()))?;
        let folder = target().join("check/target").display().to_string();
        step = for_check(step.args(["--target-dir", &folder]));
        (page, cfg) = (copy.display().to_string(), "joint_check");
    } else {
        step = step.in_models();
    }
    step = step.args([
        "--",
        "--cfg",
        cfg,
        "--page",
        &page,
        "--reasons",
        "survivors.txt",
    ]);
    step = step.args(words.has("--smoke").then_some("--smoke"));
    step = step.args(words.word(0).iter().flat_map(|&filter| ["--place", filter]));
    Ok(run_all(
        "mutants",
        vec![step.args(["--", "--release"]).args(build)],
    ))
}

/// There are thousands of changes, and all tests take minutes. So the unit tests run first, then
/// the integration tests, then the models. Each stage tries only what the one before has not found.
pub(crate) fn logic(words: &Words) -> Done {
    needs("mutants")?;
    let folder = target().join("logic");
    // The programs that some tests run are examples.
    let tested = "--iterate --all-features \
                  --test-package joint,joint-executor,joint-flow,joint-ring,joint-sim \
                  --cargo-test-arg=--lib --cargo-test-arg=--tests --cargo-test-arg=--examples";
    let mut missed = 0;
    for (name, build, line) in [
        (
            "unit tests",
            "build",
            "--all-features --cargo-test-arg=--lib",
        ),
        ("integration tests", "build", tested),
        (
            "models",
            "models",
            "--iterate --profile release --test-package loom-tests",
        ),
    ] {
        let step = Step::cargo(name, &format!("mutants --workspace {line}"))
            .args(["--output", &folder.display().to_string()])
            .args(words.word(0).iter().flat_map(|&filter| ["--re", filter]))
            // Kept, so that a later run does not compile the dependencies of the tests.
            .env("CARGO_TARGET_DIR", folder.join(build).display().to_string());
        let step = if name == "models" {
            step.rustc("--cfg joint_loom")
        } else {
            step
        };
        match run_all("logic", vec![step]) {
            // 2: some were missed. 3: some tests did not end.
            status @ (0 | 2 | 3) => missed = i32::from(status == 2),
            status => return Ok(status),
        }
    }
    Ok(missed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joint_check_has_a_lock_file_of_its_own() {
        let lock = || fs::read(root().join("Cargo.lock")).expect("a lock file");
        let before = lock();
        let args = check().expect("it can be written");
        assert_eq!(lock(), before);
        let text = fs::read_to_string(&args[1]).expect("it was written");
        assert!(text.contains("loom-tests/tests/models.rs"));
        let lock = fs::read_to_string(args[1].replace(".toml", ".lock")).expect("it was written");
        assert!(!lock.contains("name = \"loom\"\nversion = \"0.7."));
    }
}
