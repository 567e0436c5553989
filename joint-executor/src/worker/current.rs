//! Which worker this thread is, and which worker its code belongs to. The two differ only while a
//! poll blocks in the `block_on` of another executor (`entered.rs`): the code then belongs to none.

use core::ptr;

use super::{parts::Worker, shared::Shared, state::Running};
use crate::{
    fork_join::{Forks, job::Wait},
    guard::{Once, caught},
    who::{self, ThisThread},
};
use joint::completion::Ended;

/// Returns the forks of the worker that this thread is. The reference must not be kept.
#[inline]
pub(crate) fn own_forks<'a>() -> Option<&'a Forks> {
    // SAFETY: set by `Worker::become_this_thread` to a value that lives as long as the executor,
    // which outlives the worker, and reset before that value goes away.
    unsafe { who::forks::<Forks>().as_ref() }
}

/// Calls `f` with the worker that the current code belongs to, as one that runs.
#[inline]
pub(crate) fn with_current<R>(f: impl FnOnce(Option<&Running<'_>>) -> R) -> R {
    // SAFETY: set by `Worker::become_this_thread` to a value on this thread's stack that outlives
    // the setting, and reset before that value goes away.
    let current = unsafe { who::worker::<Worker>().as_ref() };
    f(current.map(|worker| Running::of(&worker.core)).as_ref())
}

/// Waits for a fork that another worker has taken, as the worker that the current code belongs to,
/// and takes other forks meanwhile.
///
/// # Panics
/// If it belongs to none.
#[cold]
pub(crate) fn wait_helping(wait: Wait) -> Ended {
    // SAFETY: as for `with_current`.
    let current = unsafe { who::worker::<Worker>().as_ref() };
    let worker = current.expect("only workers have forks");
    (worker.idle).wait_helping(worker, wait, |taken| worker.apart(|| taken.run()))
}

/// Calls the code of a stranger, wherever this is.
pub(super) fn stranger(f: impl FnOnce()) {
    stranger_by(&mut Some(f));
}

pub(super) fn stranger_by(f: &mut dyn Once) {
    with_thread_worker(|worker| match worker {
        Some((_, worker)) => worker.stranger_by(f),
        None => caught(f),
    });
}

/// Calls `f` with the worker that this thread is, whatever executor the current code belongs to,
/// and with all its parts.
pub(crate) fn with_thread_worker<R>(f: impl FnOnce(Option<(&Worker, &Running<'_>)>) -> R) -> R {
    // SAFETY: as for `with_current`.
    let worker = unsafe { who::thread::<Worker>().as_ref() };
    let running = worker.map(|worker| Running::of(&worker.core));
    f(worker.zip(running.as_ref()))
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

impl Worker {
    /// Makes this thread the worker.
    pub(crate) fn become_this_thread(&self) -> ThisThread<'_> {
        who::become_thread(self, self.forks())
    }

    fn forks(&self) -> *const Forks {
        &raw const *self.shared().forks[self.index()]
    }

    /// Runs `f` as code of this worker alone. Called on the worker's own thread, whoever's code
    /// runs there.
    pub(crate) fn as_current<R>(&self, f: impl FnOnce() -> R) -> R {
        who::as_worker(self, self.forks(), f)
    }

    /// Does the same for functions that need not be fast. It is compiled once for all of them.
    pub(super) fn as_current_by(&self, f: &mut dyn Once) {
        self.as_current(|| f.call());
    }

    /// Runs code of other tasks inside a poll, as [`as_current`](Worker::as_current) does. Its
    /// panic goes no further: it must not pass a join that waits further down the stack, because
    /// the frame of that is in use.
    pub(super) fn apart(&self, f: impl FnOnce()) {
        caught(&mut Some(|| self.as_current_by(&mut Some(f))));
    }
}
