//! Runs upstream's own suites, unmodified, on the package in `tools/compat/async-task`, and the
//! published crates of `tools/compat/hunt` in the simulation.

use std::fs;

use super::step::{Done, Step, Stop, root, run_all, say, target};

const SUITES: &str = "tools/compat/suites";

/// Fetches the suites and runs them.
pub(crate) fn run() -> Done {
    // All builds share a folder in the target folder.
    let folder = target().join("compat");
    let in_folder = |step: Step, at| {
        let step = step.env("CARGO_TARGET_DIR", folder.to_string_lossy());
        step.in_folder(at)
    };
    let vendor = "vendor --quiet --versioned-dirs --manifest-path sources/Cargo.toml vendor";
    let fetched = vec![
        in_folder(Step::cargo("unmodified sources", vendor), SUITES),
        in_folder(Step::cargo("resolution", "generate-lockfile"), SUITES),
    ];
    let status = run_all("compat sources", fetched);
    if status != 0 {
        return Ok(status);
    }
    let lock = root().join(SUITES).join("Cargo.lock");
    let lock = fs::read_to_string(lock).map_err(|error| error.to_string())?;
    if !is_patched(&lock) {
        let why = "the patch of async-task has no effect on the suites";
        return Err(Stop::Failed(why.to_owned()));
    }
    say("the only async-task is that of tools/compat/async-task");
    let all = "test --workspace --all-features --no-fail-fast";
    let suites = |name, which| in_folder(Step::cargo(name, &format!("{all} {which}")), SUITES);
    let hunt = |name, line| in_folder(Step::cargo(name, line), "tools/compat/hunt");
    let steps = vec![
        suites("tests and examples", "--tests"),
        suites("doc tests", "--doc"),
        hunt("lints of the hunt", "clippy --all-targets -- -D warnings"),
        hunt("bugs of docs/found.md", "run --example found"),
        hunt("the first seeds", "run --bin hunt -- --seconds 0"),
    ];
    Ok(run_all("compat", steps))
}

/// Whether the only async-task in a lock file is a package of the file system.
fn is_patched(lock: &str) -> bool {
    let packages = lock.split("[[package]]\n");
    let mut found = packages.filter(|package| package.starts_with("name = \"async-task\"\n"));
    let ours = found
        .next()
        .is_some_and(|package| !package.contains("\nsource = "));
    ours && found.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::is_patched;

    #[test]
    fn a_lock_file_shows_whether_the_patch_took_effect() {
        let ours = "[[package]]\nname = \"async-task\"\nversion = \"4.7.100\"\n\n";
        let theirs = "[[package]]\nname = \"async-task\"\nversion = \"4.7.1\"\nsource = \"x\"\n";
        assert!(is_patched(ours) && !is_patched(theirs) && !is_patched(""));
        assert!(!is_patched(&[ours, theirs].concat()));
    }
}
