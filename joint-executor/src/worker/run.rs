//! A run of a task, what it leaves to do, and the drop of a task that is not to run.

use alloc::string::String;
use core::{cell::RefCell, ptr::NonNull};

use super::{
    queues::After,
    shared::{EntryLink, FAMILY, Runnable},
    state::{Core, Running, Spawns},
};
use crate::{
    guard::Once,
    hooks::Hooks,
    registry::Registry,
    task_info::{DataSlot, TaskInfo},
};
use joint::{budget, task::Polled};

impl Core {
    /// Enters a task in the registry.
    ///
    /// # Safety
    /// The caller is this worker, and the task's runner or its spawner. The task has this link, and
    /// is not in any registry yet.
    #[inline]
    pub(super) unsafe fn enter(&self, task: NonNull<()>, link: &EntryLink) {
        // SAFETY: by this function's contract.
        unsafe { Registry::enter(self.shared(), task, link, self.index()) };
    }
}

impl Running<'_> {
    // Always: see `Queues::next`.
    #[inline(always)]
    pub(super) fn run(&self, runnable: Runnable) {
        budget::refill();
        match self.watches_polls {
            false => self.settle(self.poll(runnable)),
            true => self.run_watched(runnable, &mut |polled| self.settle(polled)),
        }
    }

    #[inline(always)]
    pub(super) fn poll(&self, runnable: Runnable) -> Polled<EntryLink> {
        self.queues.begin_run();
        runnable.poll()
    }

    /// Does what a run has left to do.
    #[inline(always)]
    fn settle(&self, polled: Polled<EntryLink>) {
        match polled {
            Polled::Pending | Polled::Ended(None) => {}
            Polled::Woken(runnable) => self.requeue(runnable),
            Polled::Ended(Some(waiter)) if waiter.is_of(&FAMILY) => {
                self.queues.before(After::Slot, || waiter.wake());
            }
            Polled::Ended(Some(waiter)) => self.stranger(|| waiter.wake()),
        }
    }

    /// Runs a task, with the hooks for it. `settle` does what the run has left to do, if the
    /// task has ended before the last hook, which may wait for that.
    #[cold]
    #[inline(never)]
    pub(super) fn run_watched(
        &self,
        runnable: Runnable,
        settle: &mut dyn FnMut(Polled<EntryLink>),
    ) {
        let stranger = |f: &mut dyn Once| self.stranger_by(f);
        let poll = |runnable| self.poll(runnable);
        let (hooks, name) = (&self.shared().hooks, &self.name);
        watched(hooks, name, runnable, &stranger, &poll, settle);
    }

    /// Calls the hook for a task that this worker is about to queue because it was woken.
    #[cold]
    pub(super) fn woken(&self, runnable: Runnable) -> Runnable {
        self.stranger(|| Hooks::task(&self.shared().hooks.on_wake, &runnable));
        runnable
    }

    /// Runs a runnable that was found elsewhere, or drops it if the executor is closed.
    pub(super) fn run_or_discard(&self, runnable: Runnable) {
        match self.shared().is_closed() {
            false => self.run(runnable),
            true => self.discard(runnable),
        }
    }

    /// Drops a runnable inside this worker's other work.
    pub(super) fn discard(&self, runnable: Runnable) {
        if self.shared().is_closed() {
            self.spawns.set(Spawns::Disposed);
        }
        self.stranger(|| drop(runnable));
    }

    /// Drops all tasks in this worker's queues, including those that the drops queue.
    pub(super) fn discard_queued(&self) {
        while let Some(runnable) = self.queues.next_queued() {
            self.discard(runnable);
        }
    }
}

/// Polls a task, with the hooks for it, which `stranger` calls. `settle` does what the poll has
/// left to do, if the task has ended before the last hook.
#[cold]
#[inline(never)]
pub(super) fn watched(
    hooks: &Hooks,
    name: &RefCell<String>,
    runnable: Runnable,
    stranger: &dyn Fn(&mut dyn Once),
    poll: &dyn Fn(Runnable) -> Polled<EntryLink>,
    settle: &mut dyn FnMut(Polled<EntryLink>),
) {
    stranger(&mut Some(|| Hooks::task(&hooks.before_poll, &runnable)));
    let (id, spawned) = (runnable.id(), runnable.spawned());
    // Taken out of the cell, because a hook's code could come back here.
    let mut kept = name.take();
    kept.clear();
    let has_name = hooks.after_poll.is_some() && runnable.name().is_some();
    kept.push_str(runnable.name().filter(|_| has_name).unwrap_or_default());
    // SAFETY: the runnable is here.
    let data = unsafe { DataSlot::get(runnable.view()) };
    let data = data.filter(|_| hooks.after_poll.is_some()).cloned();
    let after = |kept: &str| {
        if let Some(hook) = &hooks.after_poll {
            let name = has_name.then_some(kept);
            stranger(&mut Some(move || {
                let info = TaskInfo::new(id, name, spawned);
                hook(&info.with_data(data.as_deref()));
            }));
        }
    };
    match poll(runnable) {
        Polled::Woken(runnable) => {
            after(&kept);
            stranger(&mut Some(|| Hooks::task(&hooks.on_wake, &runnable)));
            settle(Polled::Woken(runnable));
        }
        polled => {
            settle(polled);
            after(&kept);
        }
    }
    name.replace(kept);
}
