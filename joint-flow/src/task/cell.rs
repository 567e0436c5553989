//! [`Cell`]: a future that one side polls and any other side can cancel, and the [`Driver`] that
//! polls it.
//!
//! The driver has one reference to the cell, and the handles, which may cancel, have one together.
//! The side that leaves last frees the cell (`State`). The rules for its content:
//!
//! 1. Only the side that `State` names touches the content. Each side may use the sink.
//! 2. The content is dropped field by field, in place, and is never moved. The future is therefore
//!    pinned from its first poll on.
//! 3. What runs the user's code (poll, destructors, wakers) leaves the word in a state in which a
//!    re-entrant `cancel` does nothing.

use std::{
    any::Any,
    future::Future,
    marker::PhantomData,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    ptr::NonNull,
    sync::PoisonError,
    task::{Context, Poll, Waker},
};

use super::{
    canceller::Canceller,
    nesting,
    state::{Begun, Cancelled, Left, Side, State, Suspended},
};
use crate::{payload::discard_panic, references::References};
use joint_executor::JoinHandle;
use joint_switch::{Mutex, Tracked, UnsafeCell};

/// Where a future's result goes. It lives as long as the cell.
pub(crate) trait Sink<T>: Abandon {
    /// Passes on the output, or the payload of the future's panic. The future is dropped already.
    ///
    /// # Safety
    /// It is called once, and not beside [`abandon`](Abandon::abandon).
    unsafe fn finish(&self, result: Result<T, Box<dyn Any + Send>>);
}

/// What a sink does about a future that was cancelled.
pub(crate) trait Abandon {
    /// The future was cancelled, and is dropped. `is_unused` says that no handle is left.
    ///
    /// # Safety
    /// It is called once, and not beside [`finish`](Sink::finish).
    unsafe fn abandon(&self, is_unused: bool);

    /// The task of a future that only its own thread may drop. A handle cancels this task instead.
    fn own_task(&self) -> Option<&Mutex<Option<JoinHandle<()>>>> {
        None
    }
}

/// A future that can be cancelled, without its type.
pub(crate) trait Cancel {
    /// Cancels the future for a handle. Returns whether the caller has to drop it.
    fn request(&self) -> Cancelled;

    /// Drops the future, and tells the driver. The caller calls this in a [level](super::nesting).
    ///
    /// # Safety
    /// `State::cancel` has told the caller to do so, which calls this once.
    unsafe fn drop_future(&self, is_unused: bool);

    /// Returns the number of handles, which have one reference to the cell together.
    fn handles(&self) -> &References;

    fn state(&self) -> &State;
}

impl dyn Cancel {
    /// Drops the future at once, on this thread, if it is idle. If it is being polled, the poller
    /// drops it after that poll, unless it is ready. Does nothing if the future has ended or was
    /// cancelled before.
    ///
    /// # Panics
    /// If a destructor of the future panics. The future is gone and the driver is told even then.
    pub(crate) fn cancel(&self) {
        if self.request() == Cancelled::DropFuture {
            // SAFETY: the state says so.
            nesting::now(|| unsafe { self.drop_future(false) });
        }
    }
}

struct Cell<F, S> {
    state: State,
    handles: References,
    sink: S,
    content: UnsafeCell<Content<F>>,
    _tracked: Tracked,
}

struct Content<F> {
    /// The future, or `None` after its end. It is pinned by rule 2.
    future: Option<F>,
    /// Wakes the driver, so that it ends when the future is cancelled. An executor also keeps a
    /// task for as long as it has a waker, although the future may wait for nothing.
    waker: Option<Waker>,
}

impl<F, S> Cell<F, S>
where
    F: Future,
    S: Sink<F::Output>,
{
    fn allocate(state: State, future: F, sink: S) -> NonNull<Self> {
        NonNull::from(Box::leak(Box::new(Self {
            state,
            handles: References::new(1),
            sink,
            content: UnsafeCell::new(Content {
                future: Some(future),
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
            Polled::Ended { result, waker } => {
                // SAFETY: the future has ended, which it does once.
                unsafe { self.sink.finish(result) };
                // This is another's code, so it comes last.
                drop(waker);
                Poll::Ready(())
            }
            Polled::Pending => match self.state.suspend() {
                Suspended::Idle => Poll::Pending,
                Suspended::DropFuture => {
                    // SAFETY: the state says so (rule 1).
                    unsafe { self.end_cancelled(false) }.forget();
                    Poll::Ready(())
                }
            },
        }
    }
}

impl<F, S: Abandon> Cell<F, S> {
    /// Drops the future, and then tells the sink, also if a destructor panics. What is returned
    /// wakes the driver when it is dropped.
    ///
    /// # Safety
    /// The state tells the caller to drop the future (rule 1).
    unsafe fn end_cancelled(&self, is_unused: bool) -> WakeOnDrop {
        struct Tells<'a, S: Abandon>(&'a S, bool);
        impl<S: Abandon> Drop for Tells<'_, S> {
            fn drop(&mut self) {
                // SAFETY: the future was cancelled, which happens once, and not after its end.
                unsafe { self.0.abandon(self.1) };
            }
        }
        self.content.with_mut(|it| {
            // SAFETY: passed on from the caller.
            let content = unsafe { &mut *it };
            let waker = WakeOnDrop(content.waker.take());
            let tells = Tells(&self.sink, is_unused);
            content.future().set(None);
            drop(tells);
            waker
        })
    }
}

enum Polled<T> {
    Pending,
    Ended {
        result: Result<T, Box<dyn Any + Send>>,
        waker: Option<Waker>,
    },
}

impl<F: Future> Content<F> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Polled<F::Output> {
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
        Polled::Ended {
            result,
            waker: self.waker.take(),
        }
    }

    fn remember(&mut self, waker: &Waker) {
        if !self.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
            self.waker = Some(waker.clone());
        }
    }
}

impl<F> Content<F> {
    fn future(&mut self) -> Pin<&mut Option<F>> {
        // SAFETY: rule 2.
        unsafe { Pin::new_unchecked(&mut self.future) }
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

impl<F, S: Abandon> Cancel for Cell<F, S> {
    fn request(&self) -> Cancelled {
        let Some(task) = self.sink.own_task() else {
            return self.state.cancel(Side::Handles);
        };
        let task = task.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(task);
        Cancelled::Nothing
    }

    unsafe fn drop_future(&self, is_unused: bool) {
        // SAFETY: passed on from the caller (rule 1).
        drop(unsafe { self.end_cancelled(is_unused) });
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
pub(crate) struct Driver<F, S: Abandon> {
    /// Alive by the driver's reference, which is given up at the end. `None` after that.
    cell: Option<NonNull<Cell<F, S>>>,
    _owns: PhantomData<Cell<F, S>>,
}

// SAFETY: the driver polls and drops the future, and may free the sink. What handles do with the
// sink at the same time is up to `Task`, which is sent only if that may be.
unsafe impl<F: Send, S: Abandon + Send> Send for Driver<F, S> {}
// SAFETY: nothing is done with a shared reference.
unsafe impl<F: Send, S: Abandon + Send> Sync for Driver<F, S> {}

/// Nothing in the cell is pinned with the driver.
impl<F, S: Abandon> Unpin for Driver<F, S> {}

impl<F: Future + 'static, S: Sink<F::Output> + 'static> Driver<F, S> {
    /// Returns the driver of a future, its first handle, and the sink, which lives as long as there
    /// is a driver or a handle.
    pub(crate) fn pair(future: F, sink: S) -> (Self, Canceller, NonNull<S>)
    where
        F: Send,
        S: Send,
    {
        // SAFETY: both may be dropped by any thread.
        unsafe { Self::unchecked(State::new(), future, sink) }
    }

    /// As `pair`, in a state that the caller chooses.
    ///
    /// # Safety
    /// If the future is not `Send`, the sink has a [task](Abandon::own_task), and the driver stays
    /// on this thread. If the sink is not `Send`, no handle leaves this thread.
    pub(super) unsafe fn unchecked(
        state: State,
        future: F,
        sink: S,
    ) -> (Self, Canceller, NonNull<S>) {
        let cell = Cell::allocate(state, future, sink);
        // SAFETY: the field of a cell that is alive.
        let sink = unsafe { &raw mut (*cell.as_ptr()).sink };
        // SAFETY: it is not null.
        let sink = unsafe { NonNull::new_unchecked(sink) };
        // SAFETY: the state counts a reference of handles, and these are the first.
        let canceller = unsafe { Canceller::first(cell) };
        let driver = Self {
            cell: Some(cell),
            _owns: PhantomData,
        };
        (driver, canceller, sink)
    }
}

impl<F, S: Abandon> Driver<F, S> {
    /// Gives up the reference, if that was not done before.
    fn leave(&mut self) {
        if let Some(cell) = self.cell.take() {
            // SAFETY: it came from `allocate`, and this is the one reference of the driver.
            unsafe { leave(cell, Side::Driver) };
        }
    }
}

/// Gives up a driver's reference when it is dropped.
struct Leave<'a, F, S: Abandon>(&'a mut Driver<F, S>);

impl<F, S: Abandon> Drop for Leave<'_, F, S> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl<F: Future, S: Sink<F::Output>> Future for Driver<F, S> {
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

impl<F, S: Abandon> Drop for Driver<F, S> {
    fn drop(&mut self) {
        // The reference is given up also if a destructor of the future panics.
        let this = Leave(self);
        let Some(cell) = this.0.cell else {
            return;
        };
        // SAFETY: alive by the driver's reference.
        let cell = unsafe { cell.as_ref() };
        if cell.state.cancel(Side::Driver) == Cancelled::DropFuture {
            // SAFETY: the state says so.
            nesting::now(|| unsafe { cell.drop_future(false) });
        }
    }
}
