//! The programs under test, and what they print.

use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

pub(crate) use crate::example::{assert_failed, example, text};

/// Far longer than any run takes, in an emulator too. A program that hangs is killed.
const LIMIT: Duration = Duration::from_secs(600);

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

/// The program has ended well, and has said nothing on standard error. What it printed.
pub(crate) fn printed(output: &Output) -> &str {
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    text(&output.stdout)
}
