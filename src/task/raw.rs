//! The task's one allocation, and everything that is done to it.
//!
//! ```text
//! Header   waker table | state word S | join word J
//! schedule function
//! stage    the future, later its output or its panic; empty once dropped or taken
//! ```
//!
//! Who touches what:
//!
//! 1. The stage belongs to the runner while a runnable exists. By completing `J` the runner passes it on: to the handle, or
//!    back to itself when the handle has detached. It is touched by nobody else.
//! 2. `J` is completed by the runner, once, and only while the state word it started from had a handle; all else on it is the
//!    handle's.
//! 3. The schedule function is shared by all who hold a reference, the runnable or the handle. Where it is stored in the task
//!    and not copied out first, whoever calls it holds a reference across the call ([`Held`]): the task may be run and freed
//!    by another thread before the call returns.
//! 4. Whoever the state word tells to free, frees: nobody else can reach the task any more.

use core::{
    future::Future,
    marker::PhantomData,
    mem::{ManuallyDrop, needs_drop},
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll, Waker},
};

use super::{
    PanicPayload, Runnable,
    state::{OnIdle, OnRelease, OnWake, Snapshot, State},
    unwind,
};
use crate::{
    completion::{Completed, Completion},
    sync::{Retire, UnsafeCell, heap},
    waker::{self, ThinWaker},
};

/// The part of a task that does not depend on its types. Its address is the task's, and a [`ThinWaker`]'s.
#[repr(C)]
pub(super) struct Header {
    waker: waker::Header,
    state: State,
    join: Completion,
}

/// What a task's types decide. The waker's table comes first: a task's waker header points to the whole.
#[repr(C)]
pub(super) struct VTable {
    waker: waker::VTable,
    /// Runs the task once.
    run: unsafe fn(Task) -> Ran,
    /// Drops the future without polling it, and completes.
    cancel: unsafe fn(Task) -> Option<ThinWaker>,
    /// Hands a new runnable to the schedule function.
    schedule: unsafe fn(Task),
    /// Moves the `Output<T>` out of the stage to the given place.
    take_output: unsafe fn(Task, NonNull<()>),
    /// Drops the `Output<T>` in the stage.
    drop_output: unsafe fn(Task),
    /// Drops the schedule function and gives the memory back.
    free: unsafe fn(Task),
    /// Whether a call of `schedule` needs a reference across it (rule 3).
    schedule_is_stored: bool,
}

/// What is in the stage of a completed task that was not cancelled.
pub(super) type Output<T> = Result<T, PanicPayload>;

/// How a run ended.
pub(crate) enum Ran {
    /// The task waits for a wake-up, or has gone.
    Idle,
    /// The task was woken while it ran, and is due to be run again.
    Again(Runnable),
    /// The task has ended. This waits for it, and has to be woken.
    Ended(Option<ThinWaker>),
}

/// How a schedule function is kept.
pub(super) trait Schedule {
    /// Whether `schedule` may use `self` after the runnable has been given away.
    const STORED: bool;

    fn schedule(&self, runnable: Runnable);
}

/// Called in place. One without size and without drop is nowhere, and so cannot vanish.
pub(super) struct InPlace<S>(pub(super) S);

impl<S: Fn(Runnable)> Schedule for InPlace<S> {
    const STORED: bool = size_of::<S>() != 0 || needs_drop::<S>();

    #[inline]
    fn schedule(&self, runnable: Runnable) {
        (self.0)(runnable);
    }
}

/// Copied out of the task before it is called.
#[cfg(feature = "std")]
pub(super) struct Copied<S>(pub(super) S);

#[cfg(feature = "std")]
impl<S: Fn(Runnable) + Copy> Schedule for Copied<S> {
    const STORED: bool = false;

    #[inline]
    fn schedule(&self, runnable: Runnable) {
        let schedule = self.0;
        schedule(runnable);
    }
}

/// The future, or its output.
union Stage<F: Future> {
    future: ManuallyDrop<F>,
    output: ManuallyDrop<Output<F::Output>>,
}

#[repr(C)]
struct Cell<F: Future, S> {
    header: Header,
    schedule: S,
    stage: UnsafeCell<Stage<F>>,
}

/// A task's address. Copies are free and own nothing; each use says why the task is alive.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Task(NonNull<Header>);

/// Allocates a task. The one runnable and the one handle that its state word starts with are the caller's to make.
pub(super) fn allocate<F: Future, S: Schedule>(future: F, schedule: S) -> Task {
    let block = heap::allocate::<Cell<F, S>>();
    // SAFETY: the table is a promoted constant, which lives for ever and is never written.
    let waker = unsafe { waker::Header::from_table((&raw const *Typed::<F, S>::VTABLE).cast()) };
    let header = Header {
        waker,
        state: State::new(),
        join: Completion::new(),
    };
    let stage = UnsafeCell::new(Stage {
        future: ManuallyDrop::new(future),
    });
    // SAFETY: the block is fresh and ours.
    unsafe {
        block.write(Cell {
            header,
            schedule,
            stage,
        })
    };
    Task(block.cast())
}

impl Task {
    /// The address, for a runnable's or a handle's `into_raw`.
    pub(super) fn as_ptr(self) -> NonNull<()> {
        self.0.cast()
    }

    /// # Safety
    /// `raw` is the address of a task.
    pub(super) unsafe fn from_ptr(raw: NonNull<()>) -> Self {
        Self(raw.cast())
    }

    fn of(header: NonNull<waker::Header>) -> Self {
        Self(header.cast())
    }

    /// # Safety
    /// The task is alive. It may vanish while the reference is in use, of which only atomic operations are made.
    #[inline]
    pub(super) unsafe fn state<'a>(self) -> &'a State {
        // SAFETY: alive by this function's contract.
        unsafe { &(*self.0.as_ptr()).state }
    }

    /// The join word.
    #[inline]
    pub(super) fn join(self) -> *const Completion {
        // SAFETY: the place is inside the allocation; nothing is read.
        unsafe { &raw const (*self.0.as_ptr()).join }
    }

    /// # Safety
    /// The task is alive.
    #[inline]
    unsafe fn vtable(self) -> &'static VTable {
        // SAFETY: alive by this function's contract.
        let header = unsafe { &raw const (*self.0.as_ptr()).waker };
        // SAFETY: as above; the field is never written.
        let table = unsafe { &*header }.table();
        // SAFETY: `allocate` made the waker header from a `VTable` that lives for ever.
        unsafe { &*table.cast::<VTable>() }
    }

    /// # Safety
    /// The caller has the runnable, and gives it up.
    #[inline]
    pub(super) unsafe fn run(self) -> Ran {
        // SAFETY: the runnable keeps the task alive.
        let vtable = unsafe { self.vtable() };
        // SAFETY: passed on from the caller.
        unsafe { (vtable.run)(self) }
    }

    /// # Safety
    /// The caller has the runnable, and gives it up.
    pub(super) unsafe fn cancel(self) -> Option<ThinWaker> {
        // SAFETY: the runnable keeps the task alive.
        let vtable = unsafe { self.vtable() };
        // SAFETY: passed on from the caller.
        unsafe { (vtable.cancel)(self) }
    }

    /// Hands a new runnable to the schedule function.
    ///
    /// # Safety
    /// The caller is the one who has to schedule, and rule 3 is kept: by a [`Held`], or by a waker or handle that lives on.
    #[inline]
    pub(super) unsafe fn schedule(self) {
        // SAFETY: a task that has to be scheduled is alive.
        let vtable = unsafe { self.vtable() };
        // SAFETY: passed on from the caller.
        unsafe { (vtable.schedule)(self) }
    }

    /// # Safety
    /// The task has completed without being cancelled, and its stage is the caller's (rule 1). It is empty after this.
    #[inline]
    pub(super) unsafe fn take_output<T>(self) -> Output<T> {
        let mut place = core::mem::MaybeUninit::<Output<T>>::uninit();
        // SAFETY: the handle, or the runner, which has given nothing up yet, keeps the task alive.
        let vtable = unsafe { self.vtable() };
        let destination = NonNull::from(&mut place).cast();
        // SAFETY: passed on from the caller; the place is good for an `Output<T>`.
        unsafe { (vtable.take_output)(self, destination) };
        // SAFETY: just written.
        unsafe { place.assume_init() }
    }

    /// # Safety
    /// As for [`take_output`](Task::take_output).
    pub(super) unsafe fn drop_output(self) {
        // SAFETY: as for `take_output`.
        let vtable = unsafe { self.vtable() };
        // SAFETY: passed on from the caller.
        unsafe { (vtable.drop_output)(self) }
    }

    /// # Safety
    /// The state word has told the caller to free (rule 4), and the stage is empty.
    #[inline]
    pub(super) unsafe fn free(self) {
        // SAFETY: alive until freed below.
        let vtable = unsafe { self.vtable() };
        // SAFETY: passed on from the caller.
        unsafe { (vtable.free)(self) }
    }

    /// A reference across calls of the schedule function, where it needs one (rule 3).
    ///
    /// # Safety
    /// The task is alive.
    pub(super) unsafe fn hold(self) -> Option<Held> {
        // SAFETY: passed on from the caller.
        let stored = unsafe { self.vtable() }.schedule_is_stored;
        stored.then(|| {
            // SAFETY: passed on from the caller.
            unsafe { self.state() }.add_waker();
            Held(self)
        })
    }

    /// Does what giving up a waker or a handle has left to do.
    ///
    /// # Safety
    /// `outcome` is what the state word said of the task. To schedule, rule 3 is kept by a [`Held`] where it needs one.
    #[inline]
    pub(super) unsafe fn after_release(self, outcome: OnRelease) {
        match outcome {
            OnRelease::Nothing => {}
            // SAFETY: the state word has said so, and the caller keeps rule 3.
            OnRelease::Schedule => unsafe { self.schedule() },
            // SAFETY: the state word has said so. No handle and a finished task: the stage is empty.
            OnRelease::Free => unsafe { self.free() },
            // SAFETY: the state word has said so.
            OnRelease::Orphan => unsafe { self.bury() },
        }
    }

    /// Schedules an orphan once, so that its executor drops the future.
    ///
    /// # Safety
    /// The task is an orphan.
    #[cold]
    unsafe fn bury(self) {
        // SAFETY: an orphan is the caller's alone.
        let stored = unsafe { self.vtable() }.schedule_is_stored;
        // SAFETY: as above.
        unsafe { self.state() }.revive_orphan(stored);
        let _held = stored.then_some(Held(self));
        // SAFETY: an orphan has no runnable, and the word now says that there is one; rule 3 by `_held`.
        unsafe { self.schedule() };
    }
}

// SAFETY: an address; what is done with it says why it may be done on that thread.
unsafe impl Send for Task {}
// SAFETY: as for `Send`.
unsafe impl Sync for Task {}

/// One waker's reference, for the time of a call.
pub(super) struct Held(Task);

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the reference has kept the task alive.
        let outcome = unsafe { self.0.state() }.drop_waker();
        // SAFETY: the state word's answer. Giving up a waker never asks to schedule but for an orphan, which holds again.
        unsafe { self.0.after_release(outcome) };
    }
}

/// What wakers do to a task: the same functions for all types.
const WAKER: waker::VTable = {
    unsafe fn clone(header: NonNull<waker::Header>) {
        // SAFETY: the caller holds a waker, or runs the task.
        unsafe { Task::of(header).state() }.add_waker();
    }
    unsafe fn wake(header: NonNull<waker::Header>) {
        let task = Task::of(header);
        // SAFETY: the caller holds a waker.
        if unsafe { task.vtable() }.schedule_is_stored {
            // The reference that is given up is held across the call.
            let _held = Held(task);
            // SAFETY: `_held` is that waker.
            return unsafe { wake_by_ref(header) };
        }
        // SAFETY: the caller holds a waker, and gives it up.
        let outcome = unsafe { task.state() }.wake_by_value();
        // SAFETY: the state word's answer; the schedule function is not stored.
        unsafe { task.after_release(outcome) }
    }
    unsafe fn wake_by_ref(header: NonNull<waker::Header>) {
        let task = Task::of(header);
        // SAFETY: the caller holds a waker, or runs the task.
        if let OnWake::Schedule = unsafe { task.state() }.wake() {
            // SAFETY: the state word's answer. A task that is being run has unconsumed wake-ups, so here the caller holds a
            // waker, which lives on.
            unsafe { task.schedule() }
        }
    }
    unsafe fn drop(header: NonNull<waker::Header>) {
        // The reference that is given up is the caller's.
        core::mem::drop(Held(Task::of(header)));
    }
    waker::VTable {
        clone,
        wake,
        wake_by_ref,
        drop,
    }
};

/// The functions of a task with a future `F` and a schedule function `S`.
struct Typed<F, S>(PhantomData<(F, S)>);

impl<F: Future, S: Schedule> Typed<F, S> {
    const VTABLE: &'static VTable = &VTable {
        waker: WAKER,
        run: Self::run,
        cancel: Self::cancel,
        schedule: Self::schedule,
        take_output: Self::take_output,
        drop_output: Self::drop_output,
        free: Self::free,
        schedule_is_stored: S::STORED,
    };

    /// # Safety
    /// The task is alive.
    #[inline]
    unsafe fn stage<'a>(task: Task) -> &'a UnsafeCell<Stage<F>> {
        let cell = task.0.cast::<Cell<F, S>>();
        // SAFETY: alive by this function's contract.
        unsafe { &(*cell.as_ptr()).stage }
    }

    /// # Safety
    /// The caller has the runnable, and gives it up.
    unsafe fn run(task: Task) -> Ran {
        // SAFETY: the runnable keeps the task alive.
        let seen = unsafe { task.state() }.run();
        if seen.is_cancelled() {
            // SAFETY: passed on from the caller.
            return Ran::Ended(unsafe { Self::cancel_from(task, seen) });
        }
        // SAFETY: passed on from the caller.
        match unwind::catch(|| unsafe { Self::poll(task) }) {
            // SAFETY: as above; the poll was pending.
            Ok(Poll::Pending) => unsafe { Self::idle(task, seen) },
            // SAFETY: as above; the poll is over, and the output is not in the stage.
            Ok(Poll::Ready(output)) => unsafe { Self::finish(task, seen, Ok(output)) },
            // SAFETY: as above.
            Err(payload) => unsafe { Self::finish(task, seen, Err(payload)) },
        }
    }

    /// # Safety
    /// The caller has the runnable, and the stage holds the future.
    #[inline]
    unsafe fn poll(task: Task) -> Poll<F::Output> {
        // SAFETY: a task's header, whose functions follow the contract. The waker is lent: it is not dropped, and the
        // runnable keeps the task alive for as long.
        let waker = unsafe { ThinWaker::from_header(task.0.cast()) };
        let waker = ManuallyDrop::new(Waker::from(waker));
        let mut cx = Context::from_waker(&waker);
        // SAFETY: the runnable keeps the task alive.
        unsafe { Self::stage(task) }.with_mut(|stage| {
            // SAFETY: the stage is the runner's (rule 1) and holds the future.
            let future = unsafe { &mut (*stage).future };
            // SAFETY: the future stays where it is until it is dropped in place.
            unsafe { Pin::new_unchecked(&mut **future) }.poll(&mut cx)
        })
    }

    /// The end of a pending run.
    ///
    /// # Safety
    /// The caller has the runnable, whose run began with `seen` and was pending; it gives it up.
    #[inline]
    unsafe fn idle(task: Task, seen: Snapshot) -> Ran {
        // SAFETY: the runnable keeps the task alive.
        match unsafe { task.state() }.idle(seen) {
            OnIdle::Leave => Ran::Idle,
            // SAFETY: woken again, so there still is a runnable, which the caller gives up.
            OnIdle::Reschedule => Ran::Again(unsafe { Runnable::from_task(task) }),
            OnIdle::Orphan => {
                // SAFETY: an orphan's stage is the caller's, and holds the future.
                let _ = unsafe { Self::drop_future(task) }.map_err(unwind::drop_quietly);
                // SAFETY: an orphan is the caller's alone, and its stage is empty now.
                unsafe { task.free() };
                Ran::Idle
            }
        }
    }

    /// The end of a run whose poll was ready or panicked.
    ///
    /// # Safety
    /// The caller has the runnable, whose run began with `seen`; the stage holds the future; it gives them up.
    #[inline]
    unsafe fn finish(task: Task, seen: Snapshot, output: Output<F::Output>) -> Ran {
        // SAFETY: the stage is the runner's (rule 1), and holds the future.
        let output = match unsafe { Self::drop_future(task) } {
            Ok(()) => output,
            Err(payload) => {
                unwind::drop_quietly(output);
                Err(payload)
            }
        };
        // SAFETY: the runnable keeps the task alive.
        unsafe { Self::stage(task) }.with_mut(|stage| {
            let full = Stage {
                output: ManuallyDrop::new(output),
            };
            // SAFETY: the stage is the runner's (rule 1), and is empty.
            unsafe { stage.write(full) };
        });
        // SAFETY: the stage holds the output.
        Ran::Ended(unsafe { Self::complete(task, seen) })
    }

    /// # Safety
    /// The caller has the runnable, and gives it up.
    unsafe fn cancel(task: Task) -> Option<ThinWaker> {
        // SAFETY: the runnable keeps the task alive.
        let seen = unsafe { task.state() }.run();
        // SAFETY: passed on from the caller.
        unsafe { Self::cancel_from(task, seen) }
    }

    /// Drops the future; the task ends without an output, or with the panic of that drop.
    ///
    /// # Safety
    /// The caller has the runnable, whose state was `seen`, and gives it up.
    unsafe fn cancel_from(task: Task, seen: Snapshot) -> Option<ThinWaker> {
        // SAFETY: the stage is the runner's (rule 1), and holds the future.
        if let Err(payload) = unsafe { Self::drop_future(task) } {
            // SAFETY: the runnable keeps the task alive.
            unsafe { Self::stage(task) }.with_mut(|stage| {
                let full = Stage {
                    output: ManuallyDrop::new(Err(payload)),
                };
                // SAFETY: the stage is the runner's (rule 1), and is empty.
                unsafe { stage.write(full) };
            });
            // SAFETY: the stage holds the panic.
            return unsafe { Self::complete(task, seen) };
        }
        if seen.has_handle() {
            // SAFETY: the runnable keeps the task alive, and the runner finishes the join word once (rule 2).
            match unsafe { Completion::raw_abandon(task.join()) } {
                Completed::Unobserved => return None,
                Completed::Wake(waiter) => return Some(waiter),
                Completed::Detached => {}
            }
        }
        // SAFETY: the handle does not take the task over, and the stage is empty.
        unsafe { release_runner(task) };
        None
    }

    /// Passes the full stage on to the handle, or disposes of it.
    ///
    /// # Safety
    /// The caller has the runnable, whose run began with `seen`; the stage holds the output; it gives them up.
    #[inline]
    unsafe fn complete(task: Task, seen: Snapshot) -> Option<ThinWaker> {
        if seen.has_handle() {
            // SAFETY: the runnable keeps the task alive, and the runner finishes the join word once (rule 2).
            match unsafe { Completion::raw_complete(task.join()) } {
                Completed::Unobserved => return None,
                Completed::Wake(waiter) => return Some(waiter),
                Completed::Detached => {}
            }
        }
        // SAFETY: the handle has gone, so the stage is the runner's again (rule 1), and it holds the output.
        let _ = unwind::catch(|| unsafe { Self::drop_output(task) }).map_err(unwind::drop_quietly);
        // SAFETY: the handle does not take the task over, and the stage is empty.
        unsafe { release_runner(task) };
        None
    }

    /// Drops the future in place. The stage is empty after this, also when the drop panics.
    ///
    /// # Safety
    /// The stage is the caller's (rule 1), and holds the future.
    #[inline]
    unsafe fn drop_future(task: Task) -> Result<(), PanicPayload> {
        // SAFETY: whose stage the caller has is alive.
        unsafe { Self::stage(task) }.with_mut(|stage| {
            // SAFETY: it holds the future.
            let future = unsafe { &mut (*stage).future };
            // SAFETY: the stage counts as empty from here on.
            unwind::catch(|| unsafe { ManuallyDrop::drop(future) })
        })
    }

    /// # Safety
    /// The task has to be scheduled, and rule 3 is kept.
    unsafe fn schedule(task: Task) {
        let cell = task.0.cast::<Cell<F, S>>();
        // SAFETY: a task that has to be scheduled is alive; rule 3 says that the reference outlives the call where it must.
        let schedule = unsafe { &(*cell.as_ptr()).schedule };
        // SAFETY: the caller has the runnable to give away.
        schedule.schedule(unsafe { Runnable::from_task(task) });
    }

    /// # Safety
    /// The stage is the caller's (rule 1) and holds the output; `place` is good for an `Output<F::Output>`.
    unsafe fn take_output(task: Task, place: NonNull<()>) {
        // SAFETY: whose stage the caller has is alive.
        unsafe { Self::stage(task) }.with_mut(|stage| {
            // SAFETY: it holds the output, and counts as empty from here on.
            let output = unsafe { (&raw const (*stage).output).read() };
            // SAFETY: the caller's place.
            unsafe { place.cast().write(output) };
        });
    }

    /// # Safety
    /// The stage is the caller's (rule 1), and holds the output.
    unsafe fn drop_output(task: Task) {
        // SAFETY: whose stage the caller has is alive.
        unsafe { Self::stage(task) }.with_mut(|stage| {
            // SAFETY: it holds the output.
            let output = unsafe { &mut (*stage).output };
            // SAFETY: the stage counts as empty from here on.
            unsafe { ManuallyDrop::drop(output) };
        });
    }

    /// # Safety
    /// The task is the caller's alone (rule 4), and its stage is empty.
    unsafe fn free(task: Task) {
        let cell = task.0.cast::<Cell<F, S>>();
        // SAFETY: the caller's alone.
        let owned = unsafe { &mut *cell.as_ptr() };
        owned.header.state.retire();
        owned.header.join.retire();
        owned.stage.retire();
        let schedule = &raw mut owned.schedule;
        let memory = Memory(cell);
        // SAFETY: the caller's alone, initialised, and not used after this.
        unsafe { schedule.drop_in_place() };
        drop(memory);
    }
}

/// A task's memory, given back also when the schedule function's drop panics.
struct Memory<T>(NonNull<T>);

impl<T> Drop for Memory<T> {
    fn drop(&mut self) {
        // SAFETY: allocated in `allocate` as a `T`, and nobody can reach it any more.
        unsafe { heap::release(self.0) };
    }
}

/// # Safety
/// The caller has the runnable of a task whose handle does not take it over, with an empty stage, and gives it up.
unsafe fn release_runner(task: Task) {
    // SAFETY: the runnable keeps the task alive.
    if unsafe { task.state() }.release_runner() {
        // SAFETY: the state word has said so.
        unsafe { task.free() }
    }
}
