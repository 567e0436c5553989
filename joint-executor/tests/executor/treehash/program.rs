//! The program under test and what it prints.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use crate::example::example;
pub(crate) use crate::example::text;

pub(crate) fn treehash() -> Command {
    example("treehash")
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

/// The program gave up: see [`crate::example::assert_failed`].
pub(crate) fn assert_failed(output: &Output, what: &str) {
    crate::example::assert_failed(output, "treehash", what);
}
