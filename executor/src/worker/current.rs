//! Which worker this thread is, and which worker its code belongs to. The two differ only while a
//! poll blocks in the `block_on` of another executor (`entered.rs`): the code then belongs to none.

use core::{cell::Cell, marker::PhantomData, ptr};

use super::{Running, Worker, shared::Shared};
use crate::{
    fork_join::Forks,
    guard::{guarded, with_value},
};
use joint_switch::thread_local;

/// A worker, and its forks, which are all that a join needs.
type Current = (*const Worker, *const Forks);

const NONE: Current = (ptr::null(), ptr::null());

thread_local! {
    static CURRENT: Cell<Current> = const { Cell::new(NONE) };
    /// The worker that this thread is, even while the code that it runs belongs to another
    /// executor.
    static WORKER: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

/// Returns the forks of the worker that this thread is. The reference must not be kept.
#[inline]
pub(crate) fn own_forks<'a>() -> Option<&'a Forks> {
    let (_, forks) = CURRENT.with(Cell::get);
    // SAFETY: set by `Worker::become_this_thread` to a value that lives as long as the executor,
    // which outlives the worker, and reset before that value goes away.
    unsafe { forks.as_ref() }
}

/// Calls `f` with the worker that the current code belongs to.
#[inline]
pub(crate) fn with_current<R>(f: impl FnOnce(Option<&Running<'_>>) -> R) -> R {
    let (current, _) = CURRENT.with(Cell::get);
    // SAFETY: set by `Worker::become_this_thread` to a value on this thread's stack that outlives
    // the setting, and reset before that value goes away.
    let current = unsafe { current.as_ref() };
    f(current.map(Running::of).as_ref())
}

/// Calls the code of a stranger, wherever this is.
pub(super) fn stranger(f: impl FnOnce()) {
    with_thread_worker(|worker| match worker {
        Some(worker) => worker.stranger(f),
        None => guarded(f),
    });
}

/// Calls `f` with the worker that this thread is, whatever executor the current code belongs to.
pub(crate) fn with_thread_worker<R>(f: impl FnOnce(Option<&Running<'_>>) -> R) -> R {
    // A thread whose thread-locals are gone is not a worker any more.
    let worker = WORKER.try_with(Cell::get).unwrap_or(ptr::null());
    // SAFETY: as for `with_current`.
    let worker = unsafe { worker.as_ref() };
    f(worker.map(Running::of).as_ref())
}

/// Runs `f` as if this thread were not a worker.
pub(crate) fn without_current<R>(f: impl FnOnce() -> R) -> R {
    CURRENT.with(|current| with_value(current, NONE, f))
}

/// Calls `f` with the worker that the current code belongs to, if it is one of that executor. The
/// address is only compared, never dereferenced.
#[inline]
pub(crate) fn with_worker_of<R>(
    shared: *const Shared,
    f: impl FnOnce(Option<&Running<'_>>) -> R,
) -> R {
    with_current(|worker| f(worker.filter(|worker| ptr::eq(&**worker.shared(), shared))))
}

/// Keeps this thread a worker until this is dropped.
pub(crate) struct ThisThread<'a> {
    /// The value of `CURRENT` to restore.
    current: Current,
    /// The worker that the thread was before, in whose poll another one is stepped.
    worker: *const Worker,
    _worker: PhantomData<&'a Worker>,
}

impl Drop for ThisThread<'_> {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.current));
        WORKER.with(|worker| worker.set(self.worker));
    }
}

impl Worker {
    /// Makes this thread the worker.
    pub(crate) fn become_this_thread(&self) -> ThisThread<'_> {
        ThisThread {
            current: CURRENT.with(|current| current.replace(self.as_pair())),
            worker: WORKER.with(|worker| worker.replace(self)),
            _worker: PhantomData,
        }
    }

    fn as_pair(&self) -> Current {
        (self, &raw const *self.shared().forks[self.index()])
    }

    /// Runs `f` as this worker. Called on the worker's own thread, even while the code there
    /// belongs to another executor.
    pub(crate) fn as_current<R>(&self, f: impl FnOnce() -> R) -> R {
        CURRENT.with(|current| with_value(current, self.as_pair(), f))
    }
}
