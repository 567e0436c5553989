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

/// Returns a command that runs this test alone in a process of its own; `None` in that process. The
/// test is known by a function or closure of it.
pub(crate) fn own_process<F>(_: &F) -> Option<Command> {
    const INSIDE: &str = "JOINT_TEST_INSIDE";
    if env::var_os(INSIDE).is_some() {
        return None;
    }
    // The program, the modules of the test, its name, and that of the closure.
    let name = type_name::<F>().trim_end_matches("::{{closure}}");
    let (_, test) = name.split_once("::").expect("a test is in a program");
    let mut command = again();
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(INSIDE, "1").env("RUST_BACKTRACE", "0");
    Some(command)
}

/// Runs a test's function in a process of its own. `set` may change how the process is started.
/// Returns what it has written; inside of it, nothing.
pub(crate) fn in_process<F: FnOnce()>(
    set: impl FnOnce(&mut Command),
    function: F,
) -> Option<String> {
    let Some(mut command) = own_process(&function) else {
        function();
        return None;
    };
    set(&mut command);
    let output = command.output().expect("a test can be started");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    let has_passed = output.status.success() && said.contains("1 passed");
    assert!(has_passed, "{}: {said}", output.status);
    Some(said)
}
