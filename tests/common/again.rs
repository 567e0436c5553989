//! Programs that tests start: the test program once more, or an example.
#![allow(dead_code, reason = "each test program uses its part of it")]

use std::{env, ffi::OsStr, process::Command};

/// Returns a command for a program of the same target. If an emulator runs the tests, it has to run
/// that program too. `cargo xtask portable --run` names it.
pub(crate) fn program(path: impl AsRef<OsStr>) -> Command {
    let emulator = env::var("JOINT_EMULATOR").unwrap_or_default();
    let mut words = emulator.split_whitespace();
    let Some(first) = words.next() else {
        return Command::new(path);
    };
    let mut command = Command::new(first);
    command.args(words).arg(path);
    command
}

/// Returns a command for this test program.
pub(crate) fn again() -> Command {
    program(env::current_exe().expect("a test is a program"))
}
