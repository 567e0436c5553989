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
//! | a task that starts on its spawner's stack ([`as_started`]): of the worker | stays | none | none | its own |
//! | of another executor | none | none | it | its own |
//! | of a local executor | stays | it | stays | its own |
//!
//! What stays belongs to the code as well: a function that is passed to `Executor::enter` inside a
//! task is still code of that task, and sees its values. Where it does not stay, the code of others
//! runs. In the cases but the fourth and the last three, the budget of the poll around it is
//! restored afterwards. A task that starts uses that of its spawner.
//!
//! The types that the addresses lead to lie above this file, so the addresses have no type here.

use core::{cell::Cell, marker::PhantomData, mem, ptr};

use super::guard::with_value;
use joint::{budget, task};
use joint_switch::thread_local;

/// An address, or null.
type Address = *const ();

#[derive(Clone, Copy, PartialEq)]
struct Code {
    worker: Address,
    /// The worker's forks, which are all that a join needs.
    forks: Address,
    local: Address,
    entered: Address,
    /// The innermost task-local value.
    values: Address,
    /// Whether a future is disposed of that is not the worker's.
    is_disposed: bool,
    /// Whether the code waits for another thread to give back what it has lent.
    waits_for_lent: bool,
}

impl Code {
    const NOBODY: Self = Self {
        worker: ptr::null(),
        forks: ptr::null(),
        local: ptr::null(),
        entered: ptr::null(),
        values: ptr::null(),
        is_disposed: false,
        waits_for_lent: false,
    };
}

struct Here {
    code: Cell<Code>,
    /// The worker that this thread is, even while the code that it runs belongs to another
    /// executor.
    thread: Cell<Address>,
    /// The number of tasks that are being started on this thread's stack, one inside the other.
    starts: Cell<usize>,
    /// The executor of the innermost of them that has started on none of its workers.
    starter: Cell<Address>,
}

thread_local! {
    static HERE: Here = const {
        Here {
            code: Cell::new(Code::NOBODY),
            thread: Cell::new(ptr::null()),
            starts: Cell::new(0),
            starter: Cell::new(ptr::null()),
        }
    };
}

/// Callers do not keep it. Without a closure, which would be compiled for each of them.
#[inline(always)]
fn here<'a>() -> &'a Here {
    let here = HERE.with(ptr::from_ref);
    // SAFETY: it has no destructor, and so stays as long as the thread, on which the caller is.
    unsafe { &*here }
}

#[inline(always)]
pub(super) fn worker<W>() -> *const W {
    here().code.get().worker.cast()
}

#[inline(always)]
pub(super) fn forks<F>() -> *const F {
    here().code.get().forks.cast()
}

/// The worker that this thread is.
pub(super) fn thread<W>() -> *const W {
    // A thread whose thread-locals are gone is not a worker any more.
    let thread = HERE.try_with(|here| here.thread.get());
    thread.unwrap_or(ptr::null()).cast()
}

#[inline(always)]
pub(super) fn local<L>() -> *const L {
    here().code.get().local.cast()
}

pub(super) fn entered<E>() -> *const E {
    here().code.get().entered.cast()
}

/// The executor whose task starts here, in code that is none of its workers'.
pub(super) fn starter<S>() -> *const S {
    here().starter.get().cast()
}

#[inline(always)]
pub(super) fn values<V>() -> *const V {
    here().code.get().values.cast()
}

#[inline(always)]
pub(super) fn is_disposed() -> bool {
    here().code.get().is_disposed
}

pub(super) fn waits_for_lent() -> bool {
    here().code.get().waits_for_lent
}

/// Calls `f`, which waits for another thread to give back what this one has lent.
pub(super) fn while_lent<R>(f: impl FnOnce() -> R) -> R {
    let _lent = Part::set(|code| &mut code.waits_for_lent, true);
    f()
}

/// Calls `f` as code of a worker, which has these forks.
#[inline]
pub(super) fn as_worker<W, F, R>(worker: *const W, forks: *const F, f: impl FnOnce() -> R) -> R {
    let code = Code {
        worker: worker.cast(),
        forks: forks.cast(),
        ..Code::NOBODY
    };
    code.call(f)
}

pub(super) fn apart<R>(f: impl FnOnce() -> R) -> R {
    Code::NOBODY.call(f)
}

/// Calls `f`, which disposes of a future.
pub(super) fn as_disposed<R>(is_own: bool, f: impl FnOnce() -> R) -> R {
    let code = Code {
        local: ptr::null(),
        values: ptr::null(),
        is_disposed: !is_own,
        waits_for_lent: false,
        ..Code::current()
    };
    code.call(f)
}

pub(super) fn as_entered<E, R>(executor: *const E, f: impl FnOnce() -> R) -> R {
    let around = Code::current();
    let code = Code {
        entered: executor.cast(),
        values: around.values,
        waits_for_lent: around.waits_for_lent,
        ..Code::NOBODY
    };
    let _code = code.enter();
    f()
}

#[inline]
pub(super) fn as_local<L, R>(local: *const L, f: impl FnOnce() -> R) -> R {
    let _budget = budget::save();
    let _local = Part::set(|code| &mut code.local, local.cast());
    f()
}

/// The executor of a task that starts on its spawner's stack.
#[derive(Clone, Copy)]
pub(super) enum Starter {
    /// That of the worker to which the spawner's code belongs.
    Worker,
    /// Another one: as what is entered, and as what its tasks look for.
    Other {
        entered: Address,
        shared: Address,
    },
    Local(Address),
}

/// Calls `f`, which polls a task for the first time, on the stack of its spawner. Does not call it
/// if `most` such calls are under way on this thread.
#[inline]
pub(super) fn as_started<R>(most: usize, starter: Starter, f: impl FnOnce() -> R) -> Option<R> {
    let here = here();
    let starts = here.starts.get();
    if starts >= most {
        return None;
    }
    let around = here.code.get();
    let mut code = Code {
        values: ptr::null(),
        is_disposed: false,
        ..around
    };
    let mut outside = here.starter.get();
    match starter {
        Starter::Local(local) => code.local = local,
        Starter::Worker => {
            code.local = ptr::null();
            code.entered = ptr::null();
        }
        Starter::Other { entered, shared } => {
            outside = shared;
            code = Code {
                entered,
                waits_for_lent: around.waits_for_lent,
                ..Code::NOBODY
            };
        }
    }
    // The drop of the future and the hooks are no code of the spawner's task either.
    let f = || task::without_current(f);
    let f = || match code == around {
        true => f(),
        false => with_value(&here.code, code, f),
    };
    let f = || with_value(&here.starter, outside, f);
    Some(with_value(&here.starts, starts + 1, f))
}

#[inline]
pub(super) fn with_values<V, R>(innermost: *const V, f: impl FnOnce() -> R) -> R {
    let _values = Part::set(|code| &mut code.values, innermost.cast());
    f()
}

/// Keeps this thread a worker until this is dropped.
pub(super) struct ThisThread<'a> {
    /// The worker that the thread was before, if any.
    thread: Address,
    _code: Entered,
    _worker: PhantomData<&'a ()>,
}

/// Makes this thread a worker, which has these forks.
pub(super) fn become_thread<W, F>(worker: &W, forks: *const F) -> ThisThread<'_> {
    let worker = ptr::from_ref(worker).cast();
    let code = Code {
        worker,
        forks: forks.cast(),
        ..Code::current()
    };
    ThisThread {
        _code: code.enter(),
        thread: here().thread.replace(worker),
        _worker: PhantomData,
    }
}

impl Drop for ThisThread<'_> {
    fn drop(&mut self) {
        here().thread.set(self.thread);
    }
}

// The state is restored by values that are dropped, because functions that call a closure inside of
// others would all be compiled for each closure.
impl Code {
    #[inline(always)]
    fn current() -> Self {
        here().code.get()
    }

    #[inline(always)]
    fn enter(self) -> Entered {
        Entered(here().code.replace(self))
    }

    /// Calls `f` as such code, in no task and with a budget of its own.
    #[inline]
    fn call<R>(self, f: impl FnOnce() -> R) -> R {
        let _apart = self.begin();
        task::without_current(f)
    }

    #[inline]
    fn begin(self) -> (Entered, budget::Saved) {
        let budget = budget::save();
        (self.enter(), budget)
    }
}

/// The code that this thread had before, which it has again when this is dropped.
struct Entered(Code);

impl Drop for Entered {
    #[inline(always)]
    fn drop(&mut self) {
        here().code.set(self.0);
    }
}

/// A part of the code as it was before, and is again when this is dropped.
struct Part<T: Copy, P: Fn(&mut Code) -> &mut T> {
    part: P,
    before: T,
}

impl<T: Copy, P: Fn(&mut Code) -> &mut T> Part<T, P> {
    #[inline(always)]
    fn set(part: P, value: T) -> Self {
        let before = Self::replace(&part, value);
        Self { part, before }
    }

    #[inline(always)]
    fn replace(part: &P, value: T) -> T {
        let mut code = Code::current();
        let before = mem::replace(part(&mut code), value);
        here().code.set(code);
        before
    }
}

impl<T: Copy, P: Fn(&mut Code) -> &mut T> Drop for Part<T, P> {
    #[inline(always)]
    fn drop(&mut self) {
        Self::replace(&self.part, self.before);
    }
}
