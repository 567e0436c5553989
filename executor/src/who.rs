//! The identity of the code that runs on this thread. All of it is kept here. Each way into an
//! executor sets all of it at once, by one function, and restores it afterwards.
//!
//! | the code of | worker | local executor | entered executor | task and its values |
//! |---|---|---|---|---|
//! | a worker: its thread, its hosted calls, what runs inside a blocked poll ([`as_worker`]) | it | none | none | none |
//! | nobody ([`apart`]) | none | none | none | none |
//! | a future of another executor that is disposed of ([`as_disposed`]) | stays | none | stays | none |
//! | `Executor::enter` and `block_on` ([`as_entered`]) | none | none | it | stay |
//! | a local executor ([`as_local`]) | stays | it | stays | stay |
//!
//! What stays belongs to the code as well: a function that is passed to `Executor::enter` inside a
//! task is still code of that task, and sees its values. Where it does not stay, the code of others
//! runs. In all cases but the fourth, the budget of the poll around it is restored afterwards.
//!
//! The types that the addresses lead to lie above this file, so the addresses have no type here.

use core::{cell::Cell, ptr};

use super::guard::with_value;
use joint::{task, waker::budget};
use joint_switch::thread_local;

/// An address, or null.
type Address = *const ();

/// A worker, and its forks, which are all that a join needs.
type Pair = (Address, Address);

const NO_WORKER: Pair = (ptr::null(), ptr::null());

struct Here {
    worker: Cell<Pair>,
    /// The worker that this thread is, even while the code that it runs belongs to another
    /// executor.
    thread: Cell<Address>,
    local: Cell<Address>,
    entered: Cell<Address>,
    /// The innermost task-local value.
    values: Cell<Address>,
    /// Whether a future is disposed of that is not the worker's.
    is_disposed: Cell<bool>,
    /// Whether the code waits for another thread to give back what it has lent.
    waits_for_lent: Cell<bool>,
}

/// The parts of an identity that are set and restored together.
#[derive(Clone, Copy)]
struct Code {
    worker: Pair,
    local: Address,
    entered: Address,
    values: Address,
    is_disposed: bool,
    waits_for_lent: bool,
}

impl Code {
    const NOBODY: Self = Self {
        worker: NO_WORKER,
        local: ptr::null(),
        entered: ptr::null(),
        values: ptr::null(),
        is_disposed: false,
        waits_for_lent: false,
    };
}

thread_local! {
    static HERE: Here = const {
        Here {
            worker: Cell::new(NO_WORKER),
            thread: Cell::new(ptr::null()),
            local: Cell::new(ptr::null()),
            entered: Cell::new(ptr::null()),
            values: Cell::new(ptr::null()),
            is_disposed: Cell::new(false),
            waits_for_lent: Cell::new(false),
        }
    };
}

#[inline(always)]
pub(super) fn worker<W>() -> *const W {
    HERE.with(|here| here.worker.get().0).cast()
}

#[inline(always)]
pub(super) fn forks<F>() -> *const F {
    HERE.with(|here| here.worker.get().1).cast()
}

/// The worker that this thread is.
pub(super) fn thread<W>() -> *const W {
    // A thread whose thread-locals are gone is not a worker any more.
    let thread = HERE.try_with(|here| here.thread.get());
    thread.unwrap_or(ptr::null()).cast()
}

#[inline(always)]
pub(super) fn local<L>() -> *const L {
    HERE.with(|here| here.local.get()).cast()
}

pub(super) fn entered<E>() -> *const E {
    HERE.with(|here| here.entered.get()).cast()
}

#[inline(always)]
pub(super) fn values<V>() -> *const V {
    HERE.with(|here| here.values.get()).cast()
}

#[inline(always)]
pub(super) fn is_disposed() -> bool {
    HERE.with(|here| here.is_disposed.get())
}

pub(super) fn waits_for_lent() -> bool {
    HERE.with(|here| here.waits_for_lent.get())
}

/// Calls `f`, which waits for another thread to give back what this one has lent.
pub(super) fn while_lent<R>(f: impl FnOnce() -> R) -> R {
    HERE.with(|here| with_value(&here.waits_for_lent, true, f))
}

/// Calls `f` as code of a worker, which has these forks.
pub(super) fn as_worker<W, F, R>(worker: *const W, forks: *const F, f: impl FnOnce() -> R) -> R {
    HERE.with(|here| here.be((worker.cast(), forks.cast()), ptr::null(), false, f))
}

/// Calls `f` as code of nobody.
pub(super) fn apart<R>(f: impl FnOnce() -> R) -> R {
    HERE.with(|here| here.be(NO_WORKER, ptr::null(), false, f))
}

/// Calls `f`, which disposes of a future.
pub(super) fn as_disposed<R>(is_own: bool, f: impl FnOnce() -> R) -> R {
    HERE.with(|here| here.be(here.worker.get(), here.entered.get(), !is_own, f))
}

/// Calls `f` in an executor.
pub(super) fn as_entered<E, R>(executor: *const E, f: impl FnOnce() -> R) -> R {
    HERE.with(|here| here.stay(NO_WORKER, executor.cast(), false, f))
}

/// Calls `f` in a local executor.
#[inline]
pub(super) fn as_local<L, R>(local: *const L, f: impl FnOnce() -> R) -> R {
    let _budget = budget::save();
    HERE.with(|here| with_value(&here.local, local.cast(), f))
}

/// Calls `f` with these task-local values.
#[inline]
pub(super) fn with_values<V, R>(innermost: *const V, f: impl FnOnce() -> R) -> R {
    HERE.with(|here| with_value(&here.values, innermost.cast(), f))
}

/// Keeps this thread a worker until this is dropped.
pub(super) struct ThisThread {
    /// The worker that the thread was before, if any.
    thread: Address,
    worker: Pair,
}

/// Makes this thread a worker, which has these forks.
pub(super) fn become_thread<W, F>(worker: *const W, forks: *const F) -> ThisThread {
    HERE.with(|here| ThisThread {
        thread: here.thread.replace(worker.cast()),
        worker: here.worker.replace((worker.cast(), forks.cast())),
    })
}

impl Drop for ThisThread {
    fn drop(&mut self) {
        HERE.with(|here| {
            here.thread.set(self.thread);
            here.worker.set(self.worker);
        });
    }
}

impl Here {
    fn be<R>(&self, worker: Pair, entered: Address, disposed: bool, f: impl FnOnce() -> R) -> R {
        let _budget = budget::save();
        let code = Code {
            worker,
            entered,
            is_disposed: disposed,
            ..Code::NOBODY
        };
        self.with(code, || task::without_current(f))
    }

    fn stay<R>(&self, worker: Pair, entered: Address, disposed: bool, f: impl FnOnce() -> R) -> R {
        let code = Code {
            worker,
            entered,
            is_disposed: disposed,
            values: self.values.get(),
            waits_for_lent: self.waits_for_lent.get(),
            ..Code::NOBODY
        };
        self.with(code, f)
    }

    /// Calls `f` with all of that set.
    #[inline(always)]
    fn with<R>(&self, code: Code, f: impl FnOnce() -> R) -> R {
        struct Restore<'a>(&'a Here, Code);
        impl Drop for Restore<'_> {
            #[inline(always)]
            fn drop(&mut self) {
                self.0.replace(self.1);
            }
        }
        let _restore = Restore(self, self.replace(code));
        f()
    }

    #[inline(always)]
    fn replace(&self, code: Code) -> Code {
        Code {
            worker: self.worker.replace(code.worker),
            local: self.local.replace(code.local),
            entered: self.entered.replace(code.entered),
            values: self.values.replace(code.values),
            is_disposed: self.is_disposed.replace(code.is_disposed),
            waits_for_lent: self.waits_for_lent.replace(code.waits_for_lent),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::{future::poll_fn, mem, task::Poll};

    use super::apart;
    use joint::task;

    #[test]
    fn a_task_that_has_woken_itself_runs_again_although_other_code_ran_in_between() {
        let mut again = true;
        let inside = poll_fn(move |cx| {
            cx.waker().wake_by_ref();
            apart(|| cx.waker().wake_by_ref());
            match mem::take(&mut again) {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        });
        let (runnable, _handle) = task::spawn(inside, |runnable: task::Runnable| {
            runnable.run();
        });
        assert!(runnable.run());
    }
}
