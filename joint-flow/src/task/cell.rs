//! [`Cell`]: a future that one side polls and any other side can cancel, and the [`Driver`] that
//! polls it.
//!
//! The driver has one reference to the cell, and the handles, which may cancel, have one together.
//! The side that leaves last frees the cell (`State`). The rules for its content:
//!
//! 1. Only the side that `State` names touches the content.
//! 2. The content is dropped field by field, in place, and is never moved. The future is therefore
//!    pinned from its first poll on.
//! 3. What runs the user's code (poll, destructors, wakers) leaves the word in a state in which a
//!    re-entrant `cancel` does nothing.

use std::{
    any::Any,
    future::Future,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll, Waker},
};

use super::{
    canceller::Canceller,
    nesting,
    state::{Begun, Cancelled, Left, Side, State, Suspended},
};
use crate::{payload::discard_panic, references::References};
use joint_switch::{Tracked, UnsafeCell};

/// Where a future's result goes. If the future is cancelled, this is dropped instead.
pub(crate) trait Sink<T> {
    /// Passes on the output, or the payload of the future's panic. The future is dropped already.
    fn finish(self, result: Result<T, Box<dyn Any + Send>>);
}

/// A future that can be cancelled, without its type.
pub(crate) trait Cancel: Send + Sync {
    /// Drops the future at once, on this thread, if it is idle. If it is being polled, the poller
    /// drops it after that poll, unless it is ready. Does nothing if the future has ended or was
    /// cancelled before.
    ///
    /// # Panics
    /// If a destructor of the future panics. The future is gone and the driver is told even then.
    fn cancel(&self);

    /// Drops the future, and tells the driver. The caller calls this in a [level](super::nesting).
    ///
    /// # Safety
    /// `State::cancel` has told the caller to do so, which calls this once.
    unsafe fn drop_future(&self);

    /// Returns the number of handles, which have one reference to the cell together.
    fn handles(&self) -> &References;

    fn state(&self) -> &State;
}

struct Cell<F, S> {
    state: State,
    handles: References,
    content: UnsafeCell<Content<F, S>>,
    _tracked: Tracked,
}

struct Content<F, S> {
    /// The future, or `None` after its end. It is pinned by rule 2.
    future: Option<F>,
    /// Where the result goes, or `None` after the end.
    sink: Option<S>,
    /// Wakes the driver, so that it ends when the future is cancelled. An executor also keeps a
    /// task for as long as it has a waker, although the future may wait for nothing.
    waker: Option<Waker>,
}

// SAFETY: the content is used by one thread at a time (rule 1), and each of its fields is `Send`.
unsafe impl<F: Send, S: Send> Send for Cell<F, S> {}
// SAFETY: as for `Send`. A shared reference gives no shared access to the content.
unsafe impl<F: Send, S: Send> Sync for Cell<F, S> {}

impl<F, S> Cell<F, S>
where
    F: Future,
    S: Sink<F::Output>,
{
    fn allocate(state: State, future: F, sink: S) -> NonNull<Self> {
        NonNull::from(Box::leak(Box::new(Self {
            state,
            handles: References::new(1),
            content: UnsafeCell::new(Content {
                future: Some(future),
                sink: Some(sink),
                waker: None,
            }),
            _tracked: Tracked::default(),
        })))
    }

    /// Returns `Ready` if the future has ended or was cancelled. Only the driver calls this.
    ///
    /// # Panics
    /// If a waiter, a destructor of a cancelled future or the waker of an earlier poll panics. The
    /// future is over then too.
    fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.state.begin() == Begun::Over {
            return Poll::Ready(());
        }
        // SAFETY: the poll has begun (rule 1).
        let polled = self.content.with_mut(|it| unsafe { (*it).poll(cx) });
        match polled {
            Polled::Ended {
                result,
                sink,
                waker,
            } => {
                sink.finish(result);
                // This is another's code, so it comes last.
                drop(waker);
                Poll::Ready(())
            }
            Polled::Pending => match self.state.suspend() {
                Suspended::Idle => Poll::Pending,
                Suspended::DropFuture => {
                    // SAFETY: the state says so (rule 1).
                    let waker = self.content.with_mut(|it| unsafe { (*it).cancel() });
                    waker.forget();
                    Poll::Ready(())
                }
            },
        }
    }
}

enum Polled<T, S> {
    Pending,
    Ended {
        result: Result<T, Box<dyn Any + Send>>,
        sink: S,
        waker: Option<Waker>,
    },
}

impl<F: Future, S: Sink<F::Output>> Content<F, S> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Polled<F::Output, S> {
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let Some(future) = self.future().as_pin_mut() else {
                unreachable!("a future is polled again after its end");
            };
            let polled = future.poll(cx);
            match polled {
                Poll::Ready(_) => self.future().set(None),
                Poll::Pending => self.remember(cx.waker()),
            }
            polled
        }));
        let result = match polled {
            Ok(Poll::Pending) => return Polled::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(payload) => {
                // The panic of a destructor is dropped: the first one is the result.
                discard_panic(|| self.future().set(None));
                Err(payload)
            }
        };
        match self.sink.take() {
            Some(sink) => Polled::Ended {
                result,
                sink,
                waker: self.waker.take(),
            },
            None => unreachable!("a future ends twice"),
        }
    }

    fn remember(&mut self, waker: &Waker) {
        if !self.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
            self.waker = Some(waker.clone());
        }
    }
}

impl<F, S> Content<F, S> {
    fn future(&mut self) -> Pin<&mut Option<F>> {
        // SAFETY: rule 2.
        unsafe { Pin::new_unchecked(&mut self.future) }
    }

    /// Drops the future, and then the sink, also if a destructor panics. What is returned wakes the
    /// driver when it is dropped.
    fn cancel(&mut self) -> WakeOnDrop {
        let waker = WakeOnDrop(self.waker.take());
        let sink = self.sink.take();
        self.future().set(None);
        drop(sink);
        waker
    }
}

struct WakeOnDrop(Option<Waker>);

impl WakeOnDrop {
    /// Drops the waker without waking it: the driver is here, and is about to be ready.
    fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        if let Some(waker) = self.0.take() {
            waker.wake();
        }
    }
}

impl<F: Send, S: Send> Cancel for Cell<F, S> {
    fn cancel(&self) {
        if self.state.cancel() == Cancelled::DropFuture {
            // SAFETY: the state says so.
            nesting::now(|| unsafe { self.drop_future() });
        }
    }

    unsafe fn drop_future(&self) {
        // SAFETY: passed on from the caller (rule 1).
        drop(self.content.with_mut(|it| unsafe { (*it).cancel() }));
    }

    fn handles(&self) -> &References {
        &self.handles
    }

    fn state(&self) -> &State {
        &self.state
    }
}

impl<F, S> Drop for Cell<F, S> {
    fn drop(&mut self) {
        self.state.retire();
        self.handles.retire();
    }
}

/// Gives up the reference of a side, and frees the cell if it was the last one.
///
/// # Safety
/// The caller gives up this side's reference, and the cell came from a box.
pub(super) unsafe fn leave<C: Cancel + ?Sized>(cell: NonNull<C>, side: Side) {
    // SAFETY: the caller's reference keeps it alive until it is given up, and only the word, which
    // is atomic, is touched by that.
    let state = unsafe { cell.as_ref() }.state();
    if state.leave(side) == Left::Free {
        // SAFETY: the other side has left too, and it came from a box.
        drop(unsafe { Box::from_raw(cell.as_ptr()) });
    }
}

/// Polls the future of a cell. It is ready once the future has ended or was cancelled, and cancels
/// the future if it is dropped before.
pub(crate) struct Driver<F: Future + Send, S: Sink<F::Output> + Send> {
    /// Alive by the driver's reference, which is given up at the end. `None` after that.
    cell: Option<NonNull<Cell<F, S>>>,
}

// SAFETY: the cell is `Send` and `Sync`, and any thread may free it.
unsafe impl<F: Future + Send, S: Sink<F::Output> + Send> Send for Driver<F, S> {}
// SAFETY: nothing is done with a shared reference.
unsafe impl<F: Future + Send, S: Sink<F::Output> + Send> Sync for Driver<F, S> {}

/// Nothing in the cell is pinned with the driver.
impl<F: Future + Send, S: Sink<F::Output> + Send> Unpin for Driver<F, S> {}

impl<F: Future + Send + 'static, S: Sink<F::Output> + Send + 'static> Driver<F, S> {
    /// Returns the driver of a future, and its first handle.
    pub(crate) fn pair(future: F, sink: S) -> (Self, Canceller) {
        let cell = Cell::allocate(State::new(), future, sink);
        // SAFETY: the state counts a reference of handles, and these are the first.
        let canceller = unsafe { Canceller::first(cell) };
        (Self { cell: Some(cell) }, canceller)
    }
}

impl<F: Future + Send, S: Sink<F::Output> + Send> Driver<F, S> {
    /// Returns the driver of a future that has no handles.
    pub(crate) fn alone(future: F, sink: S) -> Self {
        let cell = Cell::allocate(State::without_handles(), future, sink);
        Self { cell: Some(cell) }
    }

    /// Gives up the reference, if that was not done before.
    fn leave(&mut self) {
        if let Some(cell) = self.cell.take() {
            // SAFETY: it came from `allocate`, and this is the one reference of the driver.
            unsafe { leave(cell, Side::Driver) };
        }
    }
}

/// Gives up a driver's reference when it is dropped.
struct Leave<'a, F: Future + Send, S: Sink<F::Output> + Send>(&'a mut Driver<F, S>);

impl<F: Future + Send, S: Sink<F::Output> + Send> Drop for Leave<'_, F, S> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl<F: Future + Send, S: Sink<F::Output> + Send> Future for Driver<F, S> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(cell) = self.cell else {
            return Poll::Ready(());
        };
        // Given up also if a waker or a destructor panics: the future is over then.
        let leave = Leave(&mut self);
        // SAFETY: alive by the driver's reference.
        let polled = unsafe { cell.as_ref() }.poll(cx);
        if polled.is_pending() {
            mem::forget(leave);
        }
        polled
    }
}

impl<F: Future + Send, S: Sink<F::Output> + Send> Drop for Driver<F, S> {
    fn drop(&mut self) {
        // The reference is given up also if a destructor of the future panics.
        let this = Leave(self);
        if let Some(cell) = this.0.cell {
            // SAFETY: alive by the driver's reference.
            unsafe { cell.as_ref() }.cancel();
        }
    }
}
