//! The steps of `check` and of `test`, and of the commands that are one step each.

use super::{
    step::{Done, Step, Stop, run_all},
    words::Words,
};

/// The packages of the root's workspace that the tests and examples of `test` are in: without the
/// models, which are empty programs unless their own folder's configuration is read, and without
/// the benches, whose peers take long to compile.
const TESTED: &str = "--workspace --exclude loom-tests --exclude joint-benches";

pub(crate) fn check() -> Vec<Step> {
    let mut steps = vec![
        Step::cargo("format", "fmt --all --check"),
        Step::cargo("format of the checkers", "fmt --all --check").in_folder("verify"),
        Step::xtask("public API", "api --check"),
    ];
    // Each set of features by itself: a link may lead to an item that another set lacks.
    for (targets, features) in [
        ("--all-targets", "--workspace --all-features"),
        ("", "-p joint -p joint-executor -p joint-flow"),
        ("", "-p joint-executor --no-default-features"),
        ("", "-p joint --no-default-features"),
        ("", "-p joint --no-default-features --features alloc"),
    ] {
        steps.push(clippy_step("lints", &format!("{targets} {features}")));
        steps.push(doc_step("documentation", features));
    }
    // With private items, so that links among them are followed. Those above have none, so that no
    // public page links to one.
    let private = "--workspace --all-features --document-private-items";
    steps.push(doc_step("private documentation", private));
    steps.push(Step::xtask("aliases", "aliases"));
    steps.push(Step::xtask("proof", "proof"));
    // By their manifests: their names are also those of the crates whose place they take.
    for package in ["async-task", "oneshot"] {
        let package = format!("--manifest-path tools/compat/{package}/Cargo.toml");
        let compat = format!("{package} --no-default-features");
        steps.push(clippy_step("lints of compat without std", &compat));
    }
    let checkers = clippy_step("lints of the checkers", "--all-targets --all-features");
    steps.push(checkers.in_folder("verify"));
    steps.push(doc_step("documentation of the checkers", "--all-features").in_folder("verify"));
    let watched = clippy_step(
        "lints of the monitor",
        "--target-dir target/watch -p joint-executor",
    );
    steps.push(watched.rustc("--cfg joint_watch"));
    // It lints `joint` as well: the cfg is set for all that is compiled in that folder.
    steps.push(clippy_step("lints of the models", "--all-targets").in_models());
    steps.push(clippy_step("lints of the lessons", "--all-targets").in_folder(LESSONS));
    steps
}

/// The models of the lessons, whose own configuration has joint-check in loom's place.
pub(crate) const LESSONS: &str = "verify/course/models";

fn clippy_step(name: &'static str, args: &str) -> Step {
    Step::cargo(name, &format!("clippy {args} -- -D warnings"))
}

fn doc_step(name: &'static str, args: &str) -> Step {
    Step::cargo(name, &format!("doc --no-deps {args}")).flags("RUSTDOCFLAGS", "-D warnings")
}

/// What is compiled into folders of its own runs beside the rest: each half alone leaves a
/// processor without work for a tenth of the time.
pub(crate) fn test(words: &Words) -> Done {
    if words.has("--apart") {
        return Ok(run_all("test --apart", tests_apart()));
    }
    let mut steps = tests_in_workspace();
    steps.push(Step::xtask("apart", "test --apart").beside());
    Ok(run_all("test", steps))
}

/// The steps compile as little as possible twice: those that name the workspace share all
/// dependencies, because cargo chooses the features of a dependency by what is named.
fn tests_in_workspace() -> Vec<Step> {
    let on = |name, line: &str| Step::cargo(name, &line.replace("TESTED", TESTED));
    vec![
        // Which some tests run. The examples contain no tests themselves.
        on("programs", "build TESTED --bins --examples --all-features"),
        on("tests", "test TESTED --lib --bins --tests --all-features"),
        // Without the span of each task. The other features are those of the step before, so that
        // what does not depend on the spans is not compiled again.
        on(
            "memory of tasks",
            "test TESTED --exclude joint-flow --test allocations \
             --features joint-executor/futures-core,joint-executor/serde",
        ),
        on("doc tests", "test TESTED --doc --all-features"),
        on(
            "no_std tests",
            "test --lib -p joint --no-default-features --features alloc",
        ),
        on(
            "tests without alloc",
            "test -p joint --no-default-features --test no_alloc",
        ),
        // The state word of a machine without atomics of 64 bits.
        on("tests of the narrow word", "test -p joint --lib").rustc("--cfg joint_narrow"),
        Step::xtask("another system", "foreign --smoke"),
    ]
}

fn tests_apart() -> Vec<Step> {
    let verify = |name, line: &str| Step::cargo(name, line).in_folder("verify");
    vec![
        Step::xtask("models", "loom"),
        Step::xtask("mutants", "mutants --smoke"),
        verify("tests of the checkers", "test"),
        verify("homework", "run --quiet -p course -- grade --check"),
        Step::cargo("lessons", "test --release").in_folder(LESSONS),
        Step::xtask("packages", "package"),
        Step::xtask("dependents", "dependents"),
    ]
}

/// A program of this repository's own, in `tools`.
pub(crate) fn tool(name: &'static str) -> Step {
    Step::cargo(name, &format!("run --quiet -p joint-{name}"))
}

/// In release, where more happens in the time.
pub(crate) fn soak(words: &Words) -> Done {
    let minutes = words.word(0).unwrap_or("5");
    match minutes.parse::<f64>() {
        Ok(number) if number > 0.0 && number <= 24.0 * 60.0 => {}
        _ => {
            return Err(Stop::Refused(format!(
                "it takes up to a day of minutes, not {minutes}"
            )));
        }
    }
    let line = "test --release -p joint-executor --test soak -- --nocapture";
    let step = Step::cargo("soak", line).env("JOINT_SOAK_MINUTES", minutes);
    Ok(run_all("soak", vec![step]))
}

/// With each step of a word held against the tables of the proof.
pub(crate) fn watch(words: &Words) -> Done {
    let on = |name, line| Step::cargo(name, line).rustc("--cfg joint_watch");
    let soak =
        "test --target-dir target/watch --release -p joint-executor --test soak -- --nocapture";
    let soak = on("soak", soak).env("JOINT_SOAK_MINUTES", words.word(0).unwrap_or("1"));
    let monitor = "test --target-dir target/watch --release -p joint-switch --features std --lib";
    let simulation = "test --target-dir target/watch -p joint-sim --all-features --test sim \
                      -- --skip services::each_bug";
    // Some of these tests leave a world behind, whose tasks rest.
    let simulation = on("simulation", simulation).env("JOINT_WATCH_SECONDS", "100000");
    Ok(run_all(
        "watch",
        vec![on("monitor", monitor), simulation, soak],
    ))
}

/// In seconds, where there is Coq.
pub(crate) fn proof(words: &Words) -> Done {
    let why = "there is no coqc; to get it: apt install coq";
    Step::program("", "coqc", "--version").or_skip(why)?;
    let step = Step::program("proof", "bash", "verify/proof/check.sh");
    let step = step.args(words.has("--write").then_some("--write"));
    Ok(run_all("proof", vec![step]))
}

/// Skips a command, unless there is this toolchain of rustup's.
pub(crate) fn toolchain(name: &str, line: &str, install: &str) -> Result<(), Stop> {
    let why = format!("there is no {name} for that; to get it: rustup {install}");
    Step::cargo_of(name, "", line).or_skip(&why)
}

pub(crate) fn nightly_with_miri() -> Result<(), Stop> {
    let install = "toolchain install nightly --component miri --component rust-src";
    toolchain("nightly", "miri --version", install)
}

/// The packages with unsafe blocks. The executor's tests run for hours there, mostly in the queues
/// of another crate.
pub(crate) fn miri() -> Done {
    nightly_with_miri()?;
    let line = "miri test -p joint --lib --test joint";
    let step = Step::cargo_of("nightly", "miri", line)
        .flags("MIRIFLAGS", "-Zmiri-strict-provenance")
        // A backtrace for each panic that a test expects takes longer than the tests.
        .env("RUST_BACKTRACE", "0");
    Ok(run_all("miri", vec![step]))
}
