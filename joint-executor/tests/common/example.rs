//! The examples as programs, and how they end.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::{env, str};

use crate::common;

/// Cargo names no path for examples: the program lies next to the folder of the test programs.
pub(crate) fn example(name: &str) -> Command {
    let test = env::current_exe().expect("a test program has a path");
    let profile = test
        .parent()
        .and_then(Path::parent)
        .expect("target/PROFILE/deps/TEST");
    let program = profile
        .join("examples")
        .join(format!("{name}{}", env::consts::EXE_SUFFIX));
    assert!(
        program.exists(),
        "{} is missing: `cargo test` builds it, `cargo test --test {}` does not; \
         `cargo build --example {name}` does",
        program.display(),
        env!("CARGO_CRATE_NAME")
    );
    let mut command = common::program(program);
    command.stdin(Stdio::null());
    command
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("the program prints UTF-8")
}

/// The program gave up: status 2, no output, one line of error that contains `what`.
pub(crate) fn assert_failed(output: &Output, name: &str, what: &str) {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_eq!(text(&output.stdout), "");
    assert!(
        error.starts_with(&format!("{name}: ")) && error.contains(what),
        "{error:?} lacks {what:?}"
    );
    assert!(
        error.ends_with('\n') && error.lines().count() == 1,
        "{error:?} is not one line"
    );
}

/// A pipe whose reader has ended, as `head` does.
#[cfg(unix)]
#[allow(dead_code, reason = "some programs print nothing")]
pub(crate) fn pipe_without_reader(name: &str) -> Stdio {
    let mut reader = example(name);
    let reader = reader.arg("--help").stdin(Stdio::piped());
    let mut reader = reader.stdout(Stdio::null()).spawn().expect("starts");
    let pipe = reader.stdin.take().expect("piped");
    reader.wait().expect("ends");
    pipe.into()
}

#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "some programs print nothing")]
pub(crate) fn full_disk() -> Stdio {
    let mut options = std::fs::File::options();
    let full = options.write(true).open("/dev/full");
    full.expect("a device of Linux").into()
}
