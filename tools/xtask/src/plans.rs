//! The steps of each command.

use std::path::{Path, absolute};

use super::{
    engine::LESSONS,
    readme,
    sanitizers::{Compiler, Sanitizer},
    step::Step,
};

const DENY: [&str; 3] = ["--", "-D", "warnings"];
/// By its manifest: its name is also that of the crate whose place it takes.
const COMPAT: [&str; 2] = ["--manifest-path", "tools/compat/async-task/Cargo.toml"];

const ALLOC: [&str; 3] = ["--no-default-features", "--features", "alloc"];

/// The executor's tests that run under the sanitizers: without those that fork, limit the memory of
/// their process, run the examples, or count what is allocated.
const SANITIZED: [&str; 9] = [
    "blocked",
    "executor",
    "fork_join",
    "io",
    "join_set",
    "local_executor",
    "scope",
    "task_local",
    "time",
];

/// Finds a frame that was left while another thread used it.
const LENT: &str = "detect_leaks=0:detect_stack_use_after_return=1";

/// The tests that no sanitizer runs. One measures how much of the stack is in use, which needs
/// local variables that are on the stack. The other exits in the child of a fork, in which all
/// memory of the parent's other threads counts as leaked.
const NOT_SANITIZED: [&str; 2] = [
    "a_helper_has_room_while_little_of_the_stack_is_in_use",
    "the_exit_of_a_forked_child_cancels_nothing",
];

pub(crate) fn check() -> Vec<Step> {
    let clippy = |name, args: &[&str]| Step::cargo(name, &[&["clippy"], args, &DENY].concat());
    let doc = |name, args: &[&str]| {
        let args = [&["doc", "--no-deps"], args].concat();
        Step::cargo(name, &args).flags("RUSTDOCFLAGS", "-D warnings")
    };
    vec![
        Step::cargo("format", &["fmt", "--all", "--check"]),
        Step::cargo("format of the checkers", &["fmt", "--all", "--check"]).in_folder("verify"),
        Step::xtask("public API", &["api", "--check"]),
        Step::xtask("lists of packages", &["package", "--list"]),
        clippy("lints", &["--workspace", "--all-targets", "--all-features"]),
        clippy(
            "lints of the default features",
            &["--package", "joint", "--package", "joint-executor"],
        ),
        clippy(
            "lints of the executor without descriptors",
            &["--package", "joint-executor", "--no-default-features"],
        ),
        clippy(
            "lints without std",
            &["--package", "joint", "--no-default-features"],
        ),
        clippy(
            "lints with alloc alone",
            &[&["--package", "joint"], &ALLOC[..]].concat(),
        ),
        clippy(
            "lints of compat without std",
            &[&COMPAT[..], &["--no-default-features"]].concat(),
        ),
        clippy(
            "lints of the checkers",
            &["--all-targets", "--all-features"],
        )
        .in_folder("verify"),
        // It lints `joint` as well: the cfg is set for all that is compiled in that folder.
        clippy("lints of the models", &["--all-targets"]).in_models(),
        clippy("lints of the lessons", &["--test", LESSONS])
            .in_models()
            .cfg("joint_check"),
        // With private items, so that links among them are followed; without, so that no public
        // page links to one.
        doc(
            "private documentation",
            &["--workspace", "--all-features", "--document-private-items"],
        ),
        doc("documentation", &["--workspace", "--all-features"]),
        doc("documentation of the checkers", &["--all-features"]).in_folder("verify"),
        // Other sets of features: a link may lead to an item that one of them lacks.
        doc(
            "documentation of the default features",
            &[
                "--package",
                "joint",
                "--package",
                "joint-executor",
                "--package",
                "joint-flow",
            ],
        ),
        doc(
            "documentation of the executor without descriptors",
            &["--package", "joint-executor", "--no-default-features"],
        ),
        doc(
            "documentation without std",
            &["--package", "joint", "--no-default-features"],
        ),
        doc(
            "documentation with alloc alone",
            &[&["--package", "joint"], &ALLOC[..]].concat(),
        ),
    ]
}

/// The steps compile as little as possible twice: those that name the workspace share all
/// dependencies, because cargo chooses the features of a dependency by what is named.
pub(crate) fn test() -> Vec<Step> {
    let no_std = [&["test", "--lib", "--package", "joint"], &ALLOC[..]].concat();
    let without_alloc = ["test", "--package", "joint", "--no-default-features"];
    let without_alloc = [&without_alloc[..], &["--test", "no_alloc"]].concat();
    // Without the models, which are empty programs unless their own folder's configuration is read.
    // And without the benches, whose peers take long to compile: `check` lints them, and
    // `bench-once` runs them.
    let workspace = [
        "--workspace",
        "--exclude",
        "loom-tests",
        "--exclude",
        "joint-benches",
    ];
    let test = |name, args: &[&str]| Step::cargo(name, &[&["test"], &workspace[..], args].concat());
    vec![
        // As programs, which some tests run. They contain no tests themselves.
        Step::cargo(
            "examples",
            &[
                &["build"],
                &workspace[..],
                &["--examples", "--all-features"],
            ]
            .concat(),
        ),
        test("tests", &["--lib", "--bins", "--tests", "--all-features"]),
        // Without what the other features put into each task.
        test("memory of tasks", &["--test", "allocations"]),
        test("doc tests", &["--doc", "--all-features"]),
        Step::cargo("tests of the checkers", &["test", "--all-features"]).in_folder("verify"),
        Step::cargo("no_std tests", &no_std),
        Step::cargo("tests without alloc", &without_alloc),
        narrow(
            "tests of the narrow word",
            &["test", "--package", "joint", "--lib"],
        ),
        Step::xtask("another system", &["portable", "--smoke"]),
        Step::xtask("packages", &["package"]),
        Step::xtask("dependents", &["dependents"]),
        Step::xtask("homework", &["grade", "--check"]),
        Step::xtask("page", &["lab", "page", "--test"]),
        Step::xtask("models", &["loom"]).beside(),
        Step::xtask("mutants", &["mutants", "--smoke"]),
    ]
}

/// A step with the state word of a machine without atomics of 64 bits.
fn narrow(name: &'static str, args: &[&str]) -> Step {
    Step::cargo(name, args).cfg("joint_narrow")
}

/// The integration tests and the models of the task, with the state word of a small machine.
pub(crate) fn of_small_machines() -> Vec<Step> {
    let tests = ["test", "--package", "joint", "--test", "task"];
    let models = ["test", "--release", "--test", "task"];
    vec![
        narrow("tests of the narrow word", &tests),
        narrow("models of the narrow word", &models).in_models(),
    ]
}

pub(crate) fn all() -> Vec<Step> {
    check().into_iter().chain(test()).collect()
}

/// The lab runs in the models' folder, so it is given the whole paths of the files.
pub(crate) fn matrix(json: Option<&str>, html: Option<&str>) -> Step {
    let mut args: Vec<_> = ["run", "--release", "--bin", "lab", "--", "matrix"]
        .map(str::to_owned)
        .into();
    for (option, file) in [("--json", json), ("--html", html)] {
        if let Some(file) = file {
            let whole = absolute(file).unwrap_or_else(|_| Path::new(file).to_path_buf());
            args.push(option.to_owned());
            args.push(whole.to_string_lossy().into_owned());
        }
    }
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    Step::cargo("matrix", &args).in_models()
}

/// The models against each change, or each whose place's name contains the filter.
pub(crate) fn mutants(smoke: bool, filter: Option<&str>) -> Step {
    mutants_on(&[], "joint_loom", "../../docs/orderings.md", smoke, filter).in_models()
}

/// The models that are built with these arguments, against each change. Both builds have the same
/// target folder.
pub(crate) fn mutants_on(
    build: &[&str],
    cfg: &str,
    page: &str,
    smoke: bool,
    filter: Option<&str>,
) -> Step {
    let mut args: Vec<_> = ["run", "--quiet", "--release", "--package", "joint-mutants"].into();
    args.extend(["--manifest-path", "../verify/Cargo.toml"]);
    args.push("--no-default-features");
    args.extend(build.iter().skip_while(|arg| **arg != "--target-dir"));
    args.extend(["--", "--cfg", cfg, "--page", page]);
    args.extend(["--reasons", "survivors.txt"]);
    args.extend(smoke.then_some("--smoke"));
    args.extend(filter.iter().flat_map(|&filter| ["--place", filter]));
    args.extend(["--", "--release"]);
    args.extend(build);
    Step::cargo("mutants", &args)
}

/// Each row of each bench once, as a test.
pub(crate) fn bench_once() -> Step {
    let args = ["test", "--package", "joint-benches", "--benches"];
    Step::cargo("benches", &[&args[..], &["--features", "sim"]].concat())
}

/// All benches but the simulations', whose feature `sim` would enable tokio's `test-util` in what
/// the others measure.
pub(crate) fn bench(name: Option<&str>, mimalloc: bool) -> Step {
    benches("bench", &[name.unwrap_or("*")], mimalloc, &[])
}

/// Builds some benches, and runs none.
pub(crate) fn bench_build(names: &[&str], mimalloc: bool) -> Step {
    benches("build", names, mimalloc, &["--no-run"])
}

/// A bench that takes about a second for each row, of those whose titles contain the filter.
pub(crate) fn quick_bench(name: &str, mimalloc: bool, filter: &str) -> Step {
    let filter = match filter {
        "" => &[][..],
        filter => &["--", filter],
    };
    benches("bench", &[name], mimalloc, filter).env("JOINT_BENCH_QUICK", "1")
}

/// With the peers that plain `cargo bench` leaves out, one of which asks for a newer compiler than
/// it needs.
fn benches(step: &'static str, names: &[&str], mimalloc: bool, more: &[&str]) -> Step {
    let mut args = vec![
        "bench",
        "--package",
        "joint-benches",
        "--ignore-rust-version",
    ];
    if names.contains(&"simulation") {
        args.extend(["--features", "sim"]);
    }
    let mut folder = readme::folder();
    if mimalloc {
        args.extend(["--features", "mimalloc"]);
        folder.push(joint_figures::MIMALLOC);
    }
    for name in names {
        args.extend(["--bench", name]);
    }
    args.extend(more);
    Step::cargo(step, &args)
        .cfg("joint_peers")
        .env("JOINT_BENCH_OUT", folder.to_string_lossy())
}

/// In release, where more happens in the time.
pub(crate) fn soak(minutes: f64) -> Step {
    let args = [
        "test",
        "--release",
        "--package",
        "joint-executor",
        "--test",
        "soak",
        "--",
        "--nocapture",
    ];
    Step::cargo("soak", &args).env("JOINT_SOAK_MINUTES", minutes.to_string())
}

/// The packages with unsafe blocks. The executor's tests run for hours there, mostly in the queues
/// of another crate.
pub(crate) fn miri() -> Step {
    let targets = ["task", "task_panic", "waits"];
    let targets = targets.iter().flat_map(|target| ["--test", target]);
    let args: Vec<_> = ["miri", "test", "--package", "joint", "--lib"]
        .into_iter()
        .chain(targets)
        .collect();
    // A backtrace for each panic that a test expects takes longer than the tests.
    Step::nightly_cargo("miri", &args)
        .flags("MIRIFLAGS", "-Zmiri-strict-provenance")
        .env("RUST_BACKTRACE", "0")
}

/// A stable compiler accepts the flags with `RUSTC_BOOTSTRAP`. The target is named, so that build
/// scripts and macros are built without the sanitizer; and each sanitizer has its own folder,
/// because the flags change everything.
pub(crate) fn sanitizer(sanitizer: Sanitizer, compiler: &Compiler) -> Vec<Step> {
    let folder = format!("target/{}", sanitizer.command());
    let step = |package, targets: &[&str]| {
        let mut args = vec!["test", "--package", package, "--no-fail-fast", "--lib"];
        args.extend(targets.iter().flat_map(|target| ["--test", target]));
        args.extend(["--target", &compiler.host, "--target-dir", &folder]);
        if sanitizer.builds_std() {
            args.push("-Zbuild-std");
        }
        args.push("--");
        args.extend(NOT_SANITIZED.iter().flat_map(|test| ["--skip", test]));
        let step = match compiler.is_nightly {
            true => Step::nightly_cargo(package, &args),
            false => Step::cargo(package, &args).env("RUSTC_BOOTSTRAP", "1"),
        };
        step.flags("RUSTFLAGS", sanitizer.flags())
    };
    let mut steps = vec![
        step("joint", &["task", "task_panic", "waits"]),
        // Some of these tests leak on purpose.
        step("joint-executor", &SANITIZED).env("ASAN_OPTIONS", LENT),
    ];
    // ThreadSanitizer does not see that the kernel orders a request before its answer.
    if sanitizer == Sanitizer::Address {
        steps.push(step("joint-sim", &["sim"]).env("ASAN_OPTIONS", LENT));
        let step = step("joint-ring", &["ring"]).env("ASAN_OPTIONS", "detect_leaks=1");
        steps.push(step.env("JOINT_RING_DROPS", "1000000"));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_are_in_the_tests_and_in_the_lints() {
        let count = |steps: Vec<Step>, command: &str| {
            let lines = steps.iter().map(Step::to_string);
            lines.filter(|line| line.starts_with(command)).count()
        };
        assert_eq!(count(check(), "cd loom-tests"), 2);
        assert_eq!(count(test(), "cargo xtask loom"), 1);
        assert_eq!(count(all(), "cargo xtask loom"), 1);
    }

    #[test]
    fn the_narrow_word_is_tested_and_modelled() {
        let steps = of_small_machines();
        let lines: Vec<_> = steps.iter().map(Step::to_string).collect();
        assert!(lines.iter().all(|line| line.contains("--cfg joint_narrow")));
        assert!(lines[1].starts_with("cd loom-tests && "), "{}", lines[1]);
        assert!(
            lines[1].contains("joint_narrow --cfg joint_loom"),
            "{}",
            lines[1]
        );
    }

    #[test]
    fn the_documentation_is_checked_for_each_set_of_features() {
        let lines = check().iter().map(Step::to_string).collect::<Vec<_>>();
        let docs = || lines.iter().filter(|line| line.contains("cargo doc "));
        assert!(docs().all(|line| line.contains("-D warnings")));
        for package in ["joint", "joint-executor"] {
            let named =
                || docs().filter(move |line| line.contains(&format!("--package {package}")));
            let without =
                |line: &&String| line.ends_with(&format!("{package} --no-default-features"));
            assert!(named().any(|line| !line.contains("features")), "{package}");
            assert_eq!(named().filter(without).count(), 1, "{package}");
        }
    }

    #[test]
    fn the_lab_receives_absolute_paths() {
        let line = matrix(None, None).to_string();
        assert!(line.starts_with("cd loom-tests && "), "{line}");
        assert!(line.ends_with("--bin lab -- matrix"), "{line}");
        let line = matrix(Some("m.json"), None).to_string();
        let whole = absolute("m.json").expect("there is a current folder");
        assert!(
            line.contains(&format!("--json {}", whole.display())),
            "{line}"
        );
    }

    #[test]
    fn a_soak_receives_its_duration_and_shows_its_output() {
        let line = soak(0.5).to_string();
        assert!(line.starts_with("JOINT_SOAK_MINUTES=0.5 "), "{line}");
        assert!(line.ends_with("--test soak -- --nocapture"), "{line}");
    }

    #[test]
    fn the_benches_are_linted_and_not_built_by_the_tests() {
        let names = |steps: Vec<Step>, what: &str| {
            let lines = steps.iter().map(Step::to_string);
            lines.filter(|line| line.contains(what)).count()
        };
        assert_eq!(names(check(), "clippy --workspace --all-targets"), 1);
        assert_eq!(names(test(), "--exclude joint-benches"), 4);
        assert_eq!(names(vec![bench_once()], "test --package joint-benches"), 1);
    }

    #[test]
    fn only_thread_sanitizer_has_a_cfg_and_its_own_std() {
        let compiler = Compiler::debian();
        let lines = |which| {
            let steps = sanitizer(which, &compiler);
            let lines: Vec<_> = steps.iter().map(Step::to_string).collect();
            let is_address = which == Sanitizer::Address;
            assert_eq!(lines.len(), if is_address { 4 } else { 2 });
            lines
        };
        for line in lines(Sanitizer::Thread) {
            assert!(line.contains("-Zsanitizer=thread"), "{line}");
            assert!(line.contains("--cfg joint_tsan'"), "{line}");
            assert!(line.contains(" -Zbuild-std"), "{line}");
        }
        for line in lines(Sanitizer::Address) {
            assert!(line.starts_with("RUSTC_BOOTSTRAP=1 "), "{line}");
            assert!(line.contains("-Zsanitizer=address"), "{line}");
            assert!(line.contains(" --target-dir target/asan"), "{line}");
            assert!(!line.contains("joint_tsan") && !line.contains("build-std"));
        }
    }

    #[test]
    fn a_bench_is_chosen_by_name() {
        let line = |name| bench(name, false).to_string();
        assert!(line(Some("task")).ends_with("--bench task"));
        assert!(line(None).ends_with("--bench '*'"));
        assert!(line(None).contains("--cfg joint_peers"));
        assert!(line(None).contains(" --package joint-benches "));
    }

    #[test]
    fn simulations_are_built_only_into_their_own_bench() {
        let line = |name| bench(name, false).to_string();
        let has_feature = |name| line(name).contains(" --features sim ");
        assert!(has_feature(Some("simulation")));
        assert!(!has_feature(Some("executor")) && !has_feature(None));
    }

    #[test]
    fn figures_with_mimalloc_are_kept_apart() {
        let line = bench(Some("task"), true).to_string();
        assert!(line.contains("/bench/mimalloc "), "{line}");
        assert!(line.contains(" --features mimalloc "), "{line}");
        assert!(!bench(Some("task"), false).to_string().contains("mimalloc"));
    }
}
