//! [`Handle`]: an executor's functions, for code that does not own it.

use core::ops::Deref;

use super::{Executor, entered, hosted, worker::current};

/// Has the functions of an [`Executor`], and does not keep it running. Clone it freely.
///
/// Made by [`Executor::handle`] and [`Handle::current`]. Pass it where a function asks for an
/// `&Executor`. Dropping it does nothing to the executor. Once the executor has been shut down,
/// each task that is spawned by a handle is cancelled at once.
///
/// # Cost
/// An atomic read-modify-write each for a clone and its drop, or two in a [host](hosted::Host).
///
/// # Example
/// ```
/// use joint_executor::{Executor, Handle};
///
/// let executor = Executor::builder().workers(1).build()?;
/// let handle = executor.handle();
/// let thread = std::thread::spawn(move || handle.block_on(handle.spawn(async { 6 * 7 })));
/// assert_eq!(thread.join().unwrap(), 42);
///
/// let inside = executor.spawn(async { Handle::current().id() });
/// assert_eq!(executor.block_on(inside), executor.id());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Handle(Executor);

impl Handle {
    /// Returns a handle of the executor that [`spawn`](crate::spawn) uses here.
    ///
    /// # Panics
    /// If the global executor is needed and cannot be started.
    pub fn current() -> Self {
        Self::of_worker().unwrap_or_else(|| entered::ambient().handle())
    }

    /// Returns a handle as [`current`](Handle::current) does, but `None` where that would be the
    /// [global](Executor::global) executor, because the calling code is in no executor.
    pub fn try_current() -> Option<Self> {
        Self::of_worker().or_else(|| entered::entered().map(|executor| executor.handle()))
    }

    fn of_worker() -> Option<Self> {
        let shared = current::with_current(|worker| worker.map(|worker| worker.shared().clone()));
        shared.map(|shared| {
            Self(Executor {
                shared,
                is_owner: false,
                is_hosted: false,
                // A worker of a host's executor runs on a thread that has entered the host.
                host: hosted::host(),
            })
        })
    }
}

impl Executor {
    /// Returns a handle of this executor.
    pub fn handle(&self) -> Handle {
        Handle(Self {
            shared: self.shared.clone(),
            is_owner: false,
            is_hosted: self.is_hosted,
            host: self.host.clone(),
        })
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        self.handle()
    }
}

impl Deref for Handle {
    type Target = Executor;

    fn deref(&self) -> &Executor {
        &self.0
    }
}
