//! Runs upstream's own suites, unmodified, on the packages in `tools/compat/async-task` and
//! `tools/compat/oneshot`, the tests of crates that depend on oneshot, and the bugs of
//! `docs/found.md` in the simulation.

use std::fs;

use super::{
    plans::nightly_with_miri,
    step::{Done, Step, Stop, root, run_all, say, target},
};

const SUITES: &str = "tools/compat/suites";

/// Crates that depend on oneshot, whose own tests are run, and the folders of their sources.
const DEPENDENTS: [(&str, &str); 3] = [
    ("ntex-io", "tools/compat/suites/vendor/ntex-io-4.0.0"),
    ("ntex-net", "tools/compat/suites/vendor/ntex-net-4.0.0"),
    (
        "ntex-server",
        "tools/compat/suites/vendor/ntex-server-4.1.0",
    ),
];

/// Their tests, without one that resolves a name of the network.
const TESTS: &str = "test --lib -- --skip resolver";

/// The suite of oneshot in a model. The tests that are left out measure time by the system's clock,
/// which stands still in a model: there a limit may pass at once.
const IN_LOOM: &str = "--test assert_mem --test future --test loom --test sync -- \
                       --skip time_should_elapse --skip recv_timeout_before_send \
                       --skip send_recv_different_threads";

/// Fetches the suites and runs them.
pub(crate) fn run() -> Done {
    // All builds share a folder in the target folder.
    let folder = target().join("compat");
    let in_folder = |step: Step, at| {
        let step = step.env("CARGO_TARGET_DIR", folder.to_string_lossy());
        // A backtrace for each panic that a test expects takes longer than the sleeps by which
        // the tests of async-task order their threads.
        step.env("RUST_BACKTRACE", "0").in_folder(at)
    };
    let patch = root().join("tools/compat/oneshot");
    let patch = format!("patch.crates-io.oneshot.path={patch:?}");
    // Not through the workspace of the suites, so that each keeps its own lock file, in which only
    // that one package is exchanged.
    let dependent = |(name, folder), line| {
        let step = Step::cargo(name, "--config").arg(&patch);
        in_folder(step.args(str::split(line, ' ')), folder)
    };
    let vendor = "vendor --quiet --versioned-dirs --manifest-path sources/Cargo.toml vendor";
    let mut fetched = vec![
        in_folder(Step::cargo("unmodified sources", vendor), SUITES),
        in_folder(Step::cargo("resolution", "generate-lockfile"), SUITES),
    ];
    let exchange = "update --package oneshot";
    fetched.extend(DEPENDENTS.map(|of| dependent(of, exchange)));
    let status = run_all("compat sources", fetched);
    if status != 0 {
        return Ok(status);
    }
    let of_suites = [("async-task", SUITES), ("oneshot", SUITES)];
    let of_dependents = DEPENDENTS.map(|(_, folder)| ("oneshot", folder));
    for (package, folder) in of_suites.into_iter().chain(of_dependents) {
        let lock = root().join(folder).join("Cargo.lock");
        let lock = fs::read_to_string(lock).map_err(|error| error.to_string())?;
        if !is_patched(&lock, package) {
            let why = format!("the patch of {package} has no effect in {folder}");
            return Err(Stop::Failed(why));
        }
    }
    say("the only async-task and the only oneshot are those of tools/compat");
    let all = "test --workspace --all-features --no-fail-fast";
    let suites = |name, which| in_folder(Step::cargo(name, &format!("{all} {which}")), SUITES);
    let found = |name, line| in_folder(Step::cargo(name, line), "tools/compat/found");
    let oneshot = |tests| format!("-p oneshot-suite --features async,std --no-fail-fast {tests}");
    let in_loom = Step::cargo("oneshot in loom", &format!("test {}", oneshot(IN_LOOM)))
        .env("LOOM_MAX_BRANCHES", "100000")
        .rustc("--cfg oneshot_loom --cfg joint_loom");
    let mut steps = vec![
        suites("tests and examples", "--tests"),
        suites("doc tests", "--doc"),
        in_folder(in_loom, SUITES),
    ];
    match nightly_with_miri() {
        Ok(()) => {
            let line = format!("miri test {}", oneshot("--test miri"));
            let step = Step::cargo_of("nightly", "oneshot in Miri", &line).flags(
                "MIRIFLAGS",
                "-Zmiri-strict-provenance -Zmiri-many-seeds=0..16",
            );
            steps.push(in_folder(step, SUITES));
        }
        Err(Stop::Skipped(why)) => say(&format!("oneshot in Miri is skipped: {why}")),
        Err(stop) => return Err(stop),
    }
    steps.extend(DEPENDENTS.map(|of| dependent(of, TESTS)));
    steps.extend([
        found("lints of found", "clippy --all-targets -- -D warnings"),
        found("bugs of docs/found.md", "test"),
    ]);
    Ok(run_all("compat", steps))
}

/// Whether the only package of that name in a lock file is one of the file system.
fn is_patched(lock: &str, name: &str) -> bool {
    let name = format!("name = \"{name}\"\n");
    let packages = lock.split("[[package]]\n");
    let found: Vec<_> = packages
        .filter(|package| package.starts_with(&name))
        .collect();
    matches!(found[..], [ours] if !ours.contains("\nsource = "))
}

#[cfg(test)]
mod tests {
    use super::is_patched;

    #[test]
    fn a_lock_file_shows_whether_the_patch_took_effect() {
        let ours = "[[package]]\nname = \"async-task\"\nversion = \"4.7.100\"\n\n";
        let theirs = "[[package]]\nname = \"async-task\"\nversion = \"4.7.1\"\nsource = \"x\"\n";
        let is_patched = |lock: &str| is_patched(lock, "async-task");
        assert!(is_patched(ours) && !is_patched(theirs) && !is_patched(""));
        assert!(!is_patched(&[ours, theirs].concat()));
    }
}
