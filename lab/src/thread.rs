//! loom's threads, with their spawns and joins recorded.

use std::{fmt, panic::Location};

pub use loom::thread::{Thread, ThreadId, current, yield_now};

use super::{event::Step, recorder};

/// [`loom::thread::JoinHandle`].
pub struct JoinHandle<T> {
    handle: loom::thread::JoinHandle<T>,
    token: usize,
}

impl<T> JoinHandle<T> {
    /// Waits until the thread has ended.
    ///
    /// # Errors
    /// The same as [`std::thread::JoinHandle::join`], except that a panic ends the model first.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        let joined = self.handle.join();
        recorder::now(0, Step::Join(self.token), Location::caller());
        joined
    }

    /// Returns the thread.
    pub fn thread(&self) -> &Thread {
        self.handle.thread()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// [`loom::thread::spawn`].
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    let source = Location::caller();
    let token = recorder::token();
    recorder::now(0, Step::Spawn(token), source);
    let handle = loom::thread::spawn(move || {
        recorder::now(0, Step::Start(token), source);
        let result = f();
        recorder::now(0, Step::End, source);
        result
    });
    JoinHandle { handle, token }
}

/// [`loom::thread::park`]. Only an unpark by [`unpark`] makes an edge that is recorded.
#[track_caller]
pub fn park() {
    recorder::begins_plain(0, Step::Park, Location::caller());
    loom::thread::park();
    recorder::ended(0);
}

/// [`loom::thread::Thread::unpark`].
#[track_caller]
pub fn unpark(thread: &Thread) {
    let lane = recorder::lane_of(thread.id());
    recorder::now(0, Step::Unpark(lane), Location::caller());
    thread.unpark();
}
