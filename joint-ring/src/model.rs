//! For models: an operation that a thread of the model completes instead of the kernel. This exists
//! under the model-checking cfg alone, and promises nothing.

use core::{
    future::Future,
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll},
};
use std::{cell::Cell, io};

use joint_switch::UnsafeCell;

use crate::{
    block::{self, Data, Head},
    operation::{self, Kernel},
};

pub use crate::{bell::asked, gate::Gate};

/// What the kernel of a model has been asked.
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct Request {
    head: NonNull<Head>,
    buffer: *const UnsafeCell<u32>,
}

// SAFETY: the kernel uses it as the operation allows.
unsafe impl Send for Request {}

impl Request {
    /// Fills the buffer, and answers.
    pub fn answer(self) {
        // SAFETY: the buffer is in its place until the answer.
        let buffer = unsafe { &*self.buffer };
        // SAFETY: until the answer it belongs to the kernel.
        buffer.with_mut(|buffer| unsafe { *buffer = 7 });
        // SAFETY: the operation was started with this request, which is answered once.
        unsafe { block::answer(self.head, 4) };
    }
}

/// What is called with the request at the first poll.
type Ask = Box<dyn FnOnce(Request) + Send>;

/// A value that is lent to the kernel, with something whose drop is seen.
struct Lent<T> {
    buffer: UnsafeCell<u32>,
    seen: T,
    ask: Option<Ask>,
    is_queued: bool,
}

// SAFETY: the buffer is a part of the value.
unsafe impl<T: Send + 'static> Data for Lent<T> {
    type Entry = Entry;
    type Output = (io::Result<u32>, T);

    fn entry(&mut self) -> Self::Entry {
        let ask = self.ask.take().expect("there is one request");
        Entry {
            buffer: &raw const self.buffer,
            ask,
            is_queued: self.is_queued,
        }
    }

    fn output(self, answer: io::Result<u32>) -> Self::Output {
        // SAFETY: the kernel has answered.
        let filled = self.buffer.with(|buffer| unsafe { *buffer });
        let answer = answer.map(|count| {
            assert_eq!((count, filled), (4, 7), "the answer comes with the bytes");
            filled
        });
        (answer, self.seen)
    }
}

struct Entry {
    buffer: *const UnsafeCell<u32>,
    ask: Ask,
    is_queued: bool,
}

std::thread_local! {
    /// The request that is still to be submitted. All threads of a model are one of the system.
    static QUEUED: Cell<Option<(Request, Ask)>> = const { Cell::new(None) };
}

/// Whatever the model makes of a request.
struct Thread;

// SAFETY: the model answers the request once.
unsafe impl Kernel for Thread {
    type Own = ();
    type Entry = Entry;

    fn own() -> io::Result<()> {
        Ok(())
    }

    unsafe fn start((): &(), head: NonNull<Head>, entry: Entry) -> Option<usize> {
        let buffer = entry.buffer;
        let request = Request { head, buffer };
        if entry.is_queued {
            QUEUED.set(Some((request, entry.ask)));
            return Some(1);
        }
        (entry.ask)(request);
        None
    }

    fn submit(&self, _turn: usize) {
        if let Some((request, ask)) = QUEUED.take() {
            ask(request);
        }
    }

    fn shared((): ()) -> Self {
        Self
    }

    unsafe fn cancel(&self, _head: NonNull<Head>) {}
}

/// An operation of the model.
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct Operation<T: Send + 'static>(operation::Operation<Lent<T>, Thread>);

impl<T: Send + 'static> Operation<T> {
    /// Makes an operation that drops `seen` with its buffer, and calls `ask` with its request: at
    /// the first poll, or if the request is queued, at what comes next.
    pub fn new(seen: T, is_queued: bool, ask: impl FnOnce(Request) + Send + 'static) -> Self {
        Self(operation::Operation::new(Lent {
            buffer: UnsafeCell::new(0),
            seen,
            ask: Some(Box::new(ask)),
            is_queued,
        }))
    }
}

impl<T: Send + 'static> Future for Operation<T> {
    type Output = (io::Result<u32>, T);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}
