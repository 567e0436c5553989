//! The program under test and what it prints.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::{env, str};

/// Cargo names no path for examples: the program lies next to the folder of the test programs.
pub(crate) fn treehash() -> Command {
    let test = env::current_exe().expect("a test program has a path");
    let profile = test
        .parent()
        .and_then(Path::parent)
        .expect("target/PROFILE/deps/TEST");
    let program = profile
        .join("examples")
        .join(format!("treehash{}", env::consts::EXE_SUFFIX));
    assert!(
        program.exists(),
        "{} is missing: `cargo test` builds it, `cargo test --test treehash` does not; \
         `cargo build --example treehash` does",
        program.display()
    );
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    command
}

pub(crate) fn run(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Output {
    treehash()
        .args(arguments)
        .output()
        .expect("treehash starts")
}

/// Hashes `path` on `workers` workers; the lines of the report by their keys.
pub(crate) fn report(path: &Path, workers: usize) -> HashMap<String, String> {
    let output = run([
        OsStr::new("--workers"),
        workers.to_string().as_ref(),
        path.as_ref(),
    ]);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    parse(&output)
}

pub(crate) fn parse(output: &Output) -> HashMap<String, String> {
    let lines = text(&output.stdout).lines();
    lines
        .map(|line| line.split_once(' ').expect("a key, blanks, a value"))
        .map(|(key, value)| (key.to_owned(), value.trim_start().to_owned()))
        .collect()
}

pub(crate) fn digest(path: &Path) -> String {
    report(path, 2).remove("digest").expect("a line `digest`")
}

pub(crate) fn number(report: &HashMap<String, String>, key: &str) -> u64 {
    report[key].parse().expect("a number")
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("the program prints UTF-8")
}

/// The program gave up: status 2, nothing on standard output, one line on standard error that
/// contains `what`.
pub(crate) fn assert_failed(output: &Output, what: &str) {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_eq!(text(&output.stdout), "");
    assert!(
        error.starts_with("treehash: ") && error.contains(what),
        "{error:?} lacks {what:?}"
    );
    assert!(
        error.ends_with('\n') && error.lines().count() == 1,
        "{error:?} is not one line"
    );
}
