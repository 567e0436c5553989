//! The guide's second executor, which cancels the tasks that wait when it shuts down.

use std::{
    collections::{HashSet, VecDeque},
    future::{Future, pending},
    ptr::NonNull,
};

use joint::{
    JoinError, JoinHandle, block_on, oneshot,
    task::{Builder, EndedTask, PendingTask, Polled, Schedule, ScheduleInfo, TaskEnd},
    waker::budget,
};
use joint_executor::yield_now;
use loom::{
    sync::{Arc, Condvar, Mutex},
    thread,
};
use loom_tests::{Drops, model, model_bounded};

use super::fails_with;

// The executor.

type Runnable = joint::task::Runnable<Owner>;

/// The metadata of each task: the executor that it belongs to.
struct Owner(Arc<Shared>);

struct Shared {
    /// `None` once the executor is closed.
    queue: Mutex<Option<VecDeque<Runnable>>>,
    pushed: Condvar,
    waiting: Mutex<HashSet<Address>>,
}

/// The address of a task that has waited. It owns nothing.
#[derive(PartialEq, Eq, Hash)]
struct Address(NonNull<()>);

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

    fn close(&self) {
        let queued = self.queue.lock().unwrap().take();
        drop(queued);
        self.pushed.notify_all();
    }

    fn cancel_waiting(&self) {
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

struct Executor {
    shared: Arc<Shared>,
    workers: Vec<thread::JoinHandle<()>>,
}

impl Executor {
    fn new(workers: usize) -> Self {
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

    fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let builder = Builder::new().metadata(Owner(self.shared.clone()));
        let (runnable, handle) = builder.spawn(|_| future, Push);
        self.shared.push(runnable);
        handle.without_metadata()
    }

    fn join_workers(&mut self) {
        self.workers
            .drain(..)
            .for_each(|worker| worker.join().unwrap());
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.shared.close();
        self.join_workers();
        self.shared.cancel_waiting();
    }
}

// The models.

fn is_cancelled<T>(handle: JoinHandle<T>) -> bool {
    matches!(block_on(handle.result()), Err(JoinError::Cancelled))
}

#[test]
fn a_task_that_waits_forever_is_cancelled_at_the_end() {
    model(|| {
        let drops = Drops::default();
        let executor = Executor::new(1);
        let value = drops.value();
        let handle = executor.spawn(async move {
            pending::<()>().await;
            drop(value);
        });
        drop(executor);
        assert!(is_cancelled(handle));
        drops.assert_all_of(1);
    });
}

/// Preemption bound 2.
#[test]
fn a_wake_up_against_the_end() {
    model_bounded(2, || {
        let drops = Drops::default();
        let executor = Executor::new(1);
        let (sender, receiver) = oneshot::channel();
        let value = drops.value();
        let handle = executor.spawn(async move {
            let received = receiver.await;
            value.look();
            received
        });
        let other = thread::spawn(move || {
            let _ = sender.send(42);
        });
        drop(executor);
        match block_on(handle.result()) {
            Ok(received) => assert_eq!(received, Ok(42)),
            Err(error) => assert!(error.is_cancelled()),
        }
        other.join().unwrap();
        drops.assert_all_of(1);
    });
}

/// The task waits before the executor ends, so that only the other thread and the end meet.
#[test]
fn a_wake_up_against_the_walk() {
    model(|| {
        let drops = Drops::default();
        let mut executor = Executor::new(1);
        let (sender, receiver) = oneshot::channel::<u32>();
        let value = drops.value();
        let handle = executor.spawn(async move {
            let _ = receiver.await;
            drop(value);
        });
        executor.shared.close();
        executor.join_workers();
        let other = thread::spawn(move || drop(sender));
        drop(executor);
        other.join().unwrap();
        assert!(is_cancelled(handle));
        drops.assert_all_of(1);
    });
}

/// Preemption bound 3.
#[test]
fn a_task_that_yields_ends_or_is_cancelled() {
    model_bounded(3, || {
        let executor = Executor::new(1);
        let handle = executor.spawn(yield_now());
        drop(executor);
        match block_on(handle.result()) {
            Ok(()) => {}
            Err(error) => assert!(error.is_cancelled()),
        }
    });
}

// Two mistakes. The waiting tasks are cancelled while a worker still runs, so a task may begin to
// wait after that. And the runnables are dropped under the lock that `ended` takes.

#[test]
fn the_model_catches_a_task_that_is_left_behind() {
    fails_with(
        "shutdown::the_model_catches_a_task_that_is_left_behind",
        "deadlock",
        || {
            model(|| {
                let mut executor = Executor::new(1);
                let handle = executor.spawn(pending::<()>());
                executor.shared.close();
                executor.shared.cancel_waiting();
                executor.join_workers();
                assert!(is_cancelled(handle));
            });
        },
    );
}

#[test]
fn the_model_catches_a_lock_that_is_held_too_long() {
    fails_with(
        "shutdown::the_model_catches_a_lock_that_is_held_too_long",
        "deadlock",
        || {
            model(|| {
                let mut executor = Executor::new(1);
                let handle = executor.spawn(pending::<()>());
                executor.shared.close();
                executor.join_workers();
                let waiting = executor.shared.waiting.lock().unwrap();
                // SAFETY: as in `cancel_waiting`.
                let abort = |task: &Address| unsafe { Runnable::raw_abort(task.0) };
                waiting.iter().filter_map(abort).for_each(drop);
                drop(waiting);
                assert!(is_cancelled(handle));
            });
        },
    );
}
