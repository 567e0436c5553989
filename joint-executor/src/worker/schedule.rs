//! How a runnable gets into a queue: of the worker that this thread is, or from any other thread.

use alloc::sync::Arc;
use core::ptr::NonNull;

use super::{
    closing::in_hand,
    current::{self, with_current, with_worker_of},
    end::{dispose, ended},
    shared::{EntryLink, FAMILY, Linked, Runnable, Shared},
    state::Running,
};
use crate::{
    hooks::Hooks,
    registry::{Lane, Place, Registry},
    sleep::{Need, Woke},
    who,
};
use joint::{
    task::{self, EndedTask, PendingTask, Schedule, ScheduleInfo, TaskEnd},
    waker::Family,
};
use joint_switch::{fence, order, recheck};

impl Shared {
    /// Queues a runnable from a thread that is not a worker of this executor.
    pub(crate) fn inject(&self, runnable: Runnable, lane: Lane) {
        let inbox = match lane {
            Lane::Normal => &self.injector,
            Lane::High => &self.high_injector,
            Lane::Pinned(worker) => &self.inboxes[worker],
        };
        let need = match self.need() {
            // Whoever is woken for what is there already has its hands full.
            Need::Hands if !inbox.is_empty() => Need::More,
            need => need,
        };
        inbox.push(runnable);
        let woke = match lane {
            Lane::Normal | Lane::High => self.sleep.notify_from_outside(need),
            Lane::Pinned(worker) => self.sleep.wake_worker(worker),
        };
        // `notify_from_outside` and `wake_worker` have the fence.
        if self.gate.is_too_late() {
            self.dispose_late();
        }
        if !matches!(woke, Woke::Nobody) {
            reach(woke);
        }
        if let Some(hook) = &self.hooks.on_push {
            current::stranger(hook);
        }
    }

    /// Call this after `deadline` becomes the earliest of the timers that this thread uses. It
    /// makes sure that some worker wakes up in time. `worker` is the worker that this thread is, if
    /// any.
    pub(crate) fn hurry_driver(&self, deadline: u64, worker: Option<&Running<'_>>) {
        self.driver.hurry(deadline, &self.sleep, || match worker {
            Some(worker) if self.leaves_driver() => worker.notify(),
            Some(_) => {}
            None => {
                reach(self.sleep.notify_from_outside(Need::Lookout));
            }
        });
    }

    /// Queues a task that was woken, after the hook for that.
    #[cold]
    fn inject_watched(&self, runnable: Runnable, lane: Lane) {
        let hook = || current::stranger(|| Hooks::task(&self.hooks.on_wake, &runnable));
        match in_hand(self, lane, hook) {
            true => dispose(self, runnable),
            false => self.inject(runnable, lane),
        }
    }
}

/// Queues a runnable on a worker, or for the other one that it is pinned to.
#[inline]
pub(super) fn queue(worker: &Running<'_>, runnable: Runnable, lane: Lane) {
    match lane {
        Lane::Pinned(other) if other != worker.index() => worker.shared().inject(runnable, lane),
        _ => worker.push(runnable, lane),
    }
}

/// Wakes the worker that a thread outside has to wake, if its thread is away.
#[cold]
fn reach(woke: Woke) {
    if let Some(waker) = woke.away() {
        current::stranger(|| waker.wake());
    }
}

/// The tasks' schedule functions. It finds the executor by the task's [`EntryLink`], and takes no
/// memory.
#[derive(Clone, Copy)]
pub(crate) struct Scheduler;

/// Enters a task that waits for the first time. Not inlined, because most runs end otherwise.
///
/// # Safety
/// The caller is the runner of the task, which has this link, and is not in any registry yet.
#[inline(never)]
unsafe fn enter(task: NonNull<()>, link: &EntryLink) {
    with_current(|worker| match worker {
        // SAFETY: by this function's contract.
        Some(worker) => unsafe { worker.enter(task, link) },
        // SAFETY: as above.
        None => unsafe { enter_started(task, link) },
    });
}

/// Enters a task whose first poll was on a thread that is not a worker of its executor.
///
/// # Safety
/// As for [`enter`].
#[cold]
unsafe fn enter_started(task: NonNull<()>, link: &EntryLink) {
    // SAFETY: set by `start` to a reference that it has for the time of the poll.
    let shared = unsafe { who::starter::<Arc<Shared>>().as_ref() };
    let shared = shared.expect("only workers run the executor's tasks after the first poll");
    // SAFETY: by this function's contract.
    unsafe { Registry::enter_outside(shared, task, link) };
    // RECHECK: closed_again. The executor was closed before the task was entered, and nobody looks
    // for it any more.
    if recheck!(closed_again: shared.is_closed()) {
        // SAFETY: the task has metadata of that type, and has not ended.
        let runnable = unsafe { Runnable::raw_abort(task) };
        debug_assert!(runnable.is_none(), "its runner, this thread, drops it");
    }
}

/// Hides what the metadata of a task has besides its link.
#[inline]
pub(crate) fn linked<M: Linked>(runnable: task::Runnable<M>) -> Runnable {
    // SAFETY: by the contract of `Linked`.
    unsafe { Runnable::from_raw(runnable.into_raw()) }
}

/// Returns where a task belongs that was idle until its runnable was made.
#[inline]
fn home(runnable: &Runnable) -> (*const Shared, Place) {
    // ORDERING: woken. Acquire, with the state word's `idle` through the wake-up: the place is as
    // the runner has set it.
    fence(order!(woken: Acquire));
    let home = runnable.metadata().home();
    home.expect("a task that has been idle is registered")
}

/// Ends a cancelled task of the normal lane that was idle until its runnable was made: here, if
/// this is the code of a worker of its executor, or else on one of its workers.
#[inline]
pub(crate) fn end_idle(runnable: Runnable) {
    let (owner, _) = home(&runnable);
    let is_here = with_worker_of(owner, |worker| worker.is_some()) && !who::is_disposed();
    match is_here {
        true => drop(runnable),
        false => runnable.schedule(),
    }
}

impl<M: Linked> Schedule<M> for Scheduler {
    const FAMILY: Option<&'static Family> = Some(&FAMILY);

    /// Queues a task that was idle and is therefore registered: on the worker that this thread is,
    /// or else in a queue that other threads can push to.
    #[inline]
    fn schedule(&self, runnable: task::Runnable<M>, _: ScheduleInfo) {
        let runnable = linked(runnable);
        let (owner, place) = home(&runnable);
        with_worker_of(owner, |worker| match worker {
            Some(worker) => {
                let runnable = match worker.watches_wakes {
                    true => worker.woken(runnable),
                    false => runnable,
                };
                queue(worker, runnable, place.lane());
            }
            None => {
                // SAFETY: this is the address inside an `Arc`. There is a runnable, so the task is
                // unfinished and registered, which keeps the executor alive until the push.
                unsafe { Arc::increment_strong_count(owner) };
                // SAFETY: the count is the one that was just added.
                let shared = unsafe { Arc::from_raw(owner) };
                match shared.hooks.on_wake.is_some() {
                    true => shared.inject_watched(runnable, place.lane()),
                    false => shared.inject(runnable, place.lane()),
                }
            }
        });
    }

    #[inline]
    fn pending(&self, task: &PendingTask<'_, M>) {
        let link = task.metadata().link();
        if !link.is_entered() && !task.is_woken() {
            // SAFETY: the runner has lent the task, which is not in any registry yet.
            unsafe { enter(task.as_ptr(), link) };
        }
    }

    #[inline]
    fn ended(&self, task: &EndedTask<'_, M>, how: TaskEnd) {
        ended(task, how);
        let worker = |shared| with_worker_of(shared, |worker| worker.map(|worker| worker.index()));
        // Last, because this task may be what has kept the executor alive.
        // SAFETY: the runner calls this, and the task's future is gone.
        unsafe { Registry::strike_off(task, task.metadata().link(), worker) };
    }
}
