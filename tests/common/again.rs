//! Programs that tests start: the test program once more, or an example.
#![allow(dead_code, reason = "each test program uses its part of it")]

use std::{any::type_name, env, ffi::OsStr, process::Command};

/// Returns a command for a program of the same target. If an emulator runs the tests, it has to run
/// that program too. `cargo xtask foreign` names it.
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

/// Runs a test's function in a process of its own, which runs that test alone. `set` may change how
/// the process is started.
pub(crate) fn in_process<F: FnOnce()>(set: impl FnOnce(&mut Command), function: F) {
    const INSIDE: &str = "JOINT_TEST_INSIDE";
    if env::var_os(INSIDE).is_some() {
        return function();
    }
    // The program, the modules of the test, its name, and that of the closure.
    let name = type_name::<F>().trim_end_matches("::{{closure}}");
    let (_, test) = name.split_once("::").expect("a test is in a program");
    let mut command = again();
    command.args([test, "--exact", "--test-threads=1"]);
    command.env(INSIDE, "1").env("RUST_BACKTRACE", "0");
    set(&mut command);
    let output = command.output().expect("a test can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {said}", output.status);
    assert!(said.contains("1 passed"), "{said}");
}
