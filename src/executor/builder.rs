//! [`Builder`]: the settings of an executor.

use alloc::{boxed::Box, format, string::String};
use core::fmt;
use std::{io, thread};

use super::{Executor, sleep::MOST_WORKERS};

/// The settings of a new [`Executor`].
///
/// # Example
/// ```
/// let executor = joint::Executor::builder()
///     .workers(2)
///     .thread_name(|i| format!("worker-{i}"))
///     .stack_size(256 * 1024)
///     .build()?;
/// let name = executor.spawn(async { std::thread::current().name().map(String::from) });
/// assert!(joint::block_on(name).is_some_and(|name| name.starts_with("worker-")));
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "nothing is started before `build`"]
pub struct Builder {
    workers: Option<usize>,
    thread_name: Box<dyn Fn(usize) -> String>,
    stack_size: Option<usize>,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            workers: None,
            thread_name: Box::new(|index| format!("joint-{index}")),
            stack_size: None,
        }
    }

    /// How many workers, each a thread. By default as many as the program may use processors
    /// ([`std::thread::available_parallelism`]), or one where that is not known.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// The name of each worker's thread, by its index from 0. By default `joint-0` and so on.
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + 'static) -> Self {
        self.thread_name = Box::new(name);
        self
    }

    /// The size of each worker's stack, in bytes. By default what [`std::thread`] gives.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] when `workers` is 0, or more than a million; what the system says when it gives no thread. No thread is left
    /// behind then.
    ///
    /// # Panics
    /// When a thread's name contains a nul byte.
    pub fn build(self) -> io::Result<Executor> {
        let default = || thread::available_parallelism().map_or(1, usize::from);
        let workers = self.workers.unwrap_or_else(default);
        if workers == 0 {
            let message = "an executor needs at least one worker: `workers(0)` was asked for";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        if workers > MOST_WORKERS {
            let message =
                format!("an executor has at most {MOST_WORKERS} workers: {workers} were asked for");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Executor::start(workers, &*self.thread_name, self.stack_size)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("workers", &self.workers)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}
