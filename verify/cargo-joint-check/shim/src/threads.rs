//! The threads of a model.

use core::time::Duration;
use real::{io, num::NonZero};

use joint_check::thread as checked;

use crate::{clock::pass, slot, spins};

pub use checked::{Scope, ScopedJoinHandle, Thread, ThreadId, current, scope};

/// The number of the running thread, or 0 outside of a model.
pub(crate) fn number() -> u64 {
    match slot::in_model() {
        true => checked::number().into(),
        false => 0,
    }
}

#[track_caller]
pub fn park() {
    spins::wrote();
    checked::park();
}

/// Waits, or gives up at once. Both are tried, and the time counts as passed.
#[track_caller]
pub fn park_timeout(time: Duration) {
    spins::wrote();
    checked::park_timeout(time);
    pass(time);
}

/// Lets other threads run, and the time pass for this one.
#[track_caller]
pub fn sleep(time: Duration) {
    spins::wrote();
    checked::yield_now();
    pass(time);
}

#[track_caller]
pub fn yield_now() {
    spins::wrote();
    checked::yield_now();
}

/// Returns 2.
///
/// # Errors
/// Never.
pub fn available_parallelism() -> io::Result<NonZero<usize>> {
    Ok(const { NonZero::new(2).expect("it is not 0") })
}

pub struct JoinHandle<T>(checked::JoinHandle<T>);

joint_check::__facade::shows_its_name! { JoinHandle<T> }

impl<T> JoinHandle<T> {
    #[track_caller]
    pub fn join(self) -> real::thread::Result<T> {
        self.0.join()
    }

    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }
}

/// A thread of a model is none of the system's.
#[cfg(unix)]
impl<T> real::os::unix::thread::JoinHandleExt for JoinHandle<T> {
    fn as_pthread_t(&self) -> real::os::unix::thread::RawPthread {
        panic!("a thread of a model has no pthread_t")
    }

    fn into_pthread_t(self) -> real::os::unix::thread::RawPthread {
        self.as_pthread_t()
    }
}

#[track_caller]
pub fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    JoinHandle(checked::spawn(f))
}

#[derive(Debug, Default)]
pub struct Builder(checked::Builder);

impl Builder {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn name(self, name: String) -> Self {
        Self(self.0.name(name))
    }

    /// Has no effect.
    #[must_use]
    pub fn stack_size(self, _: usize) -> Self {
        self
    }

    #[track_caller]
    pub fn spawn<T: Send + 'static>(
        self,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        self.0.spawn(f).map(JoinHandle)
    }
}
