//! The hooks: functions of the user that the executor calls at certain events.
//!
//! A hook is user code. It is called only where nothing is half done and where no lock is held that
//! the hook could take. Its panic is caught.

use alloc::boxed::Box;
use std::time::Instant;

use super::{
    guard::{caught, drop_quietly},
    task_info::{Data, DataSlot, TaskInfo},
};
use joint::{
    host::OnWait,
    task::{EndedTask, Id, Runnable, TaskEnd},
};

/// A steal, for [`Builder::on_steal`](super::Builder::on_steal).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StealInfo {
    /// The index of the worker that has taken the tasks.
    pub thief: usize,
    /// The index of the worker in whose queues they were.
    pub victim: usize,
    /// The number of tasks.
    pub tasks: usize,
}

type TaskHook = Box<dyn Fn(&TaskInfo<'_>) + Send + Sync>;
type DataHook = Box<dyn Fn(&TaskInfo<'_>) -> Data + Send + Sync>;
type EndHook = Box<dyn Fn(&TaskInfo<'_>, TaskEnd) + Send + Sync>;
type StealHook = Box<dyn Fn(&StealInfo) + Send + Sync>;
type StartHook = Box<dyn Fn(Id, &mut dyn FnMut()) + Send + Sync>;
pub(super) type WorkerHook = Box<dyn Fn(usize) + Send + Sync>;

#[derive(Default)]
pub(crate) struct Hooks {
    pub(super) task_data: Option<DataHook>,
    pub(super) on_spawn: Option<TaskHook>,
    pub(super) on_wake: Option<TaskHook>,
    pub(super) before_poll: Option<TaskHook>,
    pub(super) after_poll: Option<TaskHook>,
    pub(super) on_end: Option<EndHook>,
    pub(super) on_steal: Option<StealHook>,
    pub(super) on_thread_start: Option<WorkerHook>,
    pub(super) on_thread_stop: Option<WorkerHook>,
    pub(super) on_park: Option<WorkerHook>,
    pub(super) on_unpark: Option<WorkerHook>,
    pub(super) on_push: Option<Box<dyn Fn() + Send + Sync>>,
    pub(super) on_timer: Option<Box<dyn Fn(Instant) + Send + Sync>>,
    pub(super) start: Option<StartHook>,
    /// The times that the hooks of `Builder::record_times` record.
    #[cfg(feature = "dump")]
    pub(super) times: Option<alloc::sync::Arc<super::times::Times>>,
    /// What `Builder::record_times` notes on the workers' threads.
    pub(super) on_wait: Option<OnWait>,
}

impl Hooks {
    pub(super) fn watch_tasks(&self) -> bool {
        self.task_data.is_some() || self.on_spawn.is_some() || self.on_end.is_some()
    }

    pub(super) fn watch_polls(&self) -> bool {
        self.before_poll.is_some() || self.after_poll.is_some() || self.on_wake.is_some()
    }

    /// Makes the data of a new task, which no other thread knows, and calls the hook for it.
    #[cold]
    pub(super) fn spawned<M>(&self, runnable: &Runnable<M>) {
        let of_child = |parent: Option<&TaskInfo<'_>>| {
            if let Some(make) = &self.task_data {
                runnable.attach(|id| {
                    let task = TaskInfo::new(id, runnable.name(), runnable.spawned());
                    let mut data = None;
                    caught(&mut Some(|| data = Some(make(&task.with_parent(parent)))));
                    Box::new(DataSlot::new(data))
                });
            }
            call(&self.on_spawn, |hook| {
                hook(&TaskInfo::of(runnable).with_parent(parent));
            });
        };
        if TaskInfo::with_current(|parent| of_child(Some(parent))).is_none() {
            of_child(None);
        }
    }

    /// Calls a hook for a task, as code of a stranger.
    #[cold]
    pub(super) fn task<M>(hook: &Option<TaskHook>, runnable: &Runnable<M>) {
        if let Some(hook) = hook {
            hook(&TaskInfo::of(runnable));
        }
    }

    /// Calls the hook for a task that has ended, and takes its data.
    ///
    /// # Safety
    /// The caller is the task's runner.
    #[cold]
    pub(super) unsafe fn ended<M>(&self, task: &EndedTask<'_, M>, how: TaskEnd) {
        call(&self.on_end, |hook| {
            // SAFETY: by this function's contract. The hook cannot keep the value.
            let task = unsafe { TaskInfo::ended(task) };
            hook(&task, how);
        });
        // SAFETY: by this function's contract.
        caught(&mut Some(|| drop(unsafe { DataSlot::take(**task) })));
    }
}

/// Calls a hook that is set, and catches its panic.
#[inline]
pub(super) fn call<F: ?Sized>(hook: &Option<Box<F>>, f: impl FnOnce(&F)) {
    if let Some(hook) = hook {
        caught(&mut Some(|| f(hook)));
    }
}

impl Drop for Hooks {
    /// Drops what the hooks have captured. It runs on the last thread that lets go of the executor,
    /// which is often a worker.
    fn drop(&mut self) {
        drop_quietly(self.task_data.take());
        drop_quietly((self.on_spawn.take(), self.before_poll.take()));
        drop_quietly((self.after_poll.take(), self.on_end.take()));
        drop_quietly((self.on_wake.take(), self.on_steal.take()));
        drop_quietly((self.on_thread_start.take(), self.on_thread_stop.take()));
        drop_quietly((self.on_park.take(), self.on_unpark.take()));
        drop_quietly((self.on_push.take(), self.on_timer.take()));
        drop_quietly(self.start.take());
    }
}
