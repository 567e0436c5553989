//! Tests that would hang where they should fail, and tests that must end their program.

use std::{
    cell::Cell,
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    process::{self, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use super::again;

thread_local! {
    /// The number of programs that this test has ended.
    static ENDED: Cell<usize> = const { Cell::new(0) };
}

/// Demands that `f` ends the program, and says so. The test runs itself again in a process of its
/// own, once for each call.
#[track_caller]
pub(crate) fn ends_the_program(says: &str, f: impl FnOnce()) {
    /// Set in the process that is to end.
    const INNER: &str = "JOINT_ENDS";
    let call = ENDED.replace(ENDED.get() + 1).to_string();
    if let Ok(inner) = env::var(INNER) {
        if inner == call {
            // What can be caught does not end the program.
            let _ = catch_unwind(AssertUnwindSafe(f));
            process::exit(0);
        }
        return;
    }
    let test = thread::current();
    let test = test.name().expect("a test's thread has its name");
    let output = again()
        .args([test, "--exact", "--nocapture"])
        .env(INNER, call)
        .stdin(Stdio::null())
        .output()
        .expect("a test can be run again");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "it went on: {text}");
    assert!(text.contains(says), "{text}");
}

/// Runs a test that waits, and ends it when it has waited for too long.
#[track_caller]
pub(crate) fn ends<R: Send + 'static>(test: impl FnOnce() -> R + Send + 'static) -> R {
    ends_boxed(Box::new(test))
}

/// Compiled once for each type of a result, and not for each test.
#[track_caller]
fn ends_boxed<R: Send + 'static>(test: Box<dyn FnOnce() -> R + Send>) -> R {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        let result = test();
        let _ = sender.send(());
        result
    });
    match receiver.recv_timeout(Duration::from_secs(120)) {
        Err(RecvTimeoutError::Timeout) => panic!("this waits for what does not come"),
        // The thread has ended, or is about to.
        Ok(()) | Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        },
    }
}
