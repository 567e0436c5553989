//! What the test programs share. What only some can have is in files of its own here, which they
//! include by path: an allocator that counts, children of forks, and the examples as programs.
#![allow(
    dead_code,
    unused_imports,
    reason = "each test program uses its part of it"
)]

mod ends;
mod wakes;

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
    thread,
};

use joint::Executor;

pub(crate) use self::{
    ends::ends,
    wakes::{Wakes, counting},
};

/// An executor with that many workers. Under Miri it has one, because thieves use code of another
/// crate that Miri refuses.
pub(crate) fn executor(workers: usize) -> Executor {
    let workers = if cfg!(miri) { 1 } else { workers };
    let executor = Executor::builder().workers(workers).build();
    executor.expect("the threads can be started")
}

/// Polls a future once.
pub(crate) fn poll_with<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// Lets other threads run until a condition holds.
pub(crate) fn wait_until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        thread::yield_now();
    }
}

/// Calls its function when it is dropped.
pub(crate) struct OnDrop<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Panics when it is dropped.
pub(crate) struct Panics;

impl Drop for Panics {
    fn drop(&mut self) {
        panic!("dropped");
    }
}
