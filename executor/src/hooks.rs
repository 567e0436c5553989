//! The hooks: functions of the user that the executor calls at certain events.
//!
//! A hook is user code. It is called only where nothing is half done and where no lock is held that
//! the hook could take. Its panic is caught.

use alloc::boxed::Box;

use super::{guard::guarded, task_info::TaskInfo};
use joint::task::{EndedTask, Runnable, TaskEnd};

type TaskHook = Box<dyn Fn(&TaskInfo<'_>) + Send + Sync>;
type EndHook = Box<dyn Fn(&TaskInfo<'_>, TaskEnd) + Send + Sync>;
type WorkerHook = Box<dyn Fn(usize) + Send + Sync>;

#[derive(Default)]
pub(crate) struct Hooks {
    pub(super) on_spawn: Option<TaskHook>,
    pub(super) before_poll: Option<TaskHook>,
    pub(super) after_poll: Option<TaskHook>,
    pub(super) on_end: Option<EndHook>,
    pub(super) on_thread_start: Option<WorkerHook>,
    pub(super) on_thread_stop: Option<WorkerHook>,
    pub(super) on_park: Option<WorkerHook>,
    pub(super) on_unpark: Option<WorkerHook>,
    /// The number of records to keep for each worker.
    #[cfg(feature = "trace")]
    pub(super) trace: Option<usize>,
    #[cfg(feature = "trace")]
    pub(super) recorder: Option<super::trace::Recorder>,
}

impl Hooks {
    /// Allocates the trace's recorder, if a trace was asked for.
    pub(super) fn prepare(self, workers: usize) -> Self {
        #[cfg(feature = "trace")]
        let this = {
            let mut this = self;
            let recorder = |most| super::trace::Recorder::new(workers, most);
            this.recorder = this.trace.map(recorder);
            this
        };
        #[cfg(not(feature = "trace"))]
        let (this, _) = (self, workers);
        this
    }

    /// Returns whether there is something to do for each task.
    pub(super) fn watch_tasks(&self) -> bool {
        self.is_traced() || self.on_spawn.is_some() || self.on_end.is_some()
    }

    /// Returns whether there is something to do for each poll.
    pub(super) fn watch_polls(&self) -> bool {
        self.is_traced() || self.before_poll.is_some() || self.after_poll.is_some()
    }

    fn is_traced(&self) -> bool {
        #[cfg(feature = "trace")]
        return self.trace.is_some();
        #[cfg(not(feature = "trace"))]
        false
    }

    #[cold]
    pub(super) fn spawned<M>(&self, runnable: &Runnable<M>) {
        if let Some(hook) = &self.on_spawn {
            guarded(|| hook(&TaskInfo::of(runnable)));
        }
    }

    pub(super) fn before_poll<M>(&self, runnable: &Runnable<M>) {
        if let Some(hook) = &self.before_poll {
            guarded(|| hook(&TaskInfo::of(runnable)));
        }
    }

    pub(super) fn after_poll(&self, info: &TaskInfo<'_>) {
        if let Some(hook) = &self.after_poll {
            guarded(|| hook(info));
        }
    }

    #[cold]
    pub(super) fn ended<M>(&self, task: &EndedTask<'_, M>, how: TaskEnd) {
        if let Some(hook) = &self.on_end {
            guarded(|| hook(&TaskInfo::ended(task), how));
        }
    }

    /// Calls one of the hooks for workers.
    pub(super) fn worker(hook: &Option<WorkerHook>, index: usize) {
        if let Some(hook) = hook {
            guarded(|| hook(index));
        }
    }
}

impl Drop for Hooks {
    /// Drops what the hooks have captured. It runs on the last thread that lets go of the executor,
    /// which is often a worker.
    fn drop(&mut self) {
        guarded(|| drop((self.on_spawn.take(), self.before_poll.take())));
        guarded(|| drop((self.after_poll.take(), self.on_end.take())));
        guarded(|| drop((self.on_thread_start.take(), self.on_thread_stop.take())));
        guarded(|| drop((self.on_park.take(), self.on_unpark.take())));
    }
}
