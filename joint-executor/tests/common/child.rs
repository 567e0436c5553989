//! Forks without exec.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Runs a function in a child, and waits for its end there.
pub(crate) fn in_child(child: impl FnOnce()) {
    // SAFETY: it asks for nothing by itself. The child allocates and starts threads, which the C
    // libraries that Rust's std supports allow after a fork, and ends without running what the
    // parent has registered for its exit.
    let id = unsafe { libc::fork() };
    match id {
        -1 => panic!("no child: {}", io::Error::last_os_error()),
        0 => {
            // What hangs is ended by a signal.
            // SAFETY: it asks for nothing.
            unsafe { libc::alarm(60) };
            let outcome = catch_unwind(AssertUnwindSafe(child));
            // SAFETY: it asks for nothing.
            unsafe { libc::_exit(i32::from(outcome.is_err())) }
        }
        _ => {
            let mut status = 0;
            // SAFETY: the status is a place to write to.
            while unsafe { libc::waitpid(id, &raw mut status, 0) } == -1 {
                let error = io::Error::last_os_error();
                assert_eq!(error.kind(), io::ErrorKind::Interrupted, "{error}");
            }
            let how = match libc::WIFSIGNALED(status) {
                true => "was ended by a signal",
                false => "has failed",
            };
            assert_eq!(status, 0, "the child {how}, status {status:#x}");
        }
    }
}
