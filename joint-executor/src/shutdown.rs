//! How an executor is shut down: by its drop, and by the functions that do not wait forever.

use alloc::vec::Vec;
use core::{fmt, mem, time::Duration};
use std::{error::Error, time::Instant};

use super::{Executor, calls::Calls, hosted::Shutdown, padded::one_each, threads::End};
use joint::host;
use joint_switch::thread::{self, JoinHandle};

/// The error of [`Executor::shutdown_timeout`]: workers of the executor, or functions that block,
/// had not ended in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShutdownTimeout {
    workers: Vec<usize>,
    tasks: u64,
    blocking: usize,
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

    /// Returns the number of functions of [`spawn_blocking`](crate::spawn_blocking) that had not
    /// ended.
    pub fn blocking(&self) -> usize {
        self.blocking
    }
}

impl fmt::Display for ShutdownTimeout {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the executor did not shut down in time: it still waits for workers {:?}; {} tasks and {} \
             functions of `spawn_blocking` have not ended",
            self.workers, self.tasks, self.blocking
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
    /// Unlike the drop, this also waits for the functions that this executor's code has passed to
    /// [`spawn_blocking`](crate::spawn_blocking), and that have not been cancelled. It does not
    /// wait for the destructors of a worker's thread-locals, nor for the future of a task that
    /// another thread is waking meanwhile ([more](Executor#dropping)).
    ///
    /// It can be called through an `Arc` or a [`Handle`](crate::Handle). Several calls may wait at
    /// the same time, each to its own limit, and each returns `Ok` only once everything has ended.
    /// Once a call has given up, the drop of the executor waits no more. The
    /// [global](Executor::global) executor can be shut down at the end of `main`: afterwards no
    /// task runs there, and no timer of a thread outside other executors comes due. It then
    /// includes the functions that were passed to `spawn_blocking` outside all executors.
    ///
    /// # Errors
    /// [`ShutdownTimeout`] if a worker or such a function had not ended in time. It is always
    /// returned if one of the executor's own tasks or functions makes the call, or the thread of a
    /// [hosted worker](crate::hosted), because that one cannot be waited for. A task's call waits
    /// for no worker that waits in such a call itself, and a function's call for no function.
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
    #[inline]
    pub fn shutdown_timeout(&self, limit: Duration) -> Result<(), ShutdownTimeout> {
        let deadline = host::now().checked_add(limit);
        let workers = self.shut_down(deadline).err().unwrap_or_default();
        // Those of a host are the host's, and those of a fork's parent have no threads here.
        let mut blocking = 0;
        if self.host.is_none() && self.shared.process.is_current() {
            blocking += self.shared.calls.wait(deadline);
            if self.is_global() {
                blocking += Calls::outside().wait(deadline);
            }
        }
        self.give_up();
        if workers.is_empty() && blocking == 0 {
            return Ok(());
        }
        Err(ShutdownTimeout {
            workers,
            tasks: self.metrics().live(),
            blocking,
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
    /// assert!(joint_executor::block_on(task.result()).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown_background(&self) {
        self.begin_to_end();
        self.give_up();
    }

    fn begin_to_end(&self) {
        if self.shut_down_by_host().is_none() {
            drop(self.close());
        }
    }

    /// Takes the threads to join, unless there is none to wait for: in the child of a fork, or
    /// once a call has given up.
    fn take_handles(&self) -> Option<Vec<(JoinHandle<()>, End)>> {
        if !self.shared.process.is_current() {
            return None;
        }
        let mut threads = self.shared.threads();
        if threads.is_given_up {
            return None;
        }
        let mut taken = Vec::new();
        for one in &mut threads.all {
            if let Some(handle) = one.handle.take() {
                taken.push((handle, one.end()));
            }
        }
        Some(taken)
    }

    /// Lets nobody join the threads any more, nor the drop wait for them.
    fn give_up(&self) {
        if self.shared.process.is_current() {
            let mut threads = self.shared.threads();
            threads.is_given_up = true;
            for one in &mut threads.all {
                one.handle = None;
            }
        }
    }

    /// Closes the executor, and returns the ends of its workers. Returns `None` in the child of a
    /// fork.
    fn close(&self) -> Option<Vec<End>> {
        if !self.shared.process.is_current() {
            // There are no threads here to join or to detach, and one of them may have held any
            // lock. By now a handle may even name a thread that this process has started.
            return None;
        }
        self.shared.close();
        Some(self.ends())
    }

    fn ends(&self) -> Vec<End> {
        let all = &self.shared.threads().all;
        one_each(all.len(), |worker| all[worker].end())
    }

    /// Lets the host shut the executor down to which it belongs. Returns `None` if it belongs to
    /// none.
    fn shut_down_by_host(&self) -> Option<Shutdown> {
        let host = self.host.as_ref()?;
        let is_first = !mem::replace(&mut self.shared.threads().is_shut_down, true);
        let shutdown = match is_first {
            true => host.shut_down(self.id()),
            false if self.ends().iter().all(End::has_come) => Shutdown::Complete,
            false => Shutdown::Later,
        };
        if let Shutdown::Later = shutdown {
            self.shared.close();
        }
        Some(shutdown)
    }

    /// Closes the executor and waits for its workers. Fails if some have not ended by the deadline,
    /// or cannot be waited for. The error names the workers that keep the others from ending.
    fn shut_down(&self, deadline: Option<Instant>) -> Result<(), Vec<usize>> {
        match self.shut_down_by_host() {
            Some(Shutdown::Complete) => return Ok(()),
            Some(Shutdown::Later) => return Err(one_each(self.workers(), |worker| worker)),
            None => {}
        }
        let Some(ends) = self.close() else {
            return Ok(());
        };
        // By its thread, and not only by the current worker, because a hook or a destructor of the
        // thread may run after the worker has ended.
        let own = one_each(ends.len(), |worker| ends[worker].is_here());
        let mut is_worker = false;
        for (worker, &own) in own.iter().enumerate() {
            if own {
                is_worker = true;
                // The other workers do not wait for its poll either.
                self.shared.arrive(worker);
                let waits = self.shared.threads().all[worker].begin_to_wait();
                drop(waits);
            }
        }
        let mut late = Vec::new();
        for (worker, end) in ends.iter().enumerate() {
            if own[worker] || !end.wait(deadline, is_worker) {
                late.push(worker);
            }
        }
        // Workers that have arrived at the end are waiting for the others.
        let mut busy = Vec::new();
        for &worker in &late {
            if own[worker] || !self.shared.gate.has_arrived(worker) {
                busy.push(worker);
            }
        }
        match busy.is_empty() {
            true if late.is_empty() => Ok(()),
            // All late workers are about to end.
            true => Err(late),
            false => Err(busy),
        }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        if !self.is_owner {
            return;
        }
        if self.is_hosted {
            // The caller may be the one who drives the workers.
            return self.begin_to_end();
        }
        let Some(handles) = self.take_handles() else {
            return;
        };
        // The worker that cannot be waited for, because it is this thread, ends by itself.
        let _late = self.shut_down(None);
        let this_thread = thread::current().id();
        for (handle, end) in handles {
            if end.has_come() && handle.thread().id() != this_thread {
                let joined = handle.join();
                debug_assert!(joined.is_ok(), "a worker panicked");
            }
        }
    }
}
