//! How an executor is shut down from outside: its drop, and the ways that do not wait for ever.
//!
//! # Who waits for whom
//! A worker that drops an executor in a poll waits for that one's threads. If one of those, in turn, is dropping the executor of
//! this worker, each would wait for the other. So every such wait is entered in one table of the process, and whoever finds on
//! entering that a thread waits for it, in however many steps, does not wait for that thread: it leaves when its poll ends.

use alloc::{sync::Arc, vec::Vec};
use core::{fmt, mem, time::Duration};
use std::{
    error::Error,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::JoinHandle as ThreadHandle,
    time::Instant,
};

use super::{Executor, current, shared::Shared};
use crate::oneshot::{Receiver, RecvTimeoutError};

/// A worker's thread.
pub(super) struct Thread {
    pub(super) handle: ThreadHandle<()>,
    /// Closed when the worker has ended.
    pub(super) ended: Receiver<()>,
}

/// Workers of an executor that had not ended when [`Executor::shutdown_timeout`] gave up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShutdownTimeout {
    workers: Vec<usize>,
    tasks: u64,
}

impl ShutdownTimeout {
    /// The workers that had not ended, by their indexes: each is in a poll, in the drop of a future, or in a hook.
    pub fn workers(&self) -> &[usize] {
        &self.workers
    }

    /// How many tasks had not ended: those that are being polled, and those that only these workers may drop.
    pub fn tasks(&self) -> u64 {
        self.tasks
    }
}

impl fmt::Display for ShutdownTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workers, tasks } = self;
        write!(
            f,
            "the executor had not shut down in time: workers {workers:?} were still in a poll, and {tasks} tasks had not ended"
        )
    }
}

impl Error for ShutdownTimeout {}

impl Executor {
    /// Shuts down as the drop does, but waits no longer than `limit`.
    ///
    /// Nothing is lost when it gives up: the workers that are still in a poll end it, drop what is left, and end.
    /// The functions of [`spawn_blocking`](crate::spawn_blocking) are no part of an executor, and are not waited for.
    ///
    /// # Errors
    /// Which workers had not ended by then. So it is, too, where it is called by one of the executor's own tasks, whose worker
    /// cannot be waited for.
    ///
    /// # Example
    /// ```
    /// use std::{sync::mpsc, time::Duration};
    ///
    /// let executor = joint::Executor::builder().workers(2).build()?;
    /// let (begin, begun) = mpsc::channel();
    /// let (end, ended) = mpsc::channel::<()>();
    /// executor.spawn_detached(async move {
    ///     begin.send(()).unwrap();
    ///     let _ = ended.recv(); // Blocks its worker.
    /// });
    /// begun.recv()?;
    /// let error = executor.shutdown_timeout(Duration::from_millis(10)).unwrap_err();
    /// assert_eq!((error.workers().len(), error.tasks()), (1, 1));
    /// # drop(end);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shutdown_timeout(mut self, limit: Duration) -> Result<(), ShutdownTimeout> {
        let left = self.shut_down(Instant::now().checked_add(limit));
        if left.is_empty() {
            return Ok(());
        }
        Err(ShutdownTimeout {
            workers: left,
            tasks: self.metrics().live(),
        })
    }

    /// Shuts down as the drop does, but waits for nothing: the workers end by themselves.
    ///
    /// It may be called anywhere, also by a task that must not block. Some of the executor's futures may not have been dropped when it
    /// returns, and never are if the program ends before.
    ///
    /// # Example
    /// ```
    /// let executor = joint::Executor::builder().build()?;
    /// let task = executor.spawn(std::future::pending::<()>());
    /// executor.shutdown_background();
    /// assert!(joint::block_on(task.try_join()).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown_background(mut self) {
        self.threads.clear();
        if self.shared.process.is_current() {
            self.shared.close();
        }
    }

    /// Closes the executor and waits for its threads, each of which it forgets. Returns the workers that have not ended by the
    /// deadline, or that cannot be waited for.
    fn shut_down(&mut self, deadline: Option<Instant>) -> Vec<usize> {
        let threads = mem::take(&mut self.threads);
        if threads.is_empty() {
            return Vec::new();
        }
        if !self.shared.process.is_current() {
            // There are no threads here to join, and each lock may be held by one of them.
            mem::forget(threads);
            return Vec::new();
        }
        self.shared.close();
        let waits = Waits::enter(&self.shared);
        for &worker in &waits.excepted {
            // The other workers do not wait for its poll either.
            self.shared.arrive(worker);
        }
        let all = threads.into_iter().enumerate();
        let left = all.filter_map(|(worker, thread)| {
            let has_ended = !waits.excepted.contains(&worker) && thread.wait(deadline);
            (!has_ended).then_some(worker)
        });
        left.collect()
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.shut_down(None);
    }
}

impl Thread {
    /// Waits for its end: false, if that does not come by the deadline.
    fn wait(mut self, deadline: Option<Instant>) -> bool {
        let ended = match deadline {
            Some(deadline) => self.ended.blocking_recv_deadline(deadline),
            None => self.ended.blocking_recv().map_err(RecvTimeoutError::from),
        };
        if ended == Err(RecvTimeoutError::Timeout) {
            return false;
        }
        let joined = self.handle.join();
        debug_assert!(joined.is_ok(), "a worker panicked");
        true
    }
}

/// A worker's wait for the threads of an executor. Executors are known by the address of what they share.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Wait {
    executor: usize,
    worker: usize,
    waits_for: usize,
}

static WAITS: Mutex<Vec<Wait>> = Mutex::new(Vec::new());

fn all_waits() -> MutexGuard<'static, Vec<Wait>> {
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Entered in the table until it is dropped.
struct Waits {
    own: Option<Wait>,
    /// The workers that cannot be waited for.
    excepted: Vec<usize>,
}

impl Waits {
    /// The calling thread is about to wait for the workers of an executor.
    fn enter(target: &Arc<Shared>) -> Self {
        let waits_for = Arc::as_ptr(target).addr();
        let own = current::with_thread_worker(|local| {
            local.map(|local| Wait {
                executor: Arc::as_ptr(local.shared()).addr(),
                worker: local.index(),
                waits_for,
            })
        });
        let Some(own) = own else {
            // Nobody waits for a thread that is no worker.
            let excepted = Vec::new();
            return Self { own, excepted };
        };
        let mut all = all_waits();
        let excepted = excepted(&all, own);
        all.push(own);
        Self {
            own: Some(own),
            excepted,
        }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        let Some(own) = self.own else { return };
        let mut all = all_waits();
        // A worker that drops several executors, one inside of the other, leaves these waits in that order.
        if let Some(place) = all.iter().rposition(|wait| *wait == own) {
            all.swap_remove(place);
        }
    }
}

/// The workers of `own.waits_for` that wait for the executor of `own`, in however many steps; and the own one.
fn excepted(all: &[Wait], own: Wait) -> Vec<usize> {
    // The executors of which a worker waits for the own one: those that are reached backwards from it.
    let mut waiting = Vec::from([own.executor]);
    let mut next = 0;
    while next < waiting.len() {
        let reached = waiting[next];
        for wait in all.iter().filter(|wait| wait.waits_for == reached) {
            if !waiting.contains(&wait.executor) {
                waiting.push(wait.executor);
            }
        }
        next += 1;
    }
    let waits = all
        .iter()
        .filter(|wait| wait.executor == own.waits_for && waiting.contains(&wait.waits_for));
    let mut excepted: Vec<_> = waits.map(|wait| wait.worker).collect();
    if own.executor == own.waits_for {
        excepted.push(own.worker);
    }
    excepted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(executor: usize, worker: usize, waits_for: usize) -> Wait {
        Wait {
            executor,
            worker,
            waits_for,
        }
    }

    #[test]
    fn who_is_waited_for_in_a_circle_is_excepted() {
        // Of one executor, by itself.
        assert_eq!(excepted(&[], wait(1, 3, 1)), [3]);
        // Nobody waits.
        assert_eq!(excepted(&[], wait(1, 0, 2)), []);
        // Two that wait for each other: that worker, and no other.
        assert_eq!(excepted(&[wait(2, 5, 1)], wait(1, 0, 2)), [5]);
        // Three in a circle.
        let all = [wait(2, 5, 3), wait(3, 6, 1), wait(4, 7, 1)];
        assert_eq!(excepted(&all, wait(1, 0, 2)), [5]);
        // A wait that leads elsewhere.
        assert_eq!(excepted(&[wait(2, 5, 3)], wait(1, 0, 2)), []);
        // A circle of others ends, and excepts nobody.
        let all = [wait(2, 5, 3), wait(3, 6, 2)];
        assert_eq!(excepted(&all, wait(1, 0, 2)), []);
    }
}
