//! [`Calls`]: the functions of `spawn_blocking` that a shutdown waits for.

use alloc::{
    sync::{Arc, Weak},
    vec::Vec,
};
use core::{convert::Infallible, mem};
use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

use crate::process::Process;
use joint::{
    block_on,
    oneshot::{self, Receiver, RecvTimeoutError, Sender},
};
use joint_switch::Renewed;

/// Belongs to a function until its end.
pub(crate) type Call = Arc<Sender<Infallible>>;

/// The functions of `spawn_blocking` that code of one executor has started.
pub(crate) struct Calls(Mutex<State>);

#[derive(Default)]
struct State {
    /// Cloned for each new function.
    open: Option<Call>,
    /// All that have not been waited for: those of `open`, and those that a shutdown has left.
    started: Vec<Started>,
}

/// Functions that are waited for together.
struct Started {
    calls: Weak<Sender<Infallible>>,
    /// Closed once all of them have ended.
    ended: Receiver<Infallible>,
}

impl Calls {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    /// Returns those of the functions that are started outside all executors.
    pub(crate) fn outside() -> &'static Self {
        static OUTSIDE: Renewed<(Process, Calls)> = Renewed::new();
        let fits = |(process, _): &(Process, _)| process.is_current();
        &OUTSIDE.get(fits, || (Process::current(), Self::new())).1
    }

    /// Counts a new function.
    pub(crate) fn begin(&self) -> Call {
        self.with(|state| {
            let started = &mut state.started;
            let open = state.open.get_or_insert_with(|| {
                let (sender, ended) = oneshot::channel();
                let open = Arc::new(sender);
                let calls = Arc::downgrade(&open);
                started.push(Started { calls, ended });
                open
            });
            open.clone()
        })
    }

    /// Waits until all functions have ended that have begun. Returns how many have not ended by the
    /// deadline.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> usize {
        let State { open, mut started } = self.with(mem::take);
        drop(open);
        started.retain_mut(|started| started.wait(deadline) == Err(RecvTimeoutError::Timeout));
        let left = |started: &Started| started.calls.strong_count();
        let left = started.iter().map(left).sum();
        self.with(|state| state.started.append(&mut started));
        left
    }

    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Started {
    fn wait(&mut self, deadline: Option<Instant>) -> Result<Infallible, RecvTimeoutError> {
        match deadline {
            Some(deadline) => self.ended.blocking_recv_deadline(deadline),
            None => Ok(block_on(&mut self.ended)?),
        }
    }
}
