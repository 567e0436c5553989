//! The executor. Only its wakers and its handle refer to a task that waits. So that it can cancel
//! such tasks at its end, the executor keeps their addresses.
//!
//! It also queues a task that yields without calling the schedule function, gives each poll a
//! budget, and hides its metadata from its users.
//!
//! `super` has the mutex, the condition variable and the threads of std. The models in
//! `loom-tests/tests/guide` compile this file with those of loom.

use std::{
    collections::{HashSet, VecDeque},
    ptr::NonNull,
};

use joint::{
    JoinHandle, budget,
    task::{Builder, EndedTask, PendingTask, Polled, Schedule, ScheduleInfo, TaskEnd},
};

use super::{Arc, Condvar, Mutex, thread};

pub(crate) type Runnable = joint::task::Runnable<Owner>;

/// The metadata of each task: the executor that it belongs to.
pub(crate) struct Owner(Arc<Shared>);

pub(crate) struct Shared {
    /// `None` once the executor is closed.
    queue: Mutex<Option<VecDeque<Runnable>>>,
    pushed: Condvar,
    pub(crate) waiting: Mutex<HashSet<Address>>,
}

/// The address of a task that has waited. It owns nothing.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Address(pub(crate) NonNull<()>);

// SAFETY: it is followed only under the lock that keeps its task alive.
unsafe impl Send for Address {}

#[derive(Clone, Copy)]
struct Push;

impl Schedule<Owner> for Push {
    fn schedule(&self, runnable: Runnable, _: ScheduleInfo) {
        let shared = runnable.metadata().0.clone();
        shared.push(runnable);
    }

    fn pending(&self, task: &PendingTask<'_, Owner>) {
        let waiting = &task.metadata().0.waiting;
        waiting.lock().unwrap().insert(Address(task.as_ptr()));
    }

    fn ended(&self, task: &EndedTask<'_, Owner>, _: TaskEnd) {
        let waiting = &task.metadata().0.waiting;
        waiting.lock().unwrap().remove(&Address(task.as_ptr()));
    }
}

impl Shared {
    fn push(&self, runnable: Runnable) {
        if let Some(queue) = &mut *self.queue.lock().unwrap() {
            queue.push_back(runnable);
            self.pushed.notify_one();
        }
        // If the executor is closed, the runnable is dropped here, which cancels the task.
    }

    fn next(&self) -> Option<Runnable> {
        let mut queue = self.queue.lock().unwrap();
        loop {
            match queue.as_mut()?.pop_front() {
                Some(runnable) => return Some(runnable),
                None => queue = self.pushed.wait(queue).unwrap(),
            }
        }
    }

    fn work(&self) {
        while let Some(runnable) = self.next() {
            budget::refill();
            match runnable.poll() {
                Polled::Pending | Polled::Ended(None) => {}
                Polled::Woken(runnable) => self.push(runnable),
                Polled::Ended(Some(waiter)) => waiter.wake(),
            }
        }
    }

    /// From here on no task is queued.
    pub(crate) fn close(&self) {
        let queued = self.queue.lock().unwrap().take();
        drop(queued);
        self.pushed.notify_all();
    }

    /// Cancels the tasks that wait. A task that another thread has just woken yields no runnable
    /// here: that thread finds the executor closed, and cancels the task.
    pub(crate) fn cancel_waiting(&self) {
        let waiting = self.waiting.lock().unwrap();
        // SAFETY: the task has called `pending`, and cannot return from `ended` while the lock is
        // held.
        let abort = |task: &Address| unsafe { Runnable::raw_abort(task.0) };
        let aborted: Vec<Runnable> = waiting.iter().filter_map(abort).collect();
        // Dropped without the lock, which `ended` takes.
        drop(waiting);
        drop(aborted);
    }
}

/// Its drop waits for its threads, so it must not be dropped inside one of its own tasks.
pub(crate) struct Executor {
    pub(crate) shared: Arc<Shared>,
    workers: Vec<thread::JoinHandle<()>>,
}

impl Executor {
    pub(crate) fn new(workers: usize) -> Self {
        let shared = Arc::new(Shared {
            queue: Mutex::new(Some(VecDeque::new())),
            pushed: Condvar::new(),
            waiting: Mutex::new(HashSet::new()),
        });
        let start = |_| {
            let shared = shared.clone();
            thread::spawn(move || shared.work())
        };
        let workers = (0..workers).map(start).collect();
        Self { shared, workers }
    }

    #[track_caller]
    pub(crate) fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let builder = Builder::new().metadata(Owner(self.shared.clone()));
        let (runnable, handle) = builder.spawn(|_| future, Push);
        self.shared.push(runnable);
        handle.without_metadata()
    }

    /// From here on no task is polled, so none begins to wait.
    pub(crate) fn join_workers(&mut self) {
        let workers = self.workers.drain(..);
        workers.for_each(|worker| worker.join().unwrap());
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.shared.close();
        self.join_workers();
        self.shared.cancel_waiting();
    }
}
