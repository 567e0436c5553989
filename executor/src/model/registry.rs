//! What models of the registry need of it: [`Registry`], with the schedule function that enters
//! tasks and strikes them off. It exists under the model-checking cfg alone.

use alloc::{collections::VecDeque, sync::Arc, vec::Vec};
use core::{cell::Cell, future::Future, mem::ManuallyDrop};

use crate::{
    fences::Fences,
    registry::{self, EntryLink, Lane, RegistryOwner},
};
use joint::task::{Builder, EndedTask, JoinHandle, PendingTask, Schedule, ScheduleInfo, TaskEnd};
use joint_switch::{Mutex, UnsafeCell, thread_local};

type Runnable = registry::Runnable<Owner>;

/// What the registry keeps alive, in the place of a whole executor.
struct Owner {
    registry: registry::Registry<Self>,
    /// Read by every thread that strikes a task off. The last owner takes it away.
    used: UnsafeCell<()>,
    woken: Mutex<VecDeque<Runnable>>,
}

// SAFETY: `used` is watched by the model, and holds nothing.
unsafe impl Sync for Owner {}

impl RegistryOwner for Owner {
    fn registry(&self) -> &registry::Registry<Self> {
        &self.registry
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.used.with_mut(|_| ());
    }
}

thread_local! {
    /// Which worker this thread is.
    static WORKER: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The executor's schedule function, with a queue in the owner.
#[derive(Clone, Copy)]
struct Entered(*const Owner);

// SAFETY: the owner is shared between threads.
unsafe impl Send for Entered {}
// SAFETY: as for `Send`.
unsafe impl Sync for Entered {}

impl Schedule<EntryLink<Owner>> for Entered {
    fn schedule(&self, runnable: Runnable, _: ScheduleInfo) {
        // SAFETY: the task has been idle, so it is entered, which keeps the owner alive.
        let owner = unsafe { &*self.0 };
        owner.woken.lock().unwrap().push_back(runnable);
    }

    fn pending(&self, task: &PendingTask<'_, EntryLink<Owner>>) {
        if task.metadata().is_entered() || task.is_woken() {
            return;
        }
        let worker = WORKER.with(Cell::get).expect("a worker runs the task");
        // SAFETY: the address of an `Arc` that the worker still has.
        let owner = ManuallyDrop::new(unsafe { Arc::from_raw(self.0) });
        let (task, place) = (task.as_ptr(), task.metadata());
        // SAFETY: called by the runner, which is that worker; in no registry yet.
        unsafe { registry::Registry::enter_normal(&owner, task, place, worker) };
    }

    fn ended(&self, task: &EndedTask<'_, EntryLink<Owner>>, _: TaskEnd) {
        let worker = |owner: *const Owner| {
            // SAFETY: the entry keeps the owner alive.
            unsafe { &*owner }.used.with(|_| ());
            WORKER.with(Cell::get)
        };
        // SAFETY: called by the runner, whose future is gone.
        unsafe { registry::Registry::strike_off(task.metadata(), worker) };
    }
}

/// The executor's registry of waiting tasks. Its tasks do not own it: a caller that lets a task
/// outlive it must call `count_left` first.
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct Registry(Arc<Owner>);

/// A task of a registry, to be run.
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct Task(Runnable);

#[allow(missing_docs, reason = "only models use it")]
impl Registry {
    pub fn new(workers: usize) -> Self {
        Self(Arc::new(Owner {
            registry: registry::Registry::new(workers, Fences::ordinary()),
            used: UnsafeCell::new(()),
            woken: Mutex::new(VecDeque::new()),
        }))
    }

    /// `high`: of the lane whose tasks are entered at once.
    #[track_caller]
    pub fn spawn<F>(&self, high: bool, future: F) -> (Task, JoinHandle<F::Output>)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let builder = Builder::new().metadata(EntryLink::nowhere());
        let (runnable, handle) = builder.spawn(|_| future, Entered(Arc::as_ptr(&self.0)));
        if high {
            let (task, place) = (runnable.as_ptr(), runnable.metadata());
            // SAFETY: the task is new, and its runnable here.
            unsafe { registry::Registry::enter(&self.0, task, place, Lane::High, 0) };
        }
        (Task(runnable), handle.without_metadata())
    }

    /// Returns the task that was woken first.
    pub fn woken(&self) -> Option<Task> {
        self.0.woken.lock().unwrap().pop_front().map(Task)
    }

    pub fn cancel_all(&self) -> Vec<Task> {
        let cancelled = self.0.registry.cancel_all().into_iter();
        cancelled.map(Task).collect()
    }

    /// Tells whether the registry's memory is still there.
    pub fn watch(&self) -> impl Fn() -> bool + Send + 'static {
        let owner = Arc::downgrade(&self.0);
        move || owner.strong_count() > 0
    }

    pub fn count_left(&self) {
        registry::Registry::count_left(&self.0);
    }
}

impl Task {
    /// Runs it on this thread, as that worker or as none.
    pub fn run(self, worker: Option<usize>) {
        let before = WORKER.with(|cell| cell.replace(worker));
        self.0.run();
        WORKER.with(|cell| cell.set(before));
    }
}
