//! What a task does that does not depend on its future, but on its schedule function and its
//! metadata: most of it is compiled once for all tasks of an executor. The rules of access are
//! those of `cell.rs`.

use core::{marker::PhantomData, mem::ManuallyDrop};

use super::{
    EndedTask, PanicPayload, Payload, PendingTask, Runnable, Schedule, ScheduleInfo, TaskEnd,
    TaskView,
    header::{Head, OnAgain, Ran, Task},
    message_of,
    schedule::is_stored,
    state::{Finisher, OnIdle, Snapshot},
    unwind,
};
use crate::{
    completion::{Completed, Completion, Ended},
    waker::ThinWaker,
};

/// The part of a task's memory that does not depend on its future.
#[repr(C)]
pub(super) struct Front<S, M> {
    pub(super) head: Head<M>,
    pub(super) schedule: S,
}

/// A task that is alive, with a schedule function `S` and metadata `M`.
pub(super) struct Scheduled<'a, S, M> {
    pub(super) view: TaskView<'a, M>,
    schedule: PhantomData<&'a S>,
}

impl<'a, S: Schedule<M>, M> Scheduled<'a, S, M> {
    /// # Safety
    /// The task is alive as long as the value is used, and has these types.
    #[inline(always)]
    pub(super) unsafe fn of(task: Task) -> Self {
        // SAFETY: passed on from the caller.
        let view = unsafe { task.view() };
        Self {
            view,
            schedule: PhantomData,
        }
    }

    /// Returns the schedule function, for its hooks.
    #[inline(always)]
    fn hooks(&self) -> &'a S {
        let front = self.view.task.0.cast::<Front<S, M>>();
        // SAFETY: the task is alive and begins with this, and the field is never written.
        unsafe { &(*front.as_ptr()).schedule }
    }

    /// Ends a run whose poll was pending.
    ///
    /// # Safety
    /// The caller has the runnable, whose run was pending and consumes the wake-ups of `seen`, and
    /// gives it up.
    #[inline(always)]
    pub(super) unsafe fn idle(&self, seen: Snapshot, again: OnAgain) -> Ran {
        let view = self.view;
        let why = || "a schedule function's `pending` panicked";
        unwind::or_abort(why, || self.hooks().pending(&PendingTask { view, seen }));
        match self.view.header().state.idle(seen) {
            OnIdle::Leave => Ran::Idle,
            OnIdle::Reschedule => {
                if let OnAgain::Schedule = again {
                    let info = ScheduleInfo {
                        woken_while_running: true,
                    };
                    let _held = is_stored::<S>().then(|| self.view.reference());
                    // SAFETY: the task was woken again, so there is a runnable, which no one else
                    // has. `_held` keeps rule 3.
                    unsafe { Self::schedule(self.view.task, info) };
                }
                Ran::Again
            }
            // SAFETY: the caller still has the runnable, and the stage holds the future.
            OnIdle::Cancel => Ran::Ended(unsafe { (self.view.vtable().cancel)(self.view.task) }),
            OnIdle::Orphan => {
                // An orphan belongs to the caller alone. From here on it counts as running, because
                // `ended` may make a waker of it.
                self.view.header().state.revive_orphan(false);
                // SAFETY: the word says that there is a runnable, and the stage holds the future.
                let waiter = unsafe { (self.view.vtable().cancel)(self.view.task) };
                debug_assert!(waiter.is_none(), "an orphan has no waiter");
                Ran::Idle
            }
        }
    }

    /// Ends a run whose poll panicked.
    ///
    /// # Safety
    /// The caller has the runnable, whose run began with `seen`, and gives it up. The stage is
    /// empty.
    #[cold]
    pub(super) unsafe fn finish_panicked(&self, seen: Snapshot, payload: Payload) -> Ran {
        self.tell_end(TaskEnd::Panicked, Some(&payload));
        if self.view.vtable().propagate_panic {
            // SAFETY: passed on from the caller.
            return Ran::Ended(unsafe { self.end_in_panic(seen, payload) });
        }
        let drop_output = self.view.vtable().drop_output;
        // SAFETY: passed on from the caller.
        let waiter = unsafe { self.complete(seen, Ended::Abandoned, drop_output) };
        let why = || "waking the waiter of a panicked task panicked again";
        unwind::or_abort(why, || waiter.map(ThinWaker::wake));
        unwind::resume(payload)
    }

    /// Ends the task with a panic as its result.
    ///
    /// # Safety
    /// The caller has the runnable, whose run began with `seen`, and gives it up. The stage is
    /// empty.
    #[cold]
    pub(super) unsafe fn end_in_panic(
        &self,
        seen: Snapshot,
        payload: Payload,
    ) -> Option<ThinWaker> {
        let payload = PanicPayload::of(self.view, payload);
        // SAFETY: the stage is the runner's (rule 1).
        let stage = unsafe { (self.view.vtable().output)(self.view.task) };
        // SAFETY: the stage is empty, and has room for a panic.
        unsafe { stage.cast::<PanicPayload>().write(payload) };
        self.view.header().state.set_panicked();
        let drop_output = self.view.vtable().drop_output;
        // SAFETY: the stage holds the panic, and the state word says so.
        unsafe { self.complete(seen, Ended::Done, drop_output) }
    }

    /// Ends the task. If it has a result, this passes the full stage on to the handle, or drops its
    /// content if there is no handle.
    ///
    /// # Safety
    /// The caller has the runnable, whose run began with `seen`, and gives it up. The stage holds
    /// the result if `how` says that there is one, and is empty otherwise. `drop_output` is that of
    /// the task's table.
    #[inline(always)]
    pub(super) unsafe fn complete(
        &self,
        seen: Snapshot,
        how: Ended,
        drop_output: unsafe fn(Task),
    ) -> Option<ThinWaker> {
        let join = &self.view.header().join;
        let completed = match seen.has_handle() {
            false => Completed::Detached,
            // SAFETY: the runnable keeps the task alive, and the runner finishes the join word only
            // once (rule 2).
            true => unsafe { Completion::finish(join, how) },
        };
        match completed {
            Completed::Unobserved => None,
            Completed::Wake(waiter) => Some(waiter),
            Completed::Detached => {
                if how == Ended::Done {
                    // SAFETY: the handle has detached, so the stage is the runner's again (rule 1),
                    // and it holds the result.
                    unsafe { drop_output(self.view.task) };
                }
                let outcome = self.view.header().state.finish(Finisher::Runner);
                // SAFETY: this is the state word's answer, which is not to schedule. The handle
                // does not take over the task, and the stage is empty.
                unsafe { self.view.follow(outcome) };
                None
            }
        }
    }

    /// Tells the schedule function that the future has been dropped, and how the task ends.
    #[inline(always)]
    pub(super) fn tell_end(&self, how: TaskEnd, panic: Option<&Payload>) {
        let how = panic.map_or(how, |_| TaskEnd::Panicked);
        let ended = EndedTask {
            view: self.view,
            panic_message: panic.and_then(message_of),
        };
        let why = || "a schedule function's `ended` panicked";
        unwind::or_abort(why, || self.hooks().ended(&ended, how));
    }

    /// # Safety
    /// The task must be scheduled, by this caller, and rule 3 is kept.
    #[inline(always)]
    pub(super) unsafe fn schedule(task: Task, info: ScheduleInfo) {
        // SAFETY: a task that must be scheduled is alive.
        let this = unsafe { Self::of(task) };
        // SAFETY: the caller has the runnable to give away.
        let runnable = unsafe { Runnable::from_task(task) };
        if is_stored::<S>() {
            // By rule 3 the task outlives the call, and the function in it too.
            return this.hooks().schedule(runnable, info);
        }
        // The task may be freed before the function returns, so call a copy of the function that is
        // outside the task.
        // SAFETY: the function has neither a size nor a drop. The copy is not dropped.
        let copy = ManuallyDrop::new(unsafe { core::ptr::read(this.hooks()) });
        copy.schedule(runnable, info);
    }
}

/// Drops a panic that nobody has taken, and returns that of its own drop.
///
/// # Safety
/// The stage of a task holds it, and is the caller's.
#[cold]
pub(super) unsafe fn drop_panic(stage: *mut PanicPayload) -> Result<(), Payload> {
    // SAFETY: passed on from the caller.
    unwind::catch(|| unsafe { stage.drop_in_place() })
}
