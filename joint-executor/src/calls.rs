//! [`Calls`]: the functions of `spawn_blocking` that a shutdown waits for.

use alloc::{
    sync::{Arc, Weak},
    vec::Vec,
};
use core::{cell::Cell, ptr};
use std::time::Instant;

use crate::{
    guard::{lock, with_value},
    latch::{self, Latch, Setter},
    process::Process,
};
use joint_switch::{Mutex, Renewed, thread_local};

thread_local! {
    /// That of the function that this thread calls, or null.
    static CALLED: Cell<*const Setter> = const { Cell::new(ptr::null()) };
}

pub(crate) fn call<R>(counted: &Call, f: impl FnOnce() -> R) -> R {
    CALLED.with(|called| with_value(called, Arc::as_ptr(counted), f))
}

/// Belongs to a function until its end.
pub(crate) type Call = Arc<Setter>;

/// The functions of `spawn_blocking` that code of one executor has started.
pub(crate) struct Calls(Mutex<State>);

#[derive(Default)]
struct State {
    /// Cloned for each new function.
    open: Option<Call>,
    /// All that may not have ended: those of `open`, and those for which calls wait or have waited.
    started: Vec<Started>,
}

#[derive(Clone)]
struct Started {
    calls: Weak<Setter>,
    /// Set once all of them have ended.
    ended: Latch,
}

impl Calls {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State::default()))
    }

    /// Returns those of the functions that are started outside all executors.
    pub(crate) fn outside() -> &'static Self {
        static OUTSIDE: Renewed<(Process, Calls)> = Renewed::new();
        let fits = |(process, _): &(Process, _)| process.is_current();
        &OUTSIDE.get(fits, || (Process::current(), Self::new())).1
    }

    pub(crate) fn begin(&self) -> Call {
        self.with(|state| {
            let started = &mut state.started;
            let open = state.open.get_or_insert_with(|| {
                let (sender, ended) = latch::new();
                let open = Arc::new(sender);
                let calls = Arc::downgrade(&open);
                started.push(Started { calls, ended });
                open
            });
            open.clone()
        })
    }

    /// Waits until all functions have ended that have begun. Returns how many have not ended by the
    /// deadline. If the caller is one of them, it waits for none.
    #[inline]
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> usize {
        let begun = |state: &mut State| (state.open.take(), state.started.clone());
        let (open, started) = self.with(begun);
        drop(open);
        let called = CALLED.with(Cell::get);
        if !(started.iter()).any(|started| ptr::eq(started.calls.as_ptr(), called)) {
            for Started { ended, .. } in &started {
                ended.block(deadline);
            }
        }
        self.with(|state| state.started.retain(|one| !one.ended.is_set()));
        let mut left = 0;
        for one in &started {
            if !one.ended.is_set() {
                left += one.calls.strong_count();
            }
        }
        left
    }

    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut lock(&self.0))
    }
}
