//! The task's one block of memory, and all operations that depend on the types of its parts.
//!
//! ```text
//! Header    waker table | state word S | join word J | link | where it was spawned, and its id
//! metadata
//! schedule function
//! name      of a named task
//! stage     the future, later its output or its panic (the state word says which);
//!           empty once dropped or taken
//! ```
//!
//! Rules of access:
//!
//! 1. The stage belongs to the runner while a runnable exists. By completing `J` the runner passes
//!    the stage on to the handle, or back to itself if the handle has detached. No one else touches
//!    the stage.
//! 2. The runner completes `J` once, and only if the state word that it started from had a handle.
//!    All other operations on `J` are the handle's.
//! 3. Every holder of a reference, the runnable or the handle may call the schedule function. If
//!    the function is stored in the task, the caller holds a
//!    [reference](super::TaskView::reference) across the call, because another thread may run and
//!    free the task before the call returns.
//! 4. The thread that the state word tells to free the task frees it. No other thread can reach the
//!    task then.

use core::{
    future::Future,
    marker::PhantomData,
    mem::ManuallyDrop,
    panic::Location,
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll},
};

use super::{
    Builder, PanicPayload, Payload, Schedule, TaskEnd,
    builder::Name,
    header::{Head, Header, OnAgain, Ran, Task, VTable, waker},
    polled,
    schedule::is_stored,
    scheduled::{Front, Scheduled, drop_panic},
    state::Snapshot,
    storage::Place,
    unwind,
};
use crate::{completion::Ended, guard::OnDrop, waker::ThinWaker};
use joint_switch::{Retire, UnsafeCell};

/// The future, its output, or its panic. All three share one address.
#[repr(C)]
union Stage<F: Future> {
    future: ManuallyDrop<F>,
    output: ManuallyDrop<F::Output>,
    panic: ManuallyDrop<PanicPayload>,
}

#[repr(C)]
struct Cell<F: Future, S, M, N> {
    front: Front<S, M>,
    name: N,
    stage: UnsafeCell<Stage<F>>,
}

/// Allocates a task. Its state word starts with one runnable, and with one handle if `has_handle`.
/// The caller must make both.
#[inline]
#[track_caller]
pub(super) fn allocate<'a, F: Future, S: Schedule<M>, M: 'a, N: Name, P: Place>(
    builder: Builder<M, N, P>,
    has_handle: bool,
    future: impl FnOnce(&'a M) -> F,
    schedule: S,
) -> Task {
    let Builder {
        place,
        metadata,
        name,
        settings,
    } = builder;
    let vtable = match settings.propagate_panic {
        true => Typed::<F, S, M, N, P>::PROPAGATING,
        false => Typed::<F, S, M, N, P>::PASSING,
    };
    let spawned = settings.spawned.unwrap_or(Location::caller());
    let header = Header::new(vtable, has_handle, spawned);
    let cell = place.allocate::<Cell<F, S, M, N>>();
    let task = Task(cell.cast());
    // Write each part directly to its place, so that the task is not put together on the stack
    // first.
    // SAFETY: the place is inside the fresh block.
    let place = unsafe { &raw mut (*cell.as_ptr()).front };
    let head = Head { header, metadata };
    // SAFETY: fresh and ours.
    unsafe { place.write(Front { head, schedule }) };
    // SAFETY: as above.
    let place = unsafe { &raw mut (*cell.as_ptr()).name };
    // SAFETY: as above.
    unsafe { place.write(name) };
    // SAFETY: everything but the stage is written, and no one else knows the task.
    let unmade = OnDrop(|| unwind::quietly(|| unsafe { drop_parts::<P, _, _, _, _>(cell) }));
    // SAFETY: the header and the metadata were just written. The future may keep the reference,
    // because it is dropped before the metadata.
    let view = unsafe { task.view() };
    view.header().state.place();
    let metadata = view.metadata();
    // SAFETY: as above.
    let place = unsafe { &raw mut (*cell.as_ptr()).stage };
    let stage = UnsafeCell::new(Stage {
        future: ManuallyDrop::new(future(metadata)),
    });
    // SAFETY: as above.
    unsafe { place.write(stage) };
    core::mem::forget(unmade);
    task
}

/// Drops the metadata, the name and the schedule function, and frees the memory, even if one of
/// these drops panics.
///
/// # Safety
/// The task belongs to the caller alone, and is not used after this. Its stage is empty.
#[inline]
unsafe fn drop_parts<P: Place, F: Future, S, M, N>(cell: NonNull<Cell<F, S, M, N>>) {
    // SAFETY: allocated in `allocate`, and no one can reach it after this.
    let _memory = OnDrop(|| unsafe { P::release(cell) });
    // SAFETY: everything but the stage is initialised, and not used after this. The stage is a
    // union, of which nothing is dropped.
    unsafe { cell.drop_in_place() };
}

/// A task that is alive, with a future `F`, a schedule function `S`, metadata `M` and a name `N`,
/// in a place `P`.
struct Typed<'a, F, S, M, N, P> {
    scheduled: Scheduled<'a, S, M>,
    types: PhantomData<&'a (F, N, P)>,
}

impl<'a, F: Future, S: Schedule<M>, M, N: Name, P: Place> Typed<'a, F, S, M, N, P> {
    const PROPAGATING: &'static VTable = &Self::vtable(true);
    const PASSING: &'static VTable = &Self::vtable(false);

    const fn vtable(propagate_panic: bool) -> VTable {
        VTable {
            waker: waker(S::FAMILY),
            run: Self::run,
            cancel: Self::cancel,
            schedule: Scheduled::<S, M>::schedule,
            output: Self::output,
            drop_output: Self::drop_output,
            free: Self::free,
            name: Self::name,
            schedule_is_stored: is_stored::<S>(),
            #[cfg(feature = "alloc")]
            has_heap: P::HAS_HEAP,
            propagate_panic,
        }
    }

    /// # Safety
    /// The task is alive as long as the value is used, and has these types.
    #[inline(always)]
    unsafe fn of(task: Task) -> Self {
        // SAFETY: passed on from the caller.
        let scheduled = unsafe { Scheduled::of(task) };
        Self {
            scheduled,
            types: PhantomData,
        }
    }

    #[inline(always)]
    fn cell(&self) -> *mut Cell<F, S, M, N> {
        self.scheduled.view.task.0.cast().as_ptr()
    }

    #[inline]
    fn stage(&self) -> &'a UnsafeCell<Stage<F>> {
        // SAFETY: the task is alive.
        unsafe { &(*self.cell()).stage }
    }

    /// # Safety
    /// The caller has the runnable, and gives it up.
    unsafe fn run(task: Task, again: OnAgain) -> Ran {
        // SAFETY: the runnable keeps the task alive.
        let this = unsafe { Self::of(task) };
        let seen = this.scheduled.view.header().state.load();
        if seen.is_cancelled() {
            // SAFETY: passed on from the caller.
            return Ran::Ended(unsafe { this.cancel_from(seen) });
        }
        // SAFETY: passed on from the caller.
        let poll = || unwind::catch(|| unsafe { this.poll() });
        let (result, wakes_itself) = polled::watch(task, poll);
        match result {
            // SAFETY: passed on from the caller; the poll was pending.
            Ok(Poll::Pending) => unsafe { this.scheduled.idle(seen.less(wakes_itself), again) },
            // SAFETY: passed on from the caller; the poll is over, and the output is not in the
            // stage.
            Ok(Poll::Ready(output)) => unsafe { this.finish(seen, output) },
            // SAFETY: passed on from the caller; the panic has emptied the stage.
            Err(payload) => unsafe { this.scheduled.finish_panicked(seen, payload) },
        }
    }

    /// Polls the future. If the poll panics, the future is dropped during unwinding, as a local
    /// variable would be. The future's destructor therefore sees that the thread is panicking, and
    /// a lock in it is poisoned. The stage is empty then.
    ///
    /// # Safety
    /// The caller has the runnable, and the stage holds the future.
    #[inline]
    unsafe fn poll(&self) -> Poll<F::Output> {
        // SAFETY: a task's header, whose functions follow the contract. The waker is only borrowed:
        // it is not dropped, and the runnable keeps the task alive meanwhile.
        let waker = unsafe { ThinWaker::waker_from_header(self.scheduled.view.task.0.cast()) };
        let waker = ManuallyDrop::new(waker);
        let mut cx = Context::from_waker(&waker);
        self.stage().with_mut(|stage| {
            // SAFETY: the stage is the runner's (rule 1), and holds the future, which is not used
            // after its poll has panicked.
            let dropped = || unsafe { stage.cast::<F>().drop_in_place() };
            let panics = OnDrop(|| unwind::quietly(dropped));
            // SAFETY: the stage is the runner's (rule 1) and holds the future.
            let future = unsafe { &mut *stage.cast::<F>() };
            // SAFETY: the future stays where it is until it is dropped in place.
            let poll = unsafe { Pin::new_unchecked(future) }.poll(&mut cx);
            core::mem::forget(panics);
            poll
        })
    }

    /// Ends a run whose poll was ready.
    ///
    /// # Safety
    /// The caller has the runnable, whose run began with `seen`, and gives it up. The stage holds
    /// the future.
    #[inline(always)]
    unsafe fn finish(&self, seen: Snapshot, output: F::Output) -> Ran {
        // SAFETY: the stage is the runner's (rule 1), and holds the future.
        if let Err(payload) = unsafe { self.drop_future(TaskEnd::Finished) } {
            unwind::drop_quietly(output);
            // SAFETY: the stage is empty, and the rest is passed on from the caller.
            return Ran::Ended(unsafe { self.scheduled.end_in_panic(seen, payload) });
        }
        self.stage().with_mut(|stage| {
            // SAFETY: the stage is the runner's (rule 1), is empty, and has room for the output.
            unsafe { stage.cast::<F::Output>().write(output) };
        });
        // SAFETY: the stage holds the output, and the rest is passed on from the caller.
        let waiter = unsafe {
            self.scheduled
                .complete(seen, Ended::Done, Self::drop_output)
        };
        Ran::Ended(waiter)
    }

    /// # Safety
    /// The caller has the runnable, and gives it up.
    unsafe fn cancel(task: Task) -> Option<ThinWaker> {
        // SAFETY: the runnable keeps the task alive.
        let this = unsafe { Self::of(task) };
        let seen = this.scheduled.view.header().state.load();
        // SAFETY: passed on from the caller.
        unsafe { this.cancel_from(seen) }
    }

    /// Drops the future. The task ends without an output, or with the panic of that drop.
    ///
    /// # Safety
    /// The caller has the runnable, whose state was `seen`, and gives it up.
    #[cold]
    unsafe fn cancel_from(&self, seen: Snapshot) -> Option<ThinWaker> {
        // SAFETY: the stage is the runner's (rule 1), and holds the future.
        if let Err(payload) = unsafe { self.drop_future(TaskEnd::Cancelled) } {
            // SAFETY: the stage is empty, and the rest is passed on from the caller.
            return unsafe { self.scheduled.end_in_panic(seen, payload) };
        }
        // SAFETY: the stage is empty, and the rest is passed on from the caller.
        unsafe {
            self.scheduled
                .complete(seen, Ended::Abandoned, Self::drop_output)
        }
    }

    /// Drops the future in place, for a task that ends as `how` says. The stage is empty after
    /// this, even if the drop panics.
    ///
    /// # Safety
    /// The stage is the caller's (rule 1), and holds the future.
    #[inline]
    unsafe fn drop_future(&self, how: TaskEnd) -> Result<(), Payload> {
        let dropped = self.stage().with_mut(|stage| {
            // SAFETY: it holds the future, and counts as empty from here on.
            unwind::catch(|| unsafe { stage.cast::<F>().drop_in_place() })
        });
        let panic = dropped.as_ref().err();
        self.scheduled.tell_end(how, panic);
        dropped
    }

    /// # Safety
    /// The task is alive.
    unsafe fn name(task: Task) -> Option<NonNull<str>> {
        // SAFETY: alive by this function's contract.
        let cell = unsafe { Self::of(task) }.cell();
        // SAFETY: as above; the name is never written.
        unsafe { &(*cell).name }.get().map(NonNull::from)
    }

    /// # Safety
    /// The stage is the caller's (rule 1).
    unsafe fn output(task: Task) -> NonNull<()> {
        // SAFETY: a task whose stage the caller has is alive.
        let stage = unsafe { Self::of(task) }.stage().with_mut(|stage| stage);
        // SAFETY: an address in the allocation is not null.
        unsafe { NonNull::new_unchecked(stage.cast()) }
    }

    /// Drops a result that was not taken. A panic of that drop is caught and dropped, because it is
    /// up to chance whether the handle or the run drops the result, and the panic must not pass
    /// through either.
    ///
    /// # Safety
    /// The stage is the caller's (rule 1), and holds the output, or the panic if the state word
    /// says so.
    unsafe fn drop_output(task: Task) {
        // SAFETY: a task whose stage the caller has is alive.
        let this = unsafe { Self::of(task) };
        let is_panicked = this.scheduled.view.header().state.snapshot().is_panicked();
        let dropped = this.stage().with_mut(|stage| match is_panicked {
            // SAFETY: it holds the panic, and counts as empty from here on.
            true => unsafe { drop_panic(stage.cast()) },
            // SAFETY: it holds the output, and counts as empty from here on.
            false => unwind::catch(|| unsafe { stage.cast::<F::Output>().drop_in_place() }),
        });
        let _ = dropped.map_err(unwind::drop_quietly);
    }

    /// # Safety
    /// The task belongs to the caller alone (rule 4), and its stage is empty.
    unsafe fn free(task: Task) {
        let cell = task.0.cast::<Cell<F, S, M, N>>();
        // SAFETY: the task belongs to the caller alone.
        let owned = unsafe { &mut *cell.as_ptr() };
        if owned.front.head.header.origin.has_id() {
            // SAFETY: passed on from the caller.
            return unsafe { task.free_with_id() };
        }
        owned.front.head.header.retire();
        owned.stage.retire();
        // SAFETY: the task belongs to the caller alone, its stage is empty, and it is not used
        // after this.
        unsafe { drop_parts::<P, _, _, _, _>(cell) };
    }
}
