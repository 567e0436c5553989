//! [`MainFuture`]: the main future, which is no task.

use std::{
    cell::Cell,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use super::faults;
use joint::park::Parker;

/// A future of any type, and later its output. A world is compiled once for all of them.
pub(super) trait Main {
    /// Polls the future, which has not been dropped, and keeps its output.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()>;
    fn drop_future(&mut self);
    fn drop_output(&mut self);
}

pub(super) struct Typed<'a, F: Future> {
    future: Pin<&'a mut Option<F>>,
    output: Option<F::Output>,
}

impl<'a, F: Future> Typed<'a, F> {
    pub(super) fn new(future: Pin<&'a mut Option<F>>) -> Self {
        let output = None;
        Self { future, output }
    }

    pub(super) fn into_output(self) -> F::Output {
        self.output.expect("the run has ended well")
    }
}

impl<F: Future> Main for Typed<'_, F> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let future = self.future.as_mut().as_pin_mut();
        let polled = faults::poll(future.expect("it is there"), cx);
        polled.map(|output| self.output = Some(output))
    }

    fn drop_future(&mut self) {
        self.future.set(None);
    }

    fn drop_output(&mut self) {
        self.output = None;
    }
}

pub(super) struct MainFuture {
    /// Tells whether it is ready. It parks nobody: each of the world's steps looks whether it has
    /// been woken.
    parker: Parker,
    is_new: Cell<bool>,
    /// Polls it. `None` while that is under way, and once it is over.
    pub(super) poll: Cell<Option<*mut (dyn FnMut() -> Poll<()> + 'static)>>,
    pub(super) is_over: Cell<bool>,
    /// The number of its polls, and the time of the last one.
    pub(super) polls: Cell<u64>,
    pub(super) since: Cell<u64>,
}

impl MainFuture {
    pub(super) fn new() -> Self {
        let parker = Parker::new();
        // So that it is ready.
        parker.waker().wake_by_ref();
        Self {
            parker,
            is_new: Cell::new(true),
            poll: Cell::new(None),
            is_over: Cell::new(false),
            polls: Cell::new(0),
            since: Cell::new(0),
        }
    }

    pub(super) fn waker(&self) -> &Waker {
        self.parker.waker()
    }

    /// Returns what the join word of a task has that the main future awaits.
    pub(super) fn address(&self) -> usize {
        self.waker().data().addr()
    }

    /// Returns whether the main future has become ready since the last [`take`](Self::take).
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.parker.is_woken()
    }

    /// Takes note that the main future, which is ready, is going to be polled. Returns whether that
    /// is for the first time.
    pub(super) fn take(&self) -> bool {
        self.parker.take_wake();
        self.is_new.take()
    }
}
