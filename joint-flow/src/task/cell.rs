//! [`Cell`]: a future that one side polls and any other side can cancel, and the [`Driver`] that
//! polls it.
//!
//! The cell of an actor is in the memory of its task, which its driver keeps alive, and a guard of
//! the task that the handles have together. Any other cell is in a box. The driver has one
//! reference to the cell, and the handles, which may cancel, have one together. The side that
//! leaves last drops the cell (`State`). The rules for its content:
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
    mem::{self, ManuallyDrop},
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
use joint_executor::{JoinHandle, TaskGuard, spawn_now_with};
use joint_switch::{MODELLED, Retire, Tracked, UnsafeCell};

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
}

/// The part of a cell that does not depend on its types.
pub(crate) struct Head {
    pub(super) state: State,
    /// The number of handles, which have one reference to the cell together.
    pub(super) handles: References,
    is_boxed: bool,
    /// What the handles have of the task, if anything. It is written before there are handles, and
    /// taken with the last of them.
    task: UnsafeCell<Option<OwnTask>>,
}

/// The task that polls a future, as its handles know it.
enum OwnTask {
    /// The cell is in its memory.
    Around(TaskGuard),
    /// Only its own thread may drop the future. A handle cancels the task instead.
    Local(JoinHandle<()>),
    /// The handles do not cancel it.
    Uncancellable,
}

impl Head {
    fn new(is_boxed: bool) -> Self {
        Self {
            state: State::new(),
            handles: References::new(1),
            is_boxed,
            task: UnsafeCell::new(None),
        }
    }

    fn task(&self) -> Option<&OwnTask> {
        // SAFETY: the caller has a handle, and it is not written meanwhile.
        self.task.with(|task| unsafe { &*task }).as_ref()
    }

    /// # Safety
    /// The caller has the only handle.
    unsafe fn set_task(&self, task: OwnTask) {
        // SAFETY: only the handles use it.
        self.task.with_mut(|place| unsafe { *place = Some(task) });
    }

    /// Cancels the future for a handle. Returns whether the caller has to drop it.
    pub(super) fn request(&self) -> Cancelled {
        match self.task() {
            None | Some(OwnTask::Around(_)) => return self.state.cancel(Side::Handles),
            Some(OwnTask::Local(task)) => task.abort(),
            Some(OwnTask::Uncancellable) => {}
        }
        Cancelled::Nothing
    }
}

/// A future that can be cancelled, without its type.
pub(crate) trait Cancel {
    fn head(&self) -> &Head;

    /// Drops the future for a handle, and wakes the driver if that has left a waker. The caller
    /// calls this in a [level](super::nesting).
    ///
    /// # Safety
    /// `State::cancel` has told the caller to do so, which calls this once.
    unsafe fn drop_future(&self, is_unused: bool);
}

impl dyn Cancel {
    /// Drops the future at once, on this thread, if it is idle. If it is being polled, the poller
    /// drops it after that poll, unless it is ready. Does nothing if the future has ended or was
    /// cancelled before.
    ///
    /// # Panics
    /// If a destructor of the future panics. The future is gone and the driver is told even then.
    pub(crate) fn cancel(&self) {
        /// Ends the task, also if a destructor panics.
        struct EndTask<'a>(&'a Head);
        impl Drop for EndTask<'_> {
            fn drop(&mut self) {
                if let Some(OwnTask::Around(task)) = self.0.task() {
                    task.cancel();
                }
            }
        }
        if self.head().request() == Cancelled::DropFuture {
            let _end = EndTask(self.head());
            // SAFETY: the state says so.
            nesting::now(|| unsafe { self.drop_future(false) });
        }
    }
}

/// The largest cell that is kept in the memory of its task, which lives as long as the task's last
/// waker. The same as for a future of `joint::task`.
const MOST: usize = if MODELLED { 512 } else { 16 * 1024 };

struct Cell<F, S> {
    head: Head,
    sink: S,
    content: UnsafeCell<Content<F>>,
    _tracked: Tracked,
}

struct Content<F> {
    /// The future, or `None` after its end. It is pinned by rule 2.
    future: Option<F>,
    /// Wakes the driver of a boxed cell, so that it ends when the future is cancelled. An executor
    /// also keeps a task for as long as it has a waker, although the future may wait for nothing.
    waker: Option<Waker>,
}

impl<F, S> Cell<F, S>
where
    F: Future,
    S: Sink<F::Output>,
{
    fn new(head: Head, future: F, sink: S) -> Self {
        Self {
            head,
            sink,
            content: UnsafeCell::new(Content {
                future: Some(future),
                waker: None,
            }),
            _tracked: Tracked::default(),
        }
    }

    /// Returns `Ready` if the future has ended or was cancelled. Only the driver calls this.
    ///
    /// # Panics
    /// If a waiter, a destructor of a cancelled future or the waker of an earlier poll panics. The
    /// future is over then too.
    fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let Head {
            state, is_boxed, ..
        } = &self.head;
        if state.begin() == Begun::Over {
            return Poll::Ready(());
        }
        // SAFETY: the poll has begun (rule 1).
        let polled = (self.content).with_mut(|it| unsafe { (*it).poll(cx, *is_boxed) });
        match polled {
            Polled::Ended { result, waker } => {
                // SAFETY: the future has ended, which it does once.
                unsafe { self.sink.finish(result) };
                // This is another's code, so it comes last.
                drop(waker);
                Poll::Ready(())
            }
            Polled::Pending => match state.suspend() {
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
    fn poll(&mut self, cx: &mut Context<'_>, is_boxed: bool) -> Polled<F::Output> {
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let Some(future) = self.future().as_pin_mut() else {
                unreachable!("a future is polled again after its end");
            };
            let polled = future.poll(cx);
            match polled {
                Poll::Ready(_) => self.future().set(None),
                Poll::Pending if is_boxed => self.remember(cx.waker()),
                Poll::Pending => {}
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
    fn head(&self) -> &Head {
        &self.head
    }

    unsafe fn drop_future(&self, is_unused: bool) {
        // SAFETY: passed on from the caller (rule 1).
        drop(unsafe { self.end_cancelled(is_unused) });
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        self.state.retire();
        self.handles.retire();
        self.task.retire();
    }
}

/// Gives up the reference of a side, and drops the cell if it was the last one.
///
/// # Safety
/// The caller gives up this side's reference, and its task if it has one is still there.
pub(super) unsafe fn leave<C: Cancel + ?Sized>(cell: NonNull<C>, side: Side) {
    // SAFETY: the caller's reference keeps it alive until it is given up, and only the word, which
    // is atomic, is touched by that.
    let head = unsafe { cell.as_ref() }.head();
    let is_boxed = head.is_boxed;
    // Dropped last: the memory of the cell may be the task's.
    let _task = match side {
        // SAFETY: the handles alone use it, and this is the last of them.
        Side::Handles => head.task.with_mut(|task| unsafe { (*task).take() }),
        Side::Driver => None,
    };
    if head.state.leave(side) == Left::Free {
        match is_boxed {
            // SAFETY: the other side has left too, and it came from a box.
            true => drop(unsafe { Box::from_raw(cell.as_ptr()) }),
            // SAFETY: the other side has left too, and the task does not drop it.
            false => unsafe { cell.drop_in_place() },
        }
    }
}

/// Room for a cell in the memory of its task, which does not drop it.
struct InTask<F, S>(UnsafeCell<ManuallyDrop<Cell<F, S>>>);

// SAFETY: nothing is done with it but to take the cell's address.
unsafe impl<F: Send, S: Send> Send for InTask<F, S> {}
// SAFETY: as above.
unsafe impl<F: Send, S: Send> Sync for InTask<F, S> {}

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

impl<F: Future + Send + 'static, S: Sink<F::Output> + Send + 'static> Driver<F, S> {
    /// Starts a future in the memory of its task, or in a box if it does not fit there. Returns its
    /// first handle, and the sink, which lives as long as there is a handle.
    #[track_caller]
    pub(super) fn start(future: F, sink: S) -> (Canceller, NonNull<S>) {
        if size_of::<Cell<F, S>>() > MOST || align_of::<Cell<F, S>>() > align_of::<usize>() {
            let (driver, canceller, sink) = Self::pair(future, sink);
            joint_executor::spawn_now(driver).detach();
            return (canceller, sink);
        }
        let cell = Cell::new(Head::new(false), future, sink);
        let mut place = NonNull::dangling();
        let task = spawn_now_with(InTask(UnsafeCell::new(ManuallyDrop::new(cell))), |room| {
            let cell = room.0.with_mut(|cell| cell.cast());
            // SAFETY: the address of a field is not null.
            place = unsafe { NonNull::new_unchecked(cell) };
            Self::of(place)
        });
        let (canceller, sink) = Self::handles(place);
        // SAFETY: this is the first handle.
        unsafe { canceller.head().set_task(OwnTask::Around(task)) };
        (canceller, sink)
    }

    /// Starts a future that its handles do not cancel.
    #[track_caller]
    pub(super) fn start_uncancellable(future: F, sink: S) -> (Canceller, NonNull<S>) {
        let (driver, canceller, sink) = Self::pair(future, sink);
        // SAFETY: this is the first handle.
        unsafe { canceller.head().set_task(OwnTask::Uncancellable) };
        joint_executor::spawn_now(driver).detach();
        (canceller, sink)
    }

    /// Returns the driver of a future, its first handle, and the sink, which lives as long as there
    /// is a driver or a handle.
    pub(crate) fn pair(future: F, sink: S) -> (Self, Canceller, NonNull<S>) {
        Self::boxed(future, sink)
    }
}

impl<F: Future + 'static, S: Sink<F::Output> + 'static> Driver<F, S> {
    /// Starts a future that need not be `Send`. If the sink is not either, no handle may leave this
    /// thread.
    #[track_caller]
    pub(super) fn start_local(future: F, sink: S) -> (Canceller, NonNull<S>) {
        let (driver, canceller, sink) = Self::boxed(future, sink);
        let task = joint_executor::spawn_local_now(driver);
        // SAFETY: this is the first handle.
        unsafe { canceller.head().set_task(OwnTask::Local(task)) };
        (canceller, sink)
    }

    /// As `pair`. If the future is not `Send`, its task has to be set as a local one.
    fn boxed(future: F, sink: S) -> (Self, Canceller, NonNull<S>) {
        let cell = Box::new(Cell::new(Head::new(true), future, sink));
        let cell = NonNull::from(Box::leak(cell));
        let (canceller, sink) = Self::handles(cell);
        (Self::of(cell), canceller, sink)
    }

    /// Takes the driver's reference to a new cell.
    fn of(cell: NonNull<Cell<F, S>>) -> Self {
        Self {
            cell: Some(cell),
            _owns: PhantomData,
        }
    }

    /// Takes the handles' reference to a new cell, and returns the first one, and the sink.
    fn handles(cell: NonNull<Cell<F, S>>) -> (Canceller, NonNull<S>) {
        // SAFETY: alive by the reference, and by the task if it is in that.
        let sink = NonNull::from(unsafe { &cell.as_ref().sink });
        // SAFETY: the state counts a reference of handles, and these are the first.
        (unsafe { Canceller::first(cell) }, sink)
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
        if cell.head.state.cancel(Side::Driver) == Cancelled::DropFuture {
            // SAFETY: the state says so.
            nesting::now(|| unsafe { cell.end_cancelled(false) }.forget());
        }
    }
}
