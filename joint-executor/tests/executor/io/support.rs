//! Helpers for the tests.

use std::os::{fd::OwnedFd, unix::net::UnixStream};

use crate::prelude::*;

/// Runs a test as a task of an executor with one worker, and of one with several.
pub(crate) fn on_workers<F>(test: impl Fn() -> F + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    let test: Box<dyn Fn() -> Boxed<()> + Send> = Box::new(move || Box::pin(test()));
    ends(move || {
        for workers in [1, 4] {
            let executor = executor(workers);
            block_on(executor.spawn(test()));
        }
    });
}

/// Two ends, both served by the executor of the caller.
pub(crate) fn streams() -> (AsyncFd<UnixStream>, AsyncFd<UnixStream>) {
    let (one, other) = UnixStream::pair().unwrap();
    (AsyncFd::new(one).unwrap(), AsyncFd::new(other).unwrap())
}

/// The end to read, and the end to write.
pub(crate) fn pipe() -> (OwnedFd, OwnedFd) {
    use std::os::fd::FromRawFd;

    let mut ends = [0; 2];
    // SAFETY: there is room for two numbers.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    ends.map(|end| {
        // SAFETY: it was made just now, and nobody else has it.
        unsafe { OwnedFd::from_raw_fd(end) }
    })
    .into()
}

/// One poll, by a waker that counts.
pub(crate) fn poll_once<F: Future>(future: Pin<&mut F>, wakes: &Arc<Wakes>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(&wakes.waker()))
}
