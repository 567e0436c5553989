//! [`Thread`]: what a shutdown knows of a worker's thread.

use alloc::{boxed::Box, sync::Arc, vec::Vec};
use core::{future::Future, pin::pin, task::Poll};
use std::{io, time::Instant};

use super::{
    guard::lock,
    latch::{self, Latch, Setter, block_by},
};
use joint_switch::{
    Mutex,
    thread::{self, JoinHandle, ThreadId},
};

/// Starts a thread. Compiled once, and not for each function that a thread runs.
pub(crate) fn start(
    thread: thread::Builder,
    run: Box<dyn FnOnce() + Send>,
) -> io::Result<JoinHandle<()>> {
    thread.spawn(run)
}

/// The threads of an executor, by its workers' indexes.
#[derive(Default)]
pub(crate) struct Threads {
    pub(crate) all: Vec<Thread>,
    /// Whether the executor belongs to a host, which stands in for all threads.
    pub(crate) has_host: bool,
    /// Whether a shutdown has begun.
    pub(crate) is_shut_down: bool,
    /// Whether a call that has shut down has returned before the end. The drop of the executor
    /// then does not wait either.
    pub(crate) is_given_up: bool,
}

pub(crate) struct Thread {
    /// `None` if the executor has not started it, or nobody will join it any more.
    pub(crate) handle: Option<JoinHandle<()>>,
    /// Dropped when code of the worker begins to wait for the end.
    waits: Option<Setter>,
    end: End,
}

/// The end of a worker, for those who wait for it.
#[derive(Clone)]
pub(crate) struct End {
    id: Arc<Mutex<Option<ThreadId>>>,
    /// Set when the worker has ended.
    ended: Latch,
    /// Set when code of the worker waits for the end.
    waits: Latch,
}

/// A worker's side of its [`Thread`].
pub(crate) struct OnThread {
    id: Arc<Mutex<Option<ThreadId>>>,
    _ended: Setter,
}

impl OnThread {
    /// Records that the worker belongs to this thread from now on, or to none.
    pub(crate) fn set(&self, is_here: bool) {
        *lock(&self.id) = is_here.then(|| thread::current().id());
    }
}

impl Thread {
    /// The drop of what is returned first tells that the worker has ended.
    pub(crate) fn new() -> (OnThread, Self) {
        let id = Arc::default();
        let (_ended, ended) = latch::new();
        let (setter, waits) = latch::new();
        let on_thread = OnThread {
            id: Arc::clone(&id),
            _ended,
        };
        let thread = Self {
            handle: None,
            waits: Some(setter),
            end: End { id, ended, waits },
        };
        (on_thread, thread)
    }

    pub(crate) fn end(&self) -> End {
        self.end.clone()
    }

    /// Returns a setter whose drop releases the calls that wait for this worker's end, because code
    /// of this worker begins to wait for theirs. Drop it outside of the lock.
    pub(crate) fn begin_to_wait(&mut self) -> Option<Setter> {
        self.waits.take()
    }
}

impl End {
    /// Whether the worker belongs to the calling thread, which cannot wait for it.
    pub(crate) fn is_here(&self) -> bool {
        *lock(&self.id) == Some(thread::current().id()) && !self.has_come()
    }

    pub(crate) fn has_come(&self) -> bool {
        self.ended.is_set()
    }

    /// Waits until the worker has ended. Returns false if it has not ended by the deadline, or, to
    /// code of another worker, if it waits for the end itself.
    pub(crate) fn wait(&self, deadline: Option<Instant>, is_worker: bool) -> bool {
        let (mut ended, mut waits) = (pin!(self.ended.wait()), pin!(self.waits.wait()));
        block_by(
            deadline,
            &mut |cx| match ended.as_mut().poll(cx).is_ready() {
                false if is_worker => waits.as_mut().poll(cx).map(drop),
                false => Poll::Pending,
                true => Poll::Ready(()),
            },
        );
        self.has_come()
    }
}
