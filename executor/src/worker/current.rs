//! Which worker this thread is, and which worker its code belongs to. The two differ only while a
//! poll blocks in the `block_on` of another executor (`entered.rs`): the code then belongs to none.

use core::{cell::Cell, marker::PhantomData, ptr};

use super::{Worker, shared::Shared};
use crate::fork_join::Forks;
use joint_switch::thread_local;

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

thread_local! {
    /// The worker that this thread is, even while the code that it runs belongs to another
    /// executor.
    static WORKER: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

thread_local! {
    /// The current worker's forks, which is all that a join needs.
    static FORKS: Cell<*const Forks> = const { Cell::new(ptr::null()) };
}

/// Returns the forks of the worker that this thread is. The reference must not be kept.
#[inline]
pub(crate) fn own_forks<'a>() -> Option<&'a Forks> {
    let forks = FORKS.with(Cell::get);
    // SAFETY: set by `Worker::become_this_thread` to a value that lives as long as the executor,
    // which outlives the worker, and reset before that value goes away.
    unsafe { forks.as_ref() }
}

/// Calls `f` with the worker that the current code belongs to.
#[inline]
pub(crate) fn with_current<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
    let current = CURRENT.with(Cell::get);
    // SAFETY: set by `Worker::become_this_thread` to a value on this thread's stack that outlives
    // the setting, and reset before that value goes away.
    f(unsafe { current.as_ref() })
}

/// An address that no other thread has at the same time.
#[inline]
pub(crate) fn address_of_thread() -> usize {
    CURRENT.with(|current| ptr::from_ref(current).addr())
}

/// Calls `f` with the worker that this thread is, whatever executor the current code belongs to.
pub(crate) fn with_thread_worker<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
    // A thread whose thread-locals are gone is not a worker any more.
    let worker = WORKER.try_with(Cell::get).unwrap_or(ptr::null());
    // SAFETY: as for `with_current`.
    f(unsafe { worker.as_ref() })
}

/// Runs `f` as if this thread were not a worker.
pub(crate) fn without_current<R>(f: impl FnOnce() -> R) -> R {
    let _current = Current::set(ptr::null(), ptr::null());
    f()
}

/// Sets what this thread's code belongs to. Its drop restores what was set before.
struct Current {
    worker: *const Worker,
    forks: *const Forks,
}

impl Current {
    fn set(worker: *const Worker, forks: *const Forks) -> Self {
        Self {
            worker: CURRENT.with(|current| current.replace(worker)),
            forks: FORKS.with(|current| current.replace(forks)),
        }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.worker));
        FORKS.with(|forks| forks.set(self.forks));
    }
}

/// What a thread needs to act as a worker, wherever that is.
#[cfg(feature = "sim")]
#[derive(Clone, Copy)]
pub(crate) struct Part(*const Forks);

#[cfg(feature = "sim")]
impl Part {
    pub(crate) fn of(worker: &Worker) -> Self {
        Self(&raw const *worker.shared().forks[worker.index()])
    }
}

/// Lets the code of this thread belong to one worker after the other, and to none at first. The
/// drop restores what was set before.
#[cfg(feature = "sim")]
pub(crate) struct ActsAs {
    _before: Current,
}

#[cfg(feature = "sim")]
impl ActsAs {
    pub(crate) fn nobody() -> Self {
        Self {
            _before: Current::set(ptr::null(), ptr::null()),
        }
    }

    /// Lets the code belong to a worker, whose part this is.
    ///
    /// # Safety
    /// The worker stays where it is until another call, or the drop. The part is that worker's.
    #[inline(always)]
    pub(crate) unsafe fn play(&self, worker: &Worker, part: Part) {
        self.set(worker, part.0);
    }

    /// Lets the code belong to no worker.
    pub(crate) fn leave(&self) {
        self.set(ptr::null(), ptr::null());
    }

    #[inline(always)]
    fn set(&self, worker: *const Worker, forks: *const Forks) {
        CURRENT.with(|current| current.set(worker));
        FORKS.with(|current| current.set(forks));
    }
}

/// Calls `f` with the worker that the current code belongs to, if it is one of that executor. The
/// address is only compared, never dereferenced.
#[inline]
pub(crate) fn with_worker_of<R>(shared: *const Shared, f: impl FnOnce(Option<&Worker>) -> R) -> R {
    with_current(|worker| f(worker.filter(|worker| ptr::eq(&**worker.shared(), shared))))
}

/// Keeps this thread a worker until this is dropped.
pub(crate) struct ThisThread<'a> {
    _current: Current,
    _worker: PhantomData<&'a Worker>,
}

impl Drop for ThisThread<'_> {
    fn drop(&mut self) {
        WORKER.with(|worker| worker.set(ptr::null()));
    }
}

impl Worker {
    /// Makes this thread the worker.
    pub(crate) fn become_this_thread(&self) -> ThisThread<'_> {
        WORKER.with(|worker| worker.set(self));
        ThisThread {
            _current: self.make_current(),
            _worker: PhantomData,
        }
    }

    fn make_current(&self) -> Current {
        Current::set(self, &raw const *self.shared().forks[self.index()])
    }

    /// Runs `f` as this worker. Called on the worker's own thread, even while the code there
    /// belongs to another executor.
    pub(crate) fn as_current<R>(&self, f: impl FnOnce() -> R) -> R {
        let _current = self.make_current();
        f()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_addresses_of_their_own() {
        let own = address_of_thread();
        assert_eq!(address_of_thread(), own);
        let other = std::thread::spawn(address_of_thread).join().unwrap();
        assert_ne!(own, other);
    }
}
