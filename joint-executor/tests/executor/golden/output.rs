//! Standard output that cannot be written to, and too few descriptors.
#![cfg(unix)]

use std::process::{Command, Stdio};

#[cfg(target_os = "linux")]
use crate::example::full_disk;
use crate::example::pipe_without_reader;
use crate::golden::program::{assert_failed, example, finish, text};

/// Each with what makes it end soon.
const SHORT: [(&str, &[&str]); 3] = [
    ("fizz_buzz", &["--period", "5"]),
    ("timers", &["--period", "1", "1000"]),
    ("echo", &["--connections", "2", "--messages", "2"]),
];

#[test]
fn a_reader_that_has_gone_is_no_failure() {
    for (name, arguments) in SHORT {
        let pipe = pipe_without_reader(name);
        let output = finish(example(name).args(arguments).stdout(pipe));
        assert_eq!(text(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one_line_and_status_2() {
    for (name, arguments) in SHORT {
        let output = finish(example(name).args(arguments).stdout(full_disk()));
        assert_failed(&output, name, "standard output: ");
    }
}

/// The server and the clients run out of descriptors somewhere in between. Nobody hangs for that.
#[test]
fn too_few_descriptors_are_one_line_and_status_2() {
    for most in ["16", "17", "32", "33"] {
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -n $0 && exec \"$@\"", most]);
        let echo = example("echo");
        shell.arg(echo.get_program()).args(echo.get_args());
        shell.args(["--connections", "100"]).stdin(Stdio::null());
        let output = finish(shell.stdout(Stdio::piped()));
        assert_failed(&output, "echo", "os error 24");
    }
}
