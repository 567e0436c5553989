//! An executor that its author has written from the documentation of `joint::task`.

mod std_or_loom {
    #[cfg(joint_loom)]
    pub(crate) use joint_lab::{sync, thread};
    #[cfg(not(joint_loom))]
    pub(crate) use std::{sync, thread};
}

use std::{collections::VecDeque, fmt, future::Future};

use joint::task::{self, JoinHandle, Runnable};
use std_or_loom::{
    sync::{Arc, Mutex},
    thread::{self, Thread},
};

/// Some threads that run tasks. To drop it, no task may be left.
pub struct Executor {
    shared: Arc<Shared>,
    threads: Vec<thread::JoinHandle<()>>,
}

/// What the workers and the tasks share.
struct Shared {
    queue: Mutex<Queue>,
    /// The workers that are parked, or about to park.
    idle: Mutex<Vec<Thread>>,
}

/// The tasks that are due.
#[derive(Default)]
struct Queue {
    runnables: VecDeque<Runnable>,
    is_closed: bool,
}

/// What a worker does next.
enum Next {
    Run(Runnable),
    Park,
    End,
}

impl Executor {
    /// Starts the threads.
    pub fn new(workers: usize) -> Self {
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue::default()),
            idle: Mutex::new(Vec::new()),
        });
        let threads = (0..workers).map(|number| {
            let shared = shared.clone();
            let builder = thread::Builder::new().name(format!("worker {number}"));
            builder
                .spawn(move || shared.work())
                .expect("a thread starts")
        });
        let threads = threads.collect();
        Self { shared, threads }
    }

    /// Spawns a task.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        let shared = self.shared.clone();
        let schedule = move |runnable| shared.push(runnable);
        let (runnable, handle) = task::spawn(future, schedule);
        runnable.schedule();
        handle
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.shared.close();
        for thread in self.threads.drain(..) {
            thread.join().expect("a worker does not panic");
        }
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor")
            .field("workers", &self.threads.len())
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn push(&self, runnable: Runnable) {
        let mut queue = self.queue.lock().expect("no panic under the lock");
        queue.runnables.push_back(runnable);
        drop(queue);
        self.wake_one();
    }

    fn wake_one(&self) {
        let idle = self.idle.lock().expect("no panic under the lock").pop();
        if let Some(worker) = idle {
            worker.unpark();
        }
    }

    fn close(&self) {
        self.queue.lock().expect("no panic under the lock").is_closed = true;
        let idle = std::mem::take(&mut *self.idle.lock().expect("no panic under the lock"));
        for worker in idle {
            worker.unpark();
        }
    }

    fn work(&self) {
        loop {
            match self.next() {
                Next::Run(runnable) => drop(runnable.run()),
                Next::Park => self.rest(),
                Next::End => return,
            }
        }
    }

    fn next(&self) -> Next {
        let mut queue = self.queue.lock().expect("no panic under the lock");
        match queue.runnables.pop_front() {
            Some(runnable) => Next::Run(runnable),
            None if queue.is_closed => Next::End,
            None => Next::Park,
        }
    }

    /// Parks this worker until it is woken.
    fn rest(&self) {
        let mut idle = self.idle.lock().expect("no panic under the lock");
        idle.push(thread::current());
        drop(idle);
        // The bug: a task may have been pushed between the look into the queue and the line above.
        thread::park();
    }
}
