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
//!    and not copied out first, whoever calls it holds a reference across the call ([`Held`](super::header::Held)): the task may be run and freed
//!    by another thread before the call returns.
//! 4. Whoever the state word tells to free, frees: nobody else can reach the task any more.

use core::{
    future::Future,
    marker::PhantomData,
    mem::{ManuallyDrop, needs_drop},
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll},
};

use super::{
    PanicPayload, Runnable,
    header::{Header, Output, Ran, Task, VTable, WAKER},
    state::{OnIdle, Snapshot},
    unwind,
};
use crate::{
    completion::{Completed, Completion},
    sync::{Retire, UnsafeCell, heap},
    waker::ThinWaker,
};

/// How a schedule function is kept.
pub(super) trait Schedule {
    /// Whether `schedule` may use `self` after the runnable has been given away.
    const STORED: bool;

    /// # Safety
    /// `this` is alive up to the call, and where it is [`STORED`](Self::STORED) also across it.
    unsafe fn schedule(this: NonNull<Self>, runnable: Runnable);
}

/// Called in place. One without size and without drop is nowhere, and so cannot vanish.
pub(super) struct InPlace<S>(pub(super) S);

impl<S: Fn(Runnable)> Schedule for InPlace<S> {
    const STORED: bool = size_of::<S>() != 0 || needs_drop::<S>();

    #[inline]
    unsafe fn schedule(this: NonNull<Self>, runnable: Runnable) {
        // SAFETY: alive across the call by this function's contract, or without a place that could vanish.
        let schedule = unsafe { this.as_ref() };
        (schedule.0)(runnable);
    }
}

/// Copied out of the task before it is called.
#[cfg(feature = "std")]
pub(super) struct Copied<S>(pub(super) S);

#[cfg(feature = "std")]
impl<S: Fn(Runnable) + Copy> Schedule for Copied<S> {
    const STORED: bool = false;

    /// Takes no `&self`: a reference that is an argument has to stay valid until the function returns.
    #[inline]
    unsafe fn schedule(this: NonNull<Self>, runnable: Runnable) {
        // SAFETY: alive by this function's contract.
        let schedule = unsafe { (*this.as_ptr()).0 };
        schedule(runnable);
    }
}

/// The future, or its output: both at its address.
#[repr(C)]
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

/// Allocates a task. The one runnable and the one handle that its state word starts with are the caller's to make.
pub(super) fn allocate<F: Future, S: Schedule>(future: F, schedule: S) -> Task {
    let block = heap::allocate::<Cell<F, S>>();
    let header = Header::new(Typed::<F, S>::VTABLE);
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
            Err(payload) => unsafe { Self::finish_panicked(task, seen, payload) },
        }
    }

    /// # Safety
    /// The caller has the runnable, and the stage holds the future.
    #[inline]
    unsafe fn poll(task: Task) -> Poll<F::Output> {
        // SAFETY: a task's header, whose functions follow the contract. The waker is lent: it is not dropped, and the
        // runnable keeps the task alive for as long.
        let waker = ManuallyDrop::new(unsafe { ThinWaker::waker_of_header(task.0.cast()) });
        let mut cx = Context::from_waker(&waker);
        // SAFETY: the runnable keeps the task alive.
        unsafe { Self::stage(task) }.with_mut(|stage| {
            // SAFETY: the stage is the runner's (rule 1) and holds the future.
            let future = unsafe { &mut *stage.cast::<F>() };
            // SAFETY: the future stays where it is until it is dropped in place.
            unsafe { Pin::new_unchecked(future) }.poll(&mut cx)
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

    /// The end of a run whose poll panicked.
    ///
    /// # Safety
    /// As for [`finish`](Self::finish).
    #[cold]
    unsafe fn finish_panicked(task: Task, seen: Snapshot, payload: PanicPayload) -> Ran {
        // SAFETY: passed on from the caller.
        unsafe { Self::finish(task, seen, Err(payload)) }
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
            // SAFETY: it holds the future, and counts as empty from here on.
            unwind::catch(|| unsafe { stage.cast::<F>().drop_in_place() })
        })
    }

    /// # Safety
    /// The task has to be scheduled, and rule 3 is kept.
    unsafe fn schedule(task: Task) {
        let cell = task.0.cast::<Cell<F, S>>();
        // SAFETY: a task that has to be scheduled is alive; the place is computed, and nothing is read.
        let schedule = unsafe { &raw mut (*cell.as_ptr()).schedule };
        // SAFETY: a place inside the allocation.
        let schedule = unsafe { NonNull::new_unchecked(schedule) };
        // SAFETY: the caller has the runnable to give away.
        let runnable = unsafe { Runnable::from_task(task) };
        // SAFETY: alive up to the call, and by rule 3 across it where it is stored.
        unsafe { S::schedule(schedule, runnable) };
    }

    /// # Safety
    /// The stage is the caller's (rule 1) and holds the output; `place` is good for an `Output<F::Output>`.
    unsafe fn take_output(task: Task, place: NonNull<()>) {
        // SAFETY: whose stage the caller has is alive.
        unsafe { Self::stage(task) }.with_mut(|stage| {
            // SAFETY: it holds the output, and counts as empty from here on; the caller's place is another one.
            unsafe {
                stage
                    .cast::<Output<F::Output>>()
                    .copy_to_nonoverlapping(place.cast().as_ptr(), 1)
            };
        });
    }

    /// # Safety
    /// The stage is the caller's (rule 1), and holds the output.
    unsafe fn drop_output(task: Task) {
        // SAFETY: whose stage the caller has is alive.
        unsafe { Self::stage(task) }.with_mut(|stage| {
            // SAFETY: it holds the output, and counts as empty from here on.
            unsafe { stage.cast::<Output<F::Output>>().drop_in_place() };
        });
    }

    /// # Safety
    /// The task is the caller's alone (rule 4), and its stage is empty.
    unsafe fn free(task: Task) {
        let cell = task.0.cast::<Cell<F, S>>();
        // SAFETY: the caller's alone.
        let owned = unsafe { &mut *cell.as_ptr() };
        owned.header.retire();
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
