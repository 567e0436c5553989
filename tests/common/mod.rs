//! What the test programs share. An allocator that counts is in a file of its own, which they
//! include by path.
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

pub(crate) use self::{
    ends::ends,
    wakes::{Wakes, counting},
};

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

/// Wakes its task once, and is ready at the second poll.
pub(crate) async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
