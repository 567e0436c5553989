//! The programs under test, and what they print.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use std::{env, str, thread};

/// Far longer than any run here takes: a program that hangs is killed, and the test fails.
const LIMIT: Duration = Duration::from_secs(60);

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
        "{} is missing: `cargo test` builds it, `cargo test --test golden` does not; \
         `cargo build --example {name}` does",
        program.display()
    );
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    command
}

/// Runs the example to its end, with its standard output and standard error read.
pub(crate) fn run(name: &str, arguments: &[&str]) -> Output {
    finish(example(name).args(arguments).stdout(Stdio::piped()))
}

/// Runs the program to its end. Standard output is read if it is piped.
pub(crate) fn finish(command: &mut Command) -> Output {
    let mut child = command.stderr(Stdio::piped()).spawn().expect("starts");
    let stdout = child.stdout.take().map(read);
    let stderr = child.stderr.take().map(read).expect("piped");
    // Both end with the program.
    let printed = stderr.recv_timeout(LIMIT).and_then(|stderr| {
        let stdout = stdout
            .map(|stdout| stdout.recv_timeout(LIMIT))
            .transpose()?;
        Ok((stdout.unwrap_or_default(), stderr))
    });
    let Ok((stdout, stderr)) = printed else {
        child.kill().expect("it can be killed");
        panic!("{command:?} did not end within {LIMIT:?}");
    };
    let status = child.wait().expect("its status");
    Output {
        status,
        stdout,
        stderr,
    }
}

fn read(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a pipe can be read");
        // Nobody waits any more if it took too long.
        let _ = sender.send(bytes);
    });
    receiver
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("the program prints UTF-8")
}

/// The program has ended well, and has said nothing on standard error. What it printed.
pub(crate) fn printed(output: &Output) -> &str {
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    text(&output.stdout)
}

/// The program gave up: status 2, and one line on standard error that contains `what`.
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
