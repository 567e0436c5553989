//! How an executor is shut down: by its drop, and by the functions that do not wait forever.
//!
//! # Which threads wait for which
//! A worker that drops an executor, in a poll, in a hook or in a destructor of its thread, waits
//! for the threads of that executor. If one of those threads is dropping this worker's executor at
//! the same time, each would wait for the other. Every such wait is therefore entered in one table
//! of the process, by threads. A thread that enters its wait looks up all threads that wait for it,
//! directly or through other threads, and does not wait for those. They exit when their polls end.

use alloc::{sync::Arc, vec::Vec};
use core::{fmt, mem, time::Duration};
use std::{
    error::Error,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    thread::{self, JoinHandle as ThreadHandle, ThreadId},
    time::Instant,
};

use super::{
    Executor,
    hosted::{Shutdown, Threads},
    process::Process,
    worker::{Worker, current},
};
use joint::oneshot::{Receiver, RecvTimeoutError};
use joint::waker::clock;
use joint_switch::Renewed;

/// A worker's thread.
pub(super) struct Thread {
    /// `None` if the executor has not started it.
    pub(super) handle: Option<ThreadHandle<()>>,
    /// Set by the worker when it begins to run to its end.
    pub(super) id: Awaited<ThreadId>,
    /// Closed when the worker has ended.
    pub(super) ended: Receiver<()>,
}

/// The error of [`Executor::shutdown_timeout`]: workers of the executor had not ended in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShutdownTimeout {
    workers: Vec<usize>,
    tasks: u64,
}

impl ShutdownTimeout {
    /// Returns the indexes of the workers that kept the executor from ending. Each of them is in a
    /// poll, in the drop of a future, or in a hook. The other workers only wait for them: no worker
    /// exits while another is in a poll, because the poll may wait for a future that has yet to be
    /// dropped.
    pub fn workers(&self) -> &[usize] {
        &self.workers
    }

    /// Returns the number of tasks that had not ended: those that are being polled, those that only
    /// these workers may drop, and, if the limit was very short, those that no worker has dropped
    /// yet.
    pub fn tasks(&self) -> u64 {
        self.tasks
    }
}

impl fmt::Display for ShutdownTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workers, tasks } = self;
        write!(
            f,
            "the executor did not shut down in time: it still waits for workers {workers:?}, and \
             {tasks} tasks have not ended"
        )
    }
}

impl Error for ShutdownTimeout {}

impl Executor {
    /// Shuts down as the [drop](Executor#dropping) does, but gives up waiting after `limit`.
    ///
    /// The shutdown continues by itself after that: each worker that is still in a poll finishes
    /// it, drops what is left, and exits. A limit of zero starts the shutdown without waiting. A
    /// limit that is too far away for the clock is no limit.
    ///
    /// Functions of [`spawn_blocking`](crate::spawn_blocking) belong to no executor, and are not
    /// waited for; nor are the destructors of a worker's thread-locals.
    ///
    /// # Errors
    /// [`ShutdownTimeout`] if a worker had not ended in time. It is always returned if one of the
    /// executor's own tasks makes the call, because the worker of that task cannot be waited for.
    ///
    /// # Example
    /// ```
    /// use std::{sync::mpsc, time::Duration};
    ///
    /// let executor = joint_executor::Executor::builder().workers(1).build()?;
    /// let (begin, begun) = mpsc::channel();
    /// let (end, ended) = mpsc::channel::<()>();
    /// executor.spawn_detached(async move {
    ///     begin.send(()).unwrap();
    ///     let _ = ended.recv(); // Blocks its worker.
    /// });
    /// begun.recv()?;
    /// let error = executor.shutdown_timeout(Duration::from_millis(10)).unwrap_err();
    /// assert_eq!((error.workers(), error.tasks()), (&[0][..], 1));
    /// # drop(end);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shutdown_timeout(mut self, limit: Duration) -> Result<(), ShutdownTimeout> {
        let ended = self.shut_down(clock::now().checked_add(limit));
        ended.map_err(|workers| ShutdownTimeout {
            workers,
            tasks: self.metrics().live(),
        })
    }

    /// Shuts down as the [drop](Executor#dropping) does, but waits for nothing: the workers exit by
    /// themselves.
    ///
    /// It may be called anywhere, even by a task, which must not block. Some futures of the
    /// executor may not have been dropped yet when it returns. If the program ends first, they
    /// never are.
    ///
    /// # Example
    /// ```
    /// let executor = joint_executor::Executor::builder().build()?;
    /// let task = executor.spawn(std::future::pending::<()>());
    /// executor.shutdown_background();
    /// assert!(joint::block_on(task.result()).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown_background(mut self) {
        if self.shut_down_by_host().is_none() {
            drop(self.close());
        }
    }

    /// Closes the executor and returns its threads. Returns `None` if it was closed before, or if
    /// this is the child of a fork.
    fn close(&mut self) -> Option<Vec<Thread>> {
        let threads = mem::take(&mut self.threads);
        if threads.is_empty() {
            return None;
        }
        if !self.shared.is_of_this_process() {
            // There are no threads here to join or to detach, and one of them may have held any
            // lock. By now a handle may even name a thread that this process has started.
            mem::forget(threads);
            return None;
        }
        self.shared.close();
        Some(threads)
    }

    /// Lets the host shut the executor down to which it belongs. Returns `None` if it belongs to
    /// none, or has been shut down.
    fn shut_down_by_host(&mut self) -> Option<Shutdown> {
        let host = self.host.as_ref()?;
        if mem::take(&mut self.threads).is_empty() {
            return None;
        }
        let shutdown = host.shut_down(self.id());
        if let Shutdown::Later = shutdown {
            self.shared.close();
        }
        Some(shutdown)
    }

    /// Closes the executor and waits for its threads. Fails if some have not ended by the deadline,
    /// or cannot be waited for. The error names the workers that keep the others from ending.
    fn shut_down(&mut self, deadline: Option<Instant>) -> Result<(), Vec<usize>> {
        match self.shut_down_by_host() {
            Some(Shutdown::Complete) => return Ok(()),
            Some(Shutdown::Later) => return Err((0..self.workers()).collect()),
            None => {}
        }
        let Some(threads) = self.close() else {
            return Ok(());
        };
        if self.driven_by == Threads::Callers && deadline.is_none() {
            // The caller may be the one who drives the workers.
            return Ok(());
        }
        let mut waits = Waits::enter(&threads);
        // A worker that is stepped has no thread of its own, in the table.
        let own = current::with_worker_of(&raw const *self.shared, |own| own.map(Worker::index));
        waits
            .excepted
            .extend(own.filter(|own| !waits.excepted.contains(own)));
        for &worker in &waits.excepted {
            // The other workers do not wait for its poll either.
            self.shared.arrive(worker);
        }
        let all = threads.into_iter().enumerate();
        let late = all.filter_map(|(worker, thread)| {
            let has_ended = !waits.excepted.contains(&worker) && thread.wait(deadline);
            (!has_ended).then_some(worker)
        });
        let late: Vec<_> = late.collect();
        if late.is_empty() {
            return Ok(());
        }
        // Workers that have arrived at the end are waiting for the others.
        let is_busy =
            |worker: &usize| waits.excepted.contains(worker) || !self.shared.has_arrived(*worker);
        let busy: Vec<_> = late.iter().copied().filter(is_busy).collect();
        // If no late worker is busy, all late workers are about to end.
        Err(if busy.is_empty() { late } else { busy })
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // The workers that cannot be waited for end by themselves.
        let _ = self.shut_down(None);
    }
}

impl Thread {
    /// Waits until the worker has ended. Returns false if it has not ended by the deadline.
    fn wait(mut self, deadline: Option<Instant>) -> bool {
        let ended = match deadline {
            Some(deadline) => self.ended.blocking_recv_deadline(deadline),
            None => self.ended.blocking_recv().map_err(RecvTimeoutError::from),
        };
        if ended == Err(RecvTimeoutError::Timeout) {
            return false;
        }
        // The destructors of the worker's thread-locals may take any time, so a wait with a
        // deadline does not include them.
        if deadline.is_some() {
            return true;
        }
        if let Some(handle) = self.handle {
            let joined = handle.join();
            debug_assert!(joined.is_ok(), "a worker panicked");
        }
        true
    }
}

/// A thread's wait for other threads.
struct Wait<T = ThreadId> {
    thread: T,
    waits_for: Vec<Awaited<T>>,
}

/// A thread that is waited for, or nothing while it has not begun: until then it waits for nobody.
type Awaited<T> = Arc<OnceLock<T>>;

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

/// This thread's wait, which stays in the table until this is dropped.
struct Waits {
    thread: ThreadId,
    /// The workers that cannot be waited for.
    excepted: Vec<usize>,
}

impl Waits {
    /// Enters into the table that this thread is about to wait for `threads`.
    fn enter(threads: &[Thread]) -> Self {
        let thread = thread::current().id();
        let mut waits_for: Vec<_> = threads.iter().map(|thread| thread.id.clone()).collect();
        let mut all = all_waits();
        let waiting = waiting_for(&all, thread);
        let waits_back = |other: &Awaited<_>| other.get().is_some_and(|id| waiting.contains(id));
        let is_excepted = |&i: &usize| waits_back(&waits_for[i]);
        let excepted = (0..threads.len()).filter(is_excepted).collect();
        waits_for.retain(|other| !waits_back(other));
        all.push(Wait { thread, waits_for });
        Self { thread, excepted }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        let mut all = all_waits();
        // A worker can drop an executor inside the drop of another: the latest wait ends first.
        if let Some(place) = all.iter().rposition(|wait| wait.thread == self.thread) {
            all.remove(place);
        }
    }
}

/// Returns `thread` and all threads that wait for it, directly or through other threads.
fn waiting_for<T: Copy + PartialEq>(all: &[Wait<T>], thread: T) -> Vec<T> {
    let mut reached = Vec::from([thread]);
    let mut next = 0;
    while let Some(&awaited) = reached.get(next) {
        let waits = |wait: &&Wait<T>| wait.waits_for.iter().any(|id| id.get() == Some(&awaited));
        for wait in all.iter().filter(waits) {
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

    fn awaited<T>(id: T) -> Awaited<T> {
        Arc::new(OnceLock::from(id))
    }

    fn wait(thread: u32, waits_for: &[u32]) -> Wait<u32> {
        Wait {
            thread,
            waits_for: waits_for.iter().map(|&id| awaited(id)).collect(),
        }
    }

    #[test]
    fn who_waits_in_a_circle_is_found() {
        // No thread waits.
        assert_eq!(waiting_for(&[], 1), [1]);
        // One thread waits for it, and another one waits elsewhere.
        let all = [wait(2, &[0, 1]), wait(3, &[4])];
        assert_eq!(waiting_for(&all, 1), [1, 2]);
        // Two steps, one of which is the second wait of its thread.
        let all = [wait(2, &[8]), wait(3, &[2]), wait(2, &[1])];
        assert_eq!(waiting_for(&all, 1), [1, 2, 3]);
        // The search ends in a cycle of other threads.
        let all = [wait(2, &[3]), wait(3, &[2]), wait(4, &[5])];
        assert_eq!(waiting_for(&all, 2), [2, 3]);
        assert_eq!(waiting_for(&all, 1), [1]);
    }

    #[test]
    fn a_wait_that_is_over_is_forgotten() {
        let own = thread::current().id();
        let waits = || all_waits().iter().filter(|wait| wait.thread == own).count();
        let first = Waits::enter(&[]);
        let second = Waits::enter(&[]);
        assert_eq!(waits(), 2);
        drop(second);
        assert_eq!(waits(), 1);
        drop(first);
        assert_eq!(waits(), 0);
    }

    #[test]
    fn who_waits_for_this_thread_is_not_waited_for() {
        let (go, waits_to_go) = std::sync::mpsc::channel::<()>();
        let handle = thread::spawn(move || {
            let _gone = waits_to_go.recv();
        });
        let (own, other) = (thread::current().id(), handle.thread().id());
        let (_sender, ended) = joint::oneshot::channel();
        let (handle, id) = (Some(handle), awaited(other));
        let threads = [Thread { handle, id, ended }];
        let excepted = || {
            let waits = Waits::enter(&threads);
            let all = all_waits();
            let entered = all.iter().rfind(|wait| wait.thread == own).unwrap();
            let waits_for = entered.waits_for.iter().map(|id| id.get().copied());
            (waits.excepted.clone(), waits_for.collect::<Vec<_>>())
        };
        assert_eq!(excepted(), (vec![], vec![Some(other)]));
        all_waits().push(Wait {
            thread: other,
            waits_for: vec![awaited(own)],
        });
        assert_eq!(excepted(), (vec![0], vec![]));
        all_waits().retain(|wait| wait.thread != other);
        drop(go);
    }
}
