//! `cargo xtask logic`: changes the logic of the source in one place at a time, with cargo-mutants,
//! and demands that a test fails or does not end.
//!
//! There are thousands of changes, and all tests take minutes. So the unit tests run first, then
//! the integration tests, then the models. Each stage tries only the changes that the one before
//! has not found, and runs only the tests that could find them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::{
    size::target,
    step::{Step, root, say},
};

const SURVIVORS: &str = "tests/logic-survivors.txt";

/// The files whose changes are tried.
const FILES: [&str; 6] = [
    "src/completion.rs",
    "src/completion/**/*.rs",
    "executor/src/**/*.rs",
    "src/oneshot/**/*.rs",
    "src/shared/**/*.rs",
    "src/task/**/*.rs",
];

/// Compiled only if the feature `io` is off.
const NOT_COMPILED: &str = "executor/src/driver/disabled.rs";

/// Text that is only shown: what `Debug` and `Display` write, unless tests compare it.
const FOR_SHOW: [&str; 2] = ["fmt::Result", "impl .*fmt::(Debug|Display) for"];

/// Takes longer than all other unit tests together, and runs only the timers.
const SLOW: &str = "a_million_are_fired_in_order_and_their_memory_is_given_back";
const RUN_BY_SLOW: &str = "executor/src/driver/timers";

/// The integration tests that run a file and check what it does, by the beginning of its path. The
/// first match counts.
const TESTS: [(&str, &[&str]); 19] = [
    ("src/completion", &["task", "task_panic", "waits"]),
    ("executor/src/worker/attend", &["blocked", "io", "time"]),
    ("executor/src/worker/blocked", &["blocked", "executor"]),
    (
        "executor/src/blocking/",
        &["fork", "spawn_blocking", "spawn_blocking_refused"],
    ),
    (
        "executor/src/driver/",
        &[
            "blocked",
            "blocked_first_timer",
            "budget",
            "descriptors",
            "fork",
            "idle",
            "io",
            "keeper",
            "net",
            "time",
            "time_alloc",
        ],
    ),
    ("executor/src/fork_join/", &["fork_join", "task_local"]),
    ("executor/src/hooks", &["executor"]),
    ("executor/src/join_async", &["fork_join"]),
    ("executor/src/join_set/", &["executor", "join_set", "scope"]),
    ("executor/src/local/", &["blocked", "local_executor"]),
    (
        "executor/src/scope/",
        &["executor", "scope", "scope_alloc", "tracing"],
    ),
    ("executor/src/shutdown", &["executor"]),
    ("executor/src/span", &["tracing"]),
    ("executor/src/task_local", &["task_local"]),
    (
        "executor/src/",
        &[
            "executor",
            "executor_alloc",
            "fork",
            "fork_join",
            "io",
            "scope",
            "task_local",
            "time",
            "tracing",
        ],
    ),
    ("src/oneshot/", &["waits"]),
    ("src/shared/", &["waits"]),
    ("src/task/", &["task", "task_alloc", "task_panic"]),
    ("src/waker", &["task", "waits"]),
];

/// Without debug information, because the changed code is not debugged.
const QUICK: [&str; 4] = [
    "--cargo-arg",
    "--config",
    "--cargo-arg",
    "profile.dev.debug=0",
];

/// The models that run a file, by the beginning of its path. The whole executor uses threads of the
/// system, which no model runs.
const MODELS: [(&str, &[&str]); 19] = [
    ("src/completion", &["completion", "shared"]),
    ("executor/src/deques", &["deques"]),
    ("executor/src/driver/keeper", &["blocked", "driver"]),
    ("executor/src/driver/reactor", &["readiness"]),
    ("executor/src/driver/reserve", &["driver"]),
    ("executor/src/driver/timers", &["timers"]),
    ("executor/src/fork_join/", &["fork_join"]),
    ("executor/src/gate", &["gate", "leaving"]),
    ("executor/src/inbox", &["inbox"]),
    ("executor/src/join_set/", &["join_set"]),
    ("executor/src/local/", &["blocked", "local_executor"]),
    ("executor/src/sleep", &["blocked", "sleep"]),
    ("executor/src/registry", &["registry"]),
    ("executor/src/ring", &["deques", "fork_join"]),
    ("executor/src/room", &["registry"]),
    ("src/oneshot/", &["oneshot"]),
    ("src/shared/", &["shared"]),
    ("src/task/", &["task"]),
    (
        "src/waker/park",
        &["blocked", "local_executor", "oneshot", "parker"],
    ),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Units,
    Tests,
    Models,
}

impl Stage {
    fn name(self) -> &'static str {
        match self {
            Self::Units => "unit tests",
            Self::Tests => "integration tests",
            Self::Models => "models",
        }
    }

    /// The test targets that could find a change or, for the unit tests, the test to leave out.
    fn suite(self, change: &str) -> &'static [&'static str] {
        match self {
            Self::Units if change.starts_with(RUN_BY_SLOW) => &[],
            Self::Units => &[SLOW],
            Self::Tests => of(&TESTS, change),
            Self::Models => of(&MODELS, change),
        }
    }

    /// Tries the changes that the configuration file names.
    fn step(self, package: &str, suite: &[&str], config: &Path, folder: &Path) -> Step {
        let (config, output) = (config.to_string_lossy(), folder.to_string_lossy());
        let mut args = vec!["mutants", "--package", package];
        args.extend(["--config", &config, "--output", &output]);
        // Most changes that do not end are not found in any other way.
        args.extend(["--minimum-test-timeout", "10"]);
        args.extend(QUICK);
        let targets = if self == Self::Units { &[] } else { suite };
        // Also for the build, which compiles all tests if only the run is told.
        if self == Self::Units {
            args.extend(["--cargo-arg", "--lib"]);
        }
        for target in targets {
            args.extend(["--cargo-arg", "--test", "--cargo-arg", target]);
        }
        match self {
            // In release mode, because a model runs its closure thousands of times. The package is
            // named twice: the first says what is run, the second what is built.
            Self::Models => {
                args.extend(["--test-package", "loom-tests", "--profile", "release"]);
                args.extend(["--cargo-arg", "--package", "--cargo-arg", "loom-tests"]);
            }
            Self::Units | Self::Tests => args.push("--all-features"),
        }
        // For the tests themselves, and therefore last.
        if self == Self::Units {
            args.extend(["--", "--"]);
            (suite.iter()).for_each(|test| args.extend(["--skip", test]));
        }
        let step = Step::cargo(self.name(), &args);
        let (step, build) = match self {
            Self::Models => (step.cfg("joint_loom"), "models"),
            Self::Units | Self::Tests => (step, "build"),
        };
        // Kept, so that a later run does not compile the dependencies of the tests.
        step.env("CARGO_TARGET_DIR", folder.join(build).to_string_lossy())
    }
}

/// The package in which a change is.
fn package(change: &str) -> &'static str {
    match change.starts_with("executor/") {
        true => "joint-executor",
        false => "joint",
    }
}

fn of(table: &[(&str, &'static [&'static str])], change: &str) -> &'static [&'static str] {
    let own = table.iter().find(|(path, _)| change.starts_with(path));
    own.map_or(&[], |(_, targets)| targets)
}

/// Returns the status to exit with.
pub(crate) fn run(filter: Option<&str>) -> i32 {
    if !is_installed() {
        say(
            "logic skipped: cargo-mutants is not installed; to get it: cargo install --locked cargo-mutants",
        );
        return 0;
    }
    match logic(filter) {
        Ok(()) => 0,
        Err(why) => {
            say(&format!("logic failed: {why}"));
            1
        }
    }
}

fn is_installed() -> bool {
    let mut cargo = Step::cargo("", &["mutants", "--version"]).command();
    cargo.output().is_ok_and(|output| output.status.success())
}

fn logic(filter: Option<&str>) -> Result<(), String> {
    let list = fs::read_to_string(root().join(SURVIVORS)).unwrap_or_default();
    let list = read(&list)?;
    let folder = target().join("logic");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;

    let all = listed(&folder)?.into_iter();
    let all: Vec<_> = all
        .filter(|name| filter.is_none_or(|filter| name.contains(filter)))
        .collect();
    let mut left = all.clone();
    for stage in [Stage::Units, Stage::Tests, Stage::Models] {
        let mut groups = BTreeMap::<_, Vec<_>>::new();
        for change in left {
            let group = (package(&change), stage.suite(&change));
            groups.entry(group).or_default().push(change);
        }
        left = Vec::new();
        for ((package, suite), changes) in groups {
            left.extend(match suite {
                // No model runs them.
                [] if stage == Stage::Models => changes,
                _ => try_all(stage, package, suite, &changes, &folder)?,
            });
        }
    }
    judge(&all, &left, &list, filter.is_none())
}

/// The names of all changes that cargo-mutants knows.
fn listed(folder: &Path) -> Result<Vec<String>, String> {
    let config = folder.join("mutants.toml");
    let settings = format!(
        "examine_globs = {FILES:?}\nexclude_globs = [{NOT_COMPILED:?}]\nexclude_re = {FOR_SHOW:?}\n"
    );
    fs::write(&config, settings).map_err(|error| error.to_string())?;
    let config = config.to_string_lossy();
    let args = [
        "mutants",
        "--list",
        "--package",
        "joint",
        "--package",
        "joint-executor",
        "--config",
        &config,
    ];
    let output = Step::cargo("list", &args).command().output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let names = String::from_utf8_lossy(&output.stdout);
    Ok(names.lines().map(str::to_owned).collect())
}

/// Tries these changes, and returns those that no test finds.
fn try_all(
    stage: Stage,
    package: &str,
    suite: &[&str],
    changes: &[String],
    folder: &Path,
) -> Result<Vec<String>, String> {
    let config = folder.join("mutants.toml");
    fs::write(&config, configuration(changes)).map_err(|error| error.to_string())?;
    let step = stage.step(package, suite, &config, folder);
    say(&format!("{step}"));
    let status = step.command().status().map_err(|error| error.to_string())?;
    // 2: some were missed. 3: some tests did not end.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        return Err(format!("cargo mutants, {}: {status}", stage.name()));
    }
    // It tries some changes of fields whether they are requested or not.
    let lines = |what: &str| -> Result<Vec<String>, String> {
        let file = folder.join("mutants.out").join(what);
        let text =
            fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let own = text.lines().map(str::to_owned);
        Ok(own.filter(|name| changes.contains(name)).collect())
    };
    let left = lines("missed.txt")?;
    let mut tried = left.len();
    for found in ["caught.txt", "timeout.txt", "unviable.txt"] {
        tried += lines(found)?.len();
    }
    if tried != changes.len() {
        return Err(format!(
            "cargo mutants has tried {tried} of {} changes",
            changes.len()
        ));
    }
    let (stage, left_over) = (stage.name(), left.len());
    say(&format!(
        "{stage}: {left_over} of {} changes are left",
        changes.len()
    ));
    Ok(left)
}

/// Requests these changes, in their files.
fn configuration(changes: &[String]) -> String {
    let files = changes.iter().filter_map(|name| name.split(':').next());
    let files = Vec::from_iter(files.collect::<BTreeSet<_>>());
    let names: Vec<_> = changes.iter().map(|name| exactly(name)).collect();
    format!("examine_globs = {files:?}\nexamine_re = {names:?}\n")
}

/// A regular expression for one name.
fn exactly(name: &str) -> String {
    let mut expression = "^".to_owned();
    for c in name.chars() {
        // Not `<` and `>`, whose meaning changes with a backslash.
        if r"\.+*?()|[]{}^$#&-~".contains(c) {
            expression.push('\\');
        }
        expression.push(c);
    }
    expression + "$"
}

/// The part that does not depend on the line: the file, the change, and its number if the file has
/// several of that name.
///
/// A change's name is `src/a.rs:10:5: replace || with && in f`.
fn keys(all: &[String]) -> BTreeMap<&str, String> {
    let mut places: Vec<_> = all
        .iter()
        .filter_map(|name| {
            let mut parts = name.splitn(4, ':');
            let (file, line, column) = (parts.next()?, parts.next()?, parts.next()?);
            let change = parts.next()?.trim();
            let place = (file, line.parse::<u32>().ok()?, column.parse::<u32>().ok()?);
            Some((place, change, &**name))
        })
        .collect();
    places.sort_unstable();
    let mut seen = BTreeMap::new();
    let keys = places.into_iter().map(|((file, ..), change, name)| {
        let count = seen.entry((file, change)).or_insert(0);
        *count += 1;
        let key = match *count {
            1 => format!("{file} {change}"),
            n => format!("{file} {change} #{n}"),
        };
        (name, key)
    });
    keys.collect()
}

/// The entries of the list, each `file change: reason`.
fn read(list: &str) -> Result<Vec<&str>, String> {
    let lines = (1..).zip(list.lines().map(str::trim));
    let entries = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let entries = entries.map(|(n, line)| match line.split_once(": ") {
        Some((_, reason)) if !reason.trim().is_empty() => Ok(line),
        _ => Err(format!(
            "{SURVIVORS}: line {n} is not `file change: reason`: {line}"
        )),
    });
    entries.collect()
}

fn is_of(entry: &str, key: &str) -> bool {
    let reason = entry.strip_prefix(key);
    reason.is_some_and(|reason| reason.starts_with(": "))
}

/// Compares the remaining changes with the list. If only some of the changes were tried, unused
/// entries are not reported.
fn judge(all: &[String], left: &[String], list: &[&str], is_whole: bool) -> Result<(), String> {
    let wrong = complaints(all, left, list, is_whole);
    wrong.iter().for_each(|line| say(line));
    say(&format!(
        "{} changes tried, {} found by no test, {} entries in {SURVIVORS}",
        all.len(),
        left.len(),
        list.len()
    ));
    match wrong.len() {
        0 => Ok(()),
        n => Err(format!("{n} complaints")),
    }
}

fn complaints(all: &[String], left: &[String], list: &[&str], is_whole: bool) -> Vec<String> {
    let keys = keys(all);
    let is_listed = |key: &str| list.iter().any(|entry| is_of(entry, key));
    let unlisted = left.iter().filter_map(|name| {
        let key = keys.get(&**name)?;
        (!is_listed(key)).then(|| {
            format!("{name}: no test fails; write one that does, or list `{key}` in {SURVIVORS}")
        })
    });
    let stale = list.iter().filter(|entry| {
        let own = keys.iter().find(|(_, key)| is_of(entry, key));
        own.map_or(is_whole, |(&name, _)| !left.iter().any(|one| one == name))
    });
    let stale = stale.map(|entry| {
        format!("listed in {SURVIVORS}, but a test finds it, or it is not there any more: {entry}")
    });
    unlisted.chain(stale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    const FIRST: &str = "src/a.rs:9:20: replace || with && in A::f";
    const SECOND: &str = "src/a.rs:10:5: replace || with && in A::f";

    #[test]
    fn changes_of_one_name_are_numbered_in_the_order_of_the_file() {
        let all = names(&[SECOND, FIRST]);
        let keys = keys(&all);
        assert_eq!(keys[FIRST], "src/a.rs replace || with && in A::f");
        assert_eq!(keys[SECOND], "src/a.rs replace || with && in A::f #2");
    }

    #[test]
    fn a_surviving_change_must_be_listed() {
        let (all, left) = (names(&[FIRST, SECOND]), names(&[SECOND]));
        let complaints = |list: &[&str]| complaints(&all, &left, list, true);
        let second = "src/a.rs replace || with && in A::f #2: No test can.";
        assert!(complaints(&[second]).is_empty());
        let first = "src/a.rs replace || with && in A::f: No test can.";
        let both = complaints(&[first]);
        assert_eq!(both.len(), 2, "one is not listed, one is found: {both:?}");
    }

    #[test]
    fn a_stale_entry_is_reported_only_by_a_complete_run() {
        let list = ["src/b.rs replace f with (): It is for show."];
        assert_eq!(complaints(&[], &[], &list, true).len(), 1);
        assert!(complaints(&[], &[], &list, false).is_empty());
    }

    #[test]
    fn an_entry_without_a_reason_is_named() {
        assert_eq!(read("# x\n\na b: c\n"), Ok(vec!["a b: c"]));
        for bad in ["a b", "a b:", "a b: "] {
            let error = read(&format!("# x\n{bad}")).expect_err(bad);
            assert!(error.contains("line 2"), "{error}");
        }
    }

    #[test]
    fn a_name_is_asked_for_exactly() {
        assert_eq!(exactly("a.rs:1: b || c<T>"), r"^a\.rs:1: b \|\| c<T>$");
    }

    #[test]
    fn the_list_can_be_read() {
        let list = fs::read_to_string(root().join(SURVIVORS)).expect("the list");
        assert!(read(&list).is_ok(), "{:?}", read(&list));
    }

    #[test]
    fn every_named_test_target_exists() {
        let is_there = |folder: &str, name: &str| {
            let file = root().join(folder).join(name);
            file.with_extension("rs").exists() || file.join("main.rs").exists()
        };
        for (path, names) in &TESTS {
            let folder = match package(path) {
                "joint" => "tests",
                _ => "executor/tests",
            };
            for name in *names {
                assert!(is_there(folder, name), "{folder}/{name}");
            }
        }
        for name in MODELS.iter().flat_map(|(_, names)| *names) {
            assert!(is_there("loom-tests/tests", name), "{name}");
        }
    }

    #[test]
    fn a_change_runs_the_suites_that_could_find_it() {
        let sleep = "executor/src/sleep.rs:1:1: x";
        let suite = Stage::Models.suite(sleep);
        assert_eq!(suite, ["blocked", "sleep"]);
        assert!(
            Stage::Models
                .suite("executor/src/worker/turn.rs:1:1: x")
                .is_empty()
        );
        let line = |stage: Stage, suite| {
            let step = stage.step("joint", suite, Path::new("c"), Path::new("f"));
            step.to_string()
        };
        let models = line(Stage::Models, suite);
        assert!(
            models.contains("--cargo-arg --test --cargo-arg sleep"),
            "{models}"
        );
        assert!(models.contains("--cfg joint_loom"), "{models}");

        let suite = Stage::Tests.suite("executor/src/scope/mod.rs:1:1: x");
        assert!(suite.contains(&"scope") && !suite.contains(&"io"));
        let tests = line(Stage::Tests, suite);
        assert!(
            tests.contains("--cargo-arg --test --cargo-arg scope"),
            "{tests}"
        );

        let units = line(Stage::Units, Stage::Units.suite(sleep));
        assert!(units.contains("--cargo-arg --lib"), "{units}");
        assert!(units.ends_with(&format!("-- -- --skip {SLOW}")), "{units}");
        let timers = Stage::Units.suite("executor/src/driver/timers/queue.rs:1:1: x");
        assert!(timers.is_empty());
    }

    #[test]
    fn each_file_has_its_integration_tests() {
        let folders = FILES.iter().map(|glob| glob.trim_end_matches(".rs"));
        for folder in folders.map(|glob| glob.trim_end_matches("**/*")) {
            assert!(!of(&TESTS, folder).is_empty(), "{folder}");
        }
    }
}
