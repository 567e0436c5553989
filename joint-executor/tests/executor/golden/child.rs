//! The example `child`, run as its user runs it.
#![cfg(all(unix, feature = "io", not(miri)))]

use std::process::Output;

fn child(arguments: &[&str]) -> Output {
    let mut child = crate::example::example("child");
    child.args(arguments).output().unwrap()
}

/// The lines, which are in no certain order.
fn lines(bytes: &[u8]) -> Vec<&str> {
    let mut lines: Vec<_> = crate::example::text(bytes).lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn the_lines_of_all_commands_are_printed_with_their_numbers() {
    let output = child(&[
        "echo a; echo b >&2",
        "printf 'c\\nd'",
        "seq 20000 | tail -n 1",
    ]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        lines(&output.stdout),
        ["0  a", "0! b", "1  c", "1  d", "2  20000"]
    );
}

#[test]
fn a_command_that_fails_and_one_that_takes_too_long_are_named() {
    let output = child(&["exit 3"]);
    crate::example::assert_failed(&output, "child", "`exit 3`: exit status: 3");
    // It would take longer than any test.
    let output = child(&["--limit", "1", "exec sleep 3600"]);
    crate::example::assert_failed(&output, "child", "`exec sleep 3600`: ");
}
