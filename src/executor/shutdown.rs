//! How an executor is shut down from outside: its drop, and the ways that do not wait for ever.
//!
//! # Who waits for whom
//! A worker that drops an executor in a poll, in a hook or in a destructor of its thread waits for that one's threads. If one of
//! those, in turn, is dropping the executor of this worker, each would wait for the other. So every such wait is entered in one table
//! of the process, by threads, and whoever finds on entering that a thread waits for it, in however many steps, does not wait for
//! that thread: it leaves when its poll ends.

use alloc::vec::Vec;
use core::{fmt, mem, time::Duration};
use std::{
    error::Error,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle as ThreadHandle, ThreadId},
    time::Instant,
};

use super::{Executor, process::Process};
use crate::{
    oneshot::{Receiver, RecvTimeoutError},
    sync::Renewed,
};

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
        if let Some(threads) = self.close() {
            drop(threads);
        }
    }

    /// Closes the executor, and forgets its threads, which come back. `None`: it was closed before, or by its nature, in a child.
    fn close(&mut self) -> Option<Vec<Thread>> {
        let threads = mem::take(&mut self.threads);
        if threads.is_empty() {
            return None;
        }
        if !self.shared.process.is_current() {
            // There are no threads here to join or to detach, and each lock may be held by one of them. What their handles say may
            // by now be of a thread that this process has started.
            mem::forget(threads);
            return None;
        }
        self.shared.close();
        Some(threads)
    }

    /// Closes the executor and waits for its threads. Returns the workers that have not ended by the deadline, or that cannot be
    /// waited for.
    fn shut_down(&mut self, deadline: Option<Instant>) -> Vec<usize> {
        let Some(threads) = self.close() else {
            return Vec::new();
        };
        let waits = Waits::enter(&threads);
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

/// A thread's wait for others.
struct Wait<T = ThreadId> {
    thread: T,
    waits_for: Vec<T>,
}

/// All the waits of one process.
struct Table {
    process: Process,
    waits: Mutex<Vec<Wait>>,
}

fn all_waits() -> MutexGuard<'static, Vec<Wait>> {
    // The child of a fork has its own: a thread of the parent may have held the lock at the fork.
    static TABLE: Renewed<Table> = Renewed::new();
    let make = || Table {
        process: Process::current(),
        waits: Mutex::default(),
    };
    let table = TABLE.get(|table| table.process.is_current(), make);
    table.waits.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This thread's wait, which is in the table until this is dropped.
struct Waits {
    thread: ThreadId,
    /// The workers that cannot be waited for.
    excepted: Vec<usize>,
}

impl Waits {
    /// The calling thread is about to wait for these.
    fn enter(threads: &[Thread]) -> Self {
        let thread = thread::current().id();
        let mut waits_for: Vec<_> = threads.iter().map(|t| t.handle.thread().id()).collect();
        let mut all = all_waits();
        let waiting = waiting_for(&all, thread);
        let is_excepted = |&i: &usize| waiting.contains(&waits_for[i]);
        let excepted = (0..threads.len()).filter(is_excepted).collect();
        waits_for.retain(|other| !waiting.contains(other));
        all.push(Wait { thread, waits_for });
        Self { thread, excepted }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        let mut all = all_waits();
        // A worker that drops several executors, one inside of the other, ends the last of these waits first.
        if let Some(place) = all.iter().rposition(|wait| wait.thread == self.thread) {
            all.remove(place);
        }
    }
}

/// The threads that wait for one, in however many steps; and that one.
fn waiting_for<T: Copy + PartialEq>(all: &[Wait<T>], thread: T) -> Vec<T> {
    let mut reached = Vec::from([thread]);
    let mut next = 0;
    while let Some(&awaited) = reached.get(next) {
        for wait in all.iter().filter(|w| w.waits_for.contains(&awaited)) {
            if !reached.contains(&wait.thread) {
                reached.push(wait.thread);
            }
        }
        next += 1;
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(thread: u32, waits_for: &[u32]) -> Wait<u32> {
        Wait {
            thread,
            waits_for: waits_for.to_vec(),
        }
    }

    #[test]
    fn who_waits_in_a_circle_is_found() {
        // Nobody waits.
        assert_eq!(waiting_for(&[], 1), [1]);
        // One waits for it, and another elsewhere.
        let all = [wait(2, &[0, 1]), wait(3, &[4])];
        assert_eq!(waiting_for(&all, 1), [1, 2]);
        // In two steps, one of them the second wait of its thread.
        let all = [wait(2, &[8]), wait(3, &[2]), wait(2, &[1])];
        assert_eq!(waiting_for(&all, 1), [1, 2, 3]);
        // A circle of others ends.
        let all = [wait(2, &[3]), wait(3, &[2]), wait(4, &[5])];
        assert_eq!(waiting_for(&all, 2), [2, 3]);
        assert_eq!(waiting_for(&all, 1), [1]);
    }
}
