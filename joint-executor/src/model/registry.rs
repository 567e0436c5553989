//! For models of the registry: [`Registry`], with the schedule function that enters
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

/// The value that the registry keeps alive, in the place of a whole executor.
struct Owner {
    registry: registry::Registry<Self>,
    /// Read by every thread that strikes a task off. The last owner takes it away.
    used: UnsafeCell<()>,
    /// Locked before each drop of a count, for the edges of the `Arc`, which no model sees.
    released: Mutex<()>,
    woken: Mutex<VecDeque<Runnable>>,
}

// SAFETY: `used` is watched by the model, and holds nothing.
unsafe impl Sync for Owner {}

impl RegistryOwner for Owner {
    fn registry(&self) -> &registry::Registry<Self> {
        &self.registry
    }

    unsafe fn release(this: *const Self) {
        // SAFETY: the count keeps it alive.
        drop(unsafe { &(*this).released }.lock());
        // SAFETY: by this function's contract.
        unsafe { Arc::decrement_strong_count(this) };
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        drop(self.released.lock());
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
        unsafe { registry::Registry::enter(&owner, task, place, worker) };
    }

    fn ended(&self, task: &EndedTask<'_, EntryLink<Owner>>, _: TaskEnd) {
        let worker = |owner: *const Owner| {
            // SAFETY: the entry keeps the owner alive.
            unsafe { &*owner }.used.with(|_| ());
            WORKER.with(Cell::get)
        };
        // SAFETY: called by the runner, whose future is gone.
        unsafe { registry::Registry::strike_off(task, task.metadata(), worker) };
    }
}

/// A handle of the executor's registry of waiting tasks. Its tasks do not own it: a caller that
/// lets a task outlive all handles must call `hold` first.
pub struct Registry(Arc<Owner>);

impl Clone for Registry {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        drop(self.0.released.lock());
    }
}

/// A task of a registry, to be run.
pub struct Task(Runnable);

impl Registry {
    pub fn new(workers: usize) -> Self {
        Self(Arc::new(Owner {
            registry: registry::Registry::new(workers, Fences::among(2)),
            used: UnsafeCell::new(()),
            released: Mutex::new(()),
            woken: Mutex::new(VecDeque::new()),
        }))
    }

    /// `high`: of the lane of high priority.
    #[track_caller]
    pub fn spawn<F>(&self, high: bool, future: F) -> (Task, JoinHandle<F::Output>)
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let builder = Builder::new().metadata(EntryLink::new());
        let (runnable, handle) = builder.spawn(|_| future, Entered(Arc::as_ptr(&self.0)));
        if high {
            runnable.metadata().set_lane(Lane::High);
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

    /// Looks at each task as a dump does. Returns how many there are.
    pub fn view_all(&self) -> usize {
        let mut seen = 0;
        self.0.registry.each_task(|task| {
            // SAFETY: the registry keeps the task's memory during this call.
            let view = unsafe { Runnable::raw_view(task) };
            let _ = (view.waiter(), view.is_runnable(), view.wakers());
            seen += 1;
        });
        seen
    }

    pub fn cancel_shard(&self, worker: usize) -> Vec<Task> {
        let cancelled = self.0.registry.cancel_shard(worker).into_iter();
        cancelled.map(Task).collect()
    }

    /// Tells whether the registry's memory is still there.
    pub fn watch(&self) -> impl Fn() -> bool + Send + 'static {
        let owner = Arc::downgrade(&self.0);
        move || owner.strong_count() > 0
    }

    /// Returns how many chunks the first worker has for tasks of the normal lane.
    pub fn chunks(&self) -> usize {
        self.0.registry.counts(0, Lane::Normal).0
    }

    pub fn hold(&self) {
        registry::Registry::hold(&self.0);
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
