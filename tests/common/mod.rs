//! Helpers for the test programs. An allocator that counts is in a file of its own, which they
//! include by path.
#![allow(
    dead_code,
    unused_imports,
    reason = "each test program uses its part of it"
)]

mod again;
mod ends;
mod panicking;
mod wakes;

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    task::{Context, Poll, Waker},
    thread,
};

pub(crate) use self::{
    again::{again, in_process, own_process, program},
    ends::{ends, ends_the_program},
    panicking::{Panicking, Unwound, panicking},
    wakes::{Wakes, counting, waker_that},
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

/// Returns a value that calls the function when it is dropped, which it can do once.
pub(crate) fn on_drop(f: impl FnOnce()) -> OnDrop<impl FnMut()> {
    let mut f = Some(f);
    OnDrop(move || {
        if let Some(f) = f.take() {
            f();
        }
    })
}

/// Runs a test for each row of a table, and says which row it is that fails.
pub(crate) fn each_row<T>(
    rows: impl IntoIterator<Item = (&'static str, T)>,
    mut test: impl FnMut(T),
) {
    for (name, row) in rows {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| test(row))) {
            eprintln!("in the row: {name}");
            resume_unwind(payload);
        }
    }
}

/// Demands that `f` panics.
#[track_caller]
pub(crate) fn panics<R>(f: impl FnOnce() -> R) -> Box<dyn Any + Send> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => panic!("it did not panic"),
        Err(payload) => payload,
    }
}

/// Returns the message with which `f` panics.
#[track_caller]
pub(crate) fn panic_text<R>(f: impl FnOnce() -> R) -> String {
    match panics(f).downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().expect("a text").to_string(),
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
