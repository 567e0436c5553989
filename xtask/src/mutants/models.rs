//! The models as programs: built once, each test run in a process of its own.

use std::{
    collections::BTreeSet,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    programs::{Program, one_test, programs},
    progress::Progress,
    size::target,
    work::work,
};

/// A test that is to find mutants: it passes, and changes nothing by itself.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    /// The program's name, then the test's.
    pub(crate) name: String,
    program: PathBuf,
    pub(crate) took: Duration,
    /// The places that its models have come to.
    pub(crate) seen: BTreeSet<String>,
}

/// How a run of a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Passed,
    Failed,
    /// It did not end, or the model said that it would not.
    Endless,
}

/// Where what was seen of the models is kept.
fn folder() -> PathBuf {
    target().join("loom").join("mutants")
}

/// Builds the models, and runs each test once as it is; with `only`, those of these names.
///
/// The verdicts of all tests of a program are kept for as long as it stays the same.
pub(crate) fn tests(only: Option<&BTreeSet<String>>) -> Result<Vec<Test>, String> {
    let is_wanted = |test: &Test| only.is_none_or(|only| only.contains(&test.name));
    let mut seen = Vec::new();
    let mut unseen = Vec::new();
    for program in programs()? {
        match recorded(&record(&program.path)?, &program) {
            Some(tests) => seen.extend(tests),
            None => unseen.extend(listed(&program)?.into_iter().filter(is_wanted)),
        }
    }
    let new = looked_at(unseen)?;
    if only.is_none() {
        for own in new.chunk_by(|a, b| a.test.program == b.test.program) {
            write(&record(&own[0].test.program)?, own)?;
        }
    }
    let killers = seen.into_iter().chain(new).filter(|one| one.kills);
    let tests = killers.map(|one| one.test).filter(is_wanted);
    Ok(tests.collect())
}

/// A test that was run as it is.
struct Seen {
    test: Test,
    kills: bool,
}

/// Runs each test once.
fn looked_at(tests: Vec<Test>) -> Result<Vec<Seen>, String> {
    let progress = Progress::new("tests as they are", tests.len());
    let seen = work(tests, |test| {
        let seen = look_at(test);
        progress.one(match &seen {
            Ok(seen) => format!("{}: {:.1} s", seen.test.name, seen.test.took.as_secs_f64()),
            Err(why) => why.clone(),
        });
        seen
    });
    seen.into_iter().collect()
}

/// The tests of a program, none of which has run.
fn listed(program: &Program) -> Result<Vec<Test>, String> {
    let test = |name| Test {
        name: format!("{}::{name}", program.name),
        program: program.path.clone(),
        took: Duration::ZERO,
        seen: BTreeSet::new(),
    };
    Ok(program.tests()?.into_iter().map(test).collect())
}

/// More than any model takes as it is.
const MOST: Duration = Duration::from_secs(1200);

fn look_at(mut test: Test) -> Result<Seen, String> {
    let file = folder().join(test.name.replace("::", "-"));
    let failed = |error: std::io::Error| format!("{}: {error}", file.display());
    fs::create_dir_all(folder()).map_err(failed)?;
    let _none_yet = fs::remove_file(&file);
    let start = Instant::now();
    let ended = run(&test, ("JOINT_LOOM_SITES", &file.to_string_lossy()), MOST)?;
    test.took = start.elapsed();
    if ended != Ended::Passed {
        return Err(format!(
            "{} fails as it is: see `cargo xtask loom`",
            test.name
        ));
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    let _not_needed = fs::remove_file(&file);
    test.seen = written.lines().map(str::to_owned).collect();
    // As the models write it down: they change something by themselves, or are made to fail.
    let kills = !["weakens", "fails"]
        .iter()
        .any(|mark| test.seen.contains(*mark));
    Ok(Seen { test, kills })
}

impl Test {
    #[cfg(test)]
    pub(crate) fn made_up(name: &str, took: Duration, seen: BTreeSet<String>) -> Self {
        let (name, program) = (name.to_owned(), PathBuf::new());
        Self {
            name,
            program,
            took,
            seen,
        }
    }

    /// Runs it with one place changed, for so much longer than it takes as it is.
    pub(crate) fn against(&self, mutant: &str) -> Result<Ended, String> {
        let limit = Duration::from_secs(60) + 20 * self.took;
        run(self, ("JOINT_LOOM_MUTANT", mutant), limit)
    }
}

fn run(test: &Test, (key, value): (&str, &str), limit: Duration) -> Result<Ended, String> {
    let failed = |why: String| format!("{} could not be run: {why}", test.name);
    let (_, name) = test.name.split_once("::").unwrap_or_default();
    let mut child = one_test(&test.program, name)
        .args(["--include-ignored", "--nocapture", "--test-threads=1"])
        .env(key, value)
        .env("RUST_BACKTRACE", "0")
        .env_remove("JOINT_LOOM_FULL")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let stderr = child.stderr.take().map(BufReader::new);
    let said = thread::spawn(move || {
        let mut said = Vec::new();
        let _as_far_as_it_goes = stderr.map(|mut stderr| stderr.read_to_end(&mut said));
        String::from_utf8_lossy(&said).into_owned()
    });
    let Some(code) = wait(&mut child, limit).map_err(|error| failed(error.to_string()))? else {
        return Ok(Ended::Endless);
    };
    let said = said.join().unwrap_or_default();
    match code {
        Some(0) => Ok(Ended::Passed),
        // As the models say that they do not know the place.
        Some(2) => Err(failed(said)),
        _ if said.contains("exceeded maximum number of branches") => Ok(Ended::Endless),
        _ => Ok(Ended::Failed),
    }
}

/// The status; nothing in it, if a signal ended the process, and nothing at all when it was ended
/// here.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<Option<i32>>> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.code()));
        }
        thread::sleep(
            (start.elapsed() / 50).clamp(Duration::from_millis(1), Duration::from_millis(100)),
        );
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// The file for a program, by what is in it.
fn record(program: &Path) -> Result<PathBuf, String> {
    let bytes = fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?;
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    Ok(folder().join(format!("{:016x}.json", hasher.finish())))
}

fn recorded(file: &Path, program: &Program) -> Option<Vec<Seen>> {
    let value: Value = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
    let one = |value: &Value| {
        let seen = value["seen"].as_array()?.iter();
        let seen = seen.map(|place| place.as_str().map(str::to_owned));
        let test = Test {
            name: value["name"].as_str()?.to_owned(),
            program: program.path.clone(),
            took: Duration::from_secs_f64(value["took"].as_f64()?),
            seen: seen.collect::<Option<_>>()?,
        };
        let kills = value["kills"].as_bool()?;
        Some(Seen { test, kills })
    };
    value.as_array()?.iter().map(one).collect()
}

fn write(file: &Path, seen: &[Seen]) -> Result<(), String> {
    let one = |one: &Seen| {
        let Test {
            name, took, seen, ..
        } = &one.test;
        json!({ "name": name, "took": took.as_secs_f64(), "seen": seen, "kills": one.kills })
    };
    let value = Value::Array(seen.iter().map(one).collect());
    let written = fs::create_dir_all(folder()).and_then(|()| fs::write(file, value.to_string()));
    written.map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_child_that_exceeds_its_limit_is_killed() {
        let start = |line| {
            Command::new("sh")
                .args(["-c", line])
                .spawn()
                .expect("a shell")
        };
        let limit = Duration::from_secs(60);
        let ended = |line, limit| wait(&mut start(line), limit).expect("a child");
        assert_eq!(ended("exit 3", limit), Some(Some(3)));
        assert_eq!(ended("kill -6 $$", limit), Some(None));
        assert_eq!(ended("exec sleep 600", Duration::from_millis(1)), None);
    }
}
