//! `cargo xtask loom`: builds the models once, then runs each test in a process of its own, on all
//! processors, the longest tests first.
//!
//! `cargo test` runs one program after another. A long test at the end of a program then leaves all
//! processors but one idle.

use std::{
    env, fs,
    process::ExitStatus,
    time::{Duration, Instant},
};

use super::{
    engine::{self, Engine, LESSONS, MOST},
    programs::{Program, one_test, programs_of},
    progress::Progress,
    step::{root, say},
    work::work,
};

/// The tests that take long, with their seconds, the longest first.
const LONGEST: &str = "loom-tests/longest.txt";
/// A test that takes longer is reported if the list does not have it.
const LONG: Duration = Duration::from_secs(10);

/// How the models run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wish {
    pub(crate) engine: Engine,
    /// Whether loom runs them without bounds on preemptions.
    pub(crate) full: bool,
}

/// The variables that ask for counts, and how a line with counts begins.
const COUNTS: [(&str, &str); 2] = [("JOINT_LOOM_RUNS", "RUNS "), ("JOINT_CHECK_LOG", "COUNT ")];

fn asks_for_counts() -> bool {
    COUNTS.iter().any(|(key, _)| env::var_os(key).is_some())
}

/// Runs the models, or the tests whose names contain the filter, and returns the status to exit
/// with.
pub(crate) fn run(wish: Wish, filter: Option<&str>) -> i32 {
    match models(wish, filter) {
        Ok(()) => 0,
        Err(why) => {
            say(&format!("loom failed: {why}"));
            1
        }
    }
}

fn models(wish: Wish, filter: Option<&str>) -> Result<(), String> {
    let Wish { engine, full } = wish;
    let start = Instant::now();
    let build = engine.build()?;
    say(&format!("building: {build}"));
    let mut programs = programs_of(&build)?;
    if engine == Engine::Loom {
        programs.retain(|program| program.name != LESSONS);
        programs.extend(programs_of(&engine::lessons()?)?);
    }
    say(&format!("built in {:.1} s", start.elapsed().as_secs_f64()));

    let list = fs::read_to_string(root().join(LONGEST));
    let list = list.map_err(|error| format!("{LONGEST}: {error}"))?;
    let longest = read(&list)?;
    let mut tests = Vec::new();
    for program in &programs {
        tests.extend(listed(program)?);
    }
    let gone = gone(&longest, &tests);
    tests.retain(|test| filter.is_none_or(|filter| test.name.contains(filter)));
    sort(&mut tests, &longest);

    let start = Instant::now();
    let ends = run_all(tests, wish)?;
    let took = start.elapsed();
    gone.iter().for_each(|line| say(line));
    cut(&ends).iter().for_each(|line| say(line));
    if !full && engine == Engine::Loom {
        unlisted(&ends, &longest).iter().for_each(|line| say(line));
    }
    judge(&ends, took)
}

/// One test of one of the programs.
struct Test<'a> {
    program: &'a Program,
    /// The program's name, then the test's.
    name: String,
}

/// How a test ended.
struct End {
    name: String,
    took: Duration,
    /// The lines that say how often its models ran.
    counts: Vec<String>,
    /// The status and all that the test printed, if it failed.
    failure: Option<String>,
}

fn listed(program: &Program) -> Result<Vec<Test<'_>>, String> {
    let names = program.tests()?.into_iter();
    let named = |name| Test {
        program,
        name: format!("{}::{name}", program.name),
    };
    Ok(names.map(named).collect())
}

/// The entries of the list, each `SECONDS NAME`.
fn read(list: &str) -> Result<Vec<&str>, String> {
    let lines = (1..).zip(list.lines().map(str::trim));
    let entries = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let entries = entries.map(|(n, line)| match line.split_once(' ') {
        Some((seconds, name)) if seconds.parse::<f64>().is_ok() => Ok(name),
        _ => Err(format!("{LONGEST}: line {n} is not `seconds name`: {line}")),
    });
    entries.collect()
}

/// Puts the tests of the list first, in its order. The others follow in the order of their
/// programs.
fn sort(tests: &mut [Test<'_>], longest: &[&str]) {
    let rank = |test: &Test<'_>| longest.iter().position(|&name| name == test.name);
    tests.sort_by_cached_key(|test| rank(test).unwrap_or(usize::MAX));
}

/// Runs the tests in their order.
fn run_all(tests: Vec<Test<'_>>, wish: Wish) -> Result<Vec<End>, String> {
    let progress = Progress::new("models", tests.len());
    let ends = work(tests, |test| {
        let end = run_one(&test, wish);
        progress.one(match &end {
            Ok(end) => said(end),
            Err(why) => why.clone(),
        });
        end
    });
    ends.into_iter().collect()
}

fn run_one(test: &Test<'_>, wish: Wish) -> Result<End, String> {
    let (_, name) = test.name.split_once("::").unwrap_or_default();
    let mut command = one_test(&test.program.path, name);
    if wish.full {
        command.env("JOINT_LOOM_FULL", "1");
    }
    let is_check = wish.engine == Engine::Check;
    if is_check {
        command.env("JOINT_CHECK_LOG", "1");
        let unset = MOST.iter().filter(|(key, _)| env::var_os(key).is_none());
        command.envs(unset.copied());
    }
    // A test that passes is silent otherwise.
    if is_check || asks_for_counts() {
        command.arg("--nocapture");
    }
    let start = Instant::now();
    let output = command.output();
    let output = output.map_err(|error| format!("{} could not be run: {error}", test.name))?;
    Ok(End {
        name: test.name.clone(),
        took: start.elapsed(),
        counts: counts(&output.stderr),
        failure: failure(output.status, &output.stdout, &output.stderr),
    })
}

/// The lines with counts among those that a test printed.
fn counts(stderr: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(stderr);
    let is_count = |line: &&str| COUNTS.iter().any(|(_, start)| line.starts_with(start));
    text.lines().filter(is_count).map(str::to_owned).collect()
}

/// All that a test printed, below its status, if it failed.
fn failure(status: ExitStatus, stdout: &[u8], stderr: &[u8]) -> Option<String> {
    let [stdout, stderr] = [stdout, stderr].map(String::from_utf8_lossy);
    (!status.success()).then(|| format!("{status}\n{stdout}{stderr}"))
}

fn said(end: &End) -> String {
    let ended = if end.failure.is_some() {
        "FAILED"
    } else {
        "ok"
    };
    format!("{}: {ended}, {:.1} s", end.name, end.took.as_secs_f64())
}

/// Shows what the failed tests printed, and sums up.
fn judge(ends: &[End], took: Duration) -> Result<(), String> {
    let mut failed = Vec::new();
    for end in ends {
        if asks_for_counts() {
            let counts = end.counts.iter();
            counts.for_each(|line| eprintln!("{}: {line}", end.name));
        }
        if let Some(failure) = &end.failure {
            eprintln!("\n---- {}: {failure}", end.name);
            failed.push(&*end.name);
        }
    }
    let (all, took) = (ends.len(), took.as_secs_f64());
    if failed.is_empty() {
        say(&format!("models: {all} tests passed in {took:.1} s"));
        return Ok(());
    }
    let names = failed.join("\n  ");
    Err(format!(
        "{} of {all} tests, in {took:.1} s:\n  {names}",
        failed.len()
    ))
}

/// The entries of the list that name no test.
fn gone(longest: &[&str], tests: &[Test<'_>]) -> Vec<String> {
    let is_there = |name: &str| tests.iter().any(|test| test.name == name);
    let gone = longest.iter().filter(|name| !is_there(name));
    gone.map(|name| format!("{LONGEST} lists {name}, but there is no such test"))
        .collect()
}

/// The tests with models that joint-check has not explored to their end.
fn cut(ends: &[End]) -> Vec<String> {
    let is_cut = |end: &&End| end.counts.iter().any(|line| line.ends_with(" cut"));
    let name = |end: &End| format!("{} was not explored to its end", end.name);
    ends.iter().filter(is_cut).map(name).collect()
}

/// The tests that took long and that the list does not have.
fn unlisted(ends: &[End], longest: &[&str]) -> Vec<String> {
    let unlisted = ends.iter().filter(|end| !longest.contains(&&*end.name));
    let long = unlisted.filter(|end| end.took > LONG);
    long.map(|end| {
        let (name, took) = (&end.name, end.took.as_secs_f64());
        format!("{name} took {took:.1} s: list it in {LONGEST}, so that it starts early")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Program {
        Program {
            name: "m".to_owned(),
            path: "sh".into(),
        }
    }

    fn tests<'a>(program: &'a Program, names: &[&str]) -> Vec<Test<'a>> {
        let test = |name: &&str| Test {
            program,
            name: format!("m::{name}"),
        };
        names.iter().map(test).collect()
    }

    #[test]
    fn the_longest_start_first_and_the_others_keep_their_order() {
        let program = program();
        let mut tests = tests(&program, &["d", "a", "b", "c"]);
        sort(&mut tests, &["m::b", "m::gone", "m::a"]);
        let names: Vec<_> = tests.iter().map(|test| &*test.name).collect();
        assert_eq!(names, ["m::b", "m::a", "m::d", "m::c"]);
        assert_eq!(gone(&["m::b", "m::gone"], &tests).len(), 1);
    }

    #[test]
    fn a_line_without_seconds_is_named() {
        assert_eq!(
            read("# x\n\n2.5 m::a\n1 m::b::c"),
            Ok(vec!["m::a", "m::b::c"])
        );
        for bad in ["m::a", "m::a 2"] {
            let error = read(&format!("# x\n{bad}")).expect_err(bad);
            assert!(error.contains("line 2"), "{error}");
        }
    }

    #[test]
    fn the_list_can_be_read() {
        let list = fs::read_to_string(root().join(LONGEST)).expect("the list");
        assert!(read(&list).is_ok(), "{:?}", read(&list));
    }

    #[test]
    fn a_long_test_that_is_not_listed_is_reported() {
        let end = |name: &str, seconds| End {
            name: name.to_owned(),
            took: Duration::from_secs(seconds),
            counts: Vec::new(),
            failure: None,
        };
        let ends = [end("m::a", 60), end("m::b", 60), end("m::c", 1)];
        let found = unlisted(&ends, &["m::a"]);
        assert!(found.len() == 1 && found[0].contains("m::b"), "{found:?}");
    }

    #[cfg(unix)]
    #[test]
    fn a_failure_has_the_status_and_all_that_was_printed() {
        let output = |line| {
            let output = std::process::Command::new("sh").args(["-c", line]).output();
            output.expect("a shell")
        };
        let failure = |line| {
            let output = output(line);
            failure(output.status, &output.stdout, &output.stderr)
        };
        assert_eq!(failure("echo a; echo b >&2"), None);
        let failure = failure("echo a; echo b >&2; exit 7").expect("a failure");
        assert_eq!(failure, "exit status: 7\na\nb\n");
    }

    #[test]
    fn counts_are_told_from_what_else_is_printed() {
        let found = counts(b"RUNS a 12 0.1\nRUNSTER\nCOUNT a 7 0 0 0 12 0.1 cut\n");
        assert_eq!(found, ["RUNS a 12 0.1", "COUNT a 7 0 0 0 12 0.1 cut"]);
    }

    #[test]
    fn the_failed_tests_are_named_at_the_end() {
        let end = |name: &str, failure: Option<&str>| End {
            name: name.to_owned(),
            took: Duration::ZERO,
            counts: Vec::new(),
            failure: failure.map(str::to_owned),
        };
        let passed = end("m::a", None);
        assert_eq!(judge(&[passed], Duration::ZERO), Ok(()));
        let ends = [end("m::a", None), end("m::b", Some("exit status: 101"))];
        let error = judge(&ends, Duration::ZERO).expect_err("one failed");
        assert!(error.starts_with("1 of 2 tests"), "{error}");
        assert!(error.contains("m::b") && !error.contains("m::a"), "{error}");
    }
}
