//! `cargo xtask logic`: changes the logic of the source in one place at a time, with cargo-mutants,
//! and demands that a test fails or does not end. `.cargo/mutants.toml` has its settings.
//!
//! There are thousands of changes, and all tests take minutes. So the unit tests run first, then
//! the integration tests, then the models. Each stage tries only what the one before has not found.

use super::{
    size::target,
    step::{Step, say},
};

/// The packages whose integration tests run.
const TESTED: &str = "joint,joint-executor,joint-flow,joint-ring,joint-sim";

/// Returns the status to exit with.
pub(crate) fn run(filter: Option<&str>) -> i32 {
    let mut version = Step::cargo("", &["mutants", "--version"]).command();
    if !version.output().is_ok_and(|output| output.status.success()) {
        say(
            "logic skipped: cargo-mutants is not installed; to get it: cargo install --locked cargo-mutants",
        );
        return 0;
    }
    let mut status = 0;
    for step in steps(filter) {
        say(&step.to_string());
        match step.command().status() {
            // 2: some were missed. 3: some tests did not end.
            Ok(ended) if matches!(ended.code(), Some(0 | 2 | 3)) => {
                status = i32::from(ended.code() == Some(2));
            }
            ended => {
                say(&format!("logic failed: {ended:?}"));
                return 1;
            }
        }
    }
    status
}

fn steps(filter: Option<&str>) -> [Step; 3] {
    let folder = target().join("logic");
    let output = folder.to_string_lossy().into_owned();
    let step = |name, build: &str, args: &[&str]| {
        let all = [&["mutants", "--workspace", "--output", &output], args].concat();
        let filter = filter.map(|filter| ["--re", filter]);
        let all = [&all[..], filter.as_ref().map_or(&[], |filter| &filter[..])].concat();
        // Kept, so that a later run does not compile the dependencies of the tests.
        Step::cargo(name, &all).env("CARGO_TARGET_DIR", folder.join(build).to_string_lossy())
    };
    let units = ["--all-features", "--cargo-test-arg=--lib"];
    let tests = ["--iterate", "--all-features", "--test-package", TESTED];
    // The programs that some tests run are examples.
    let tests = [
        &tests[..],
        &[
            "--cargo-test-arg=--lib",
            "--cargo-test-arg=--tests",
            "--cargo-test-arg=--examples",
        ],
    ]
    .concat();
    let models = [
        "--iterate",
        "--profile",
        "release",
        "--test-package",
        "loom-tests",
    ];
    [
        step("unit tests", "build", &units),
        step("integration tests", "build", &tests),
        step("models", "models", &models).cfg("joint_loom"),
    ]
}
