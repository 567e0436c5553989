//! Runs a test again with a planted bug, and reads what the test harness says.

use std::{panic::Location, process::Command};

/// Set in the process that runs the model.
const INNER: &str = "JOINT_LAB_INNER";

/// Runs the model in a process of its own, as `cargo test` does, and returns what the harness
/// prints of the failed test.
pub(crate) fn printed(planted: fn()) -> String {
    let (status, text, errors) = run(planted);
    assert_eq!(status, Some(101), "{text}\n{errors}");
    text
}

/// Returns the exit status, which an aborted process does not have, the output and the errors.
pub(crate) fn run(planted: fn()) -> (Option<i32>, String, String) {
    if std::env::var_os(INNER).is_some() {
        joint_lab::model(planted);
        unreachable!("the planted bug is found");
    }
    let test = std::thread::current().name().map(str::to_owned);
    let test = test.expect("the harness names its threads");
    let program = std::env::current_exe().expect("the path of this program");
    let mut again = Command::new(program);
    again.args([test.as_str(), "--exact"]).env(INNER, "1");
    let output = again.output().expect("a test can be run again");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Demands that a report has each of these lines. `{mark}` stands for the place of the line of the
/// caller's file that ends with the comment `// mark`.
#[track_caller]
pub(crate) fn says(text: &str, lines: &str) {
    let file = Location::caller().file();
    let source = format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(source).expect("the test's source");
    let mut lines = lines.to_owned();
    for (number, line) in (1..).zip(source.lines()) {
        if let Some((_, mark)) = line.split_once("; // ") {
            lines = lines.replace(&format!("{{{mark}}}"), &format!("{file}:{number}"));
        }
    }
    for line in lines.lines().map(str::trim) {
        assert!(text.contains(line), "it does not say: {line}\n{text}");
    }
}
