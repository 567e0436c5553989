//! [`Reactor`]: the descriptors of one executor, and the wakers that wait for each.
//!
//! One thread at a time waits in it. That thread reports to each source what happened to it, and
//! collects the wakers that waited. Every other thread first tries its operation, and registers
//! with the source if the operation would block. `readiness.rs` has the protocol.

#[cfg(feature = "dump")]
mod described;
pub(crate) mod direction;
mod raw;
pub(crate) mod readiness;
mod ready;
mod registration;
mod selector;
mod source;
mod sources;
#[cfg(test)]
mod tests;

use alloc::{sync::Arc, vec::Vec};
use core::task::Waker;
use std::io;

use self::{
    selector::{Selector, System},
    sources::Sources,
};
use crate::{guard::lock, process::Process};
use joint_switch::{AtomicUsize, Mutex, order};

pub(crate) use super::event_source::EventSource;
pub(crate) use direction::SharedTurn;
#[cfg(unix)]
pub(crate) use raw::checked;
pub(crate) use raw::{Open, Raw, borrow, number};
pub use ready::{Interest, Ready};
pub(crate) use registration::{Found, Registration, would_block};
pub(crate) use source::{Source, Way};

pub(crate) struct Reactor<S: Selector = System> {
    selector: S,
    table: Mutex<Table>,
    /// The number of sources in the table.
    count: AtomicUsize,
    /// The process that the descriptors belong to. The child of a fork shares an `epoll` with its
    /// parent, and must leave it alone.
    process: Process,
}

#[derive(Default)]
struct Table {
    /// The source of each descriptor. If a descriptor was closed without being deregistered, its
    /// number may have become that of a later source.
    sources: Sources,
    is_closed: bool,
}

impl<S: Selector> EventSource for Reactor<S> {
    type Events = S::Events;

    fn new() -> io::Result<Self> {
        S::new().map(Self::with)
    }

    fn wait(&self, events: &mut S::Events, until: u64, woken: &mut Vec<Waker>) {
        self.selector.wait(events, until);
        let table = lock(&self.table);
        self.selector.each(events, |raw, event| {
            // A removed source may still have an event in flight, and its number may have been
            // reused. Both cases are harmless: the new owner sees a spurious readiness.
            let Some(source) = table.sources.get(&raw) else {
                return;
            };
            // SAFETY: a source in the table has been added to the selector, and is deleted from it
            // only after it was removed from the table.
            unsafe { self.selector.told(raw, event) };
            source.event(event, woken);
        });
    }

    fn interrupt(&self) {
        self.selector.interrupt();
    }

    fn has_sources(&self) -> bool {
        // ORDERING: count_look. Relaxed: a hint. A thread that waits for a descriptor has seen its
        // own registration.
        self.count.load(order!(count_look: Relaxed)) != 0
    }

    fn close(&self) -> Vec<Waker> {
        let mut woken = Vec::new();
        let mut table = lock(&self.table);
        table.is_closed = true;
        for (_, source) in table.sources.iter() {
            source.end(&mut woken);
        }
        woken
    }
}

impl<S: Selector> Reactor<S> {
    fn with(selector: S) -> Self {
        Self {
            selector,
            table: Mutex::new(Table::default()),
            count: AtomicUsize::new(0),
            process: Process::current(),
        }
    }

    /// Registers a descriptor for what can be waited for later.
    ///
    /// # Errors
    /// The system's error, in words of our own if the cause is known; and an error if the executor
    /// has ended.
    ///
    /// # Safety
    /// The descriptor stays open until the registration is dropped.
    pub(crate) unsafe fn register(
        self: &Arc<Self>,
        raw: Raw,
        interest: Interest,
    ) -> io::Result<Registration<S>> {
        let source = Arc::new(Source::new(S::SHORT_COUNT, interest));
        let mut table = lock(&self.table);
        if table.is_closed {
            return Err(readiness::gone());
        }
        // SAFETY: the descriptor stays open until `deregister` deletes it.
        unsafe { self.selector.add(raw, interest) }.map_err(refused)?;
        table.sources.insert(raw, source.clone());
        self.recount(&table);
        drop(table);
        Ok(Registration {
            reactor: self.clone(),
            source,
            raw,
        })
    }

    /// Calls `f` with each descriptor, the direction and the waker of each task that waits for it.
    #[cfg(feature = "dump")]
    pub(crate) fn each_waker(&self, mut f: impl FnMut(Raw, Way, &Waker)) {
        for (raw, source) in lock(&self.table).sources.iter() {
            let raw = raw.to_owned();
            for way in Way::ALL {
                source.direction(way).each_waker(|waker| f(raw, way, waker));
            }
        }
    }

    /// Returns what a descriptor is, if it is registered.
    #[cfg(feature = "dump")]
    pub(crate) fn describe(&self, raw: Raw) -> Option<String> {
        let table = lock(&self.table);
        table.sources.get(&raw)?;
        // SAFETY: a registered descriptor is open until `deregister` has had this lock.
        unsafe { described::describe(raw) }
    }

    /// # Safety
    /// The caller is the registration that has the source, and its descriptor is open.
    unsafe fn deregister(&self, raw: Raw, source: &Arc<Source>) {
        if !self.process.is_current() {
            return;
        }
        let mut table = lock(&self.table);
        let registered = table.sources.get(&raw);
        if registered.is_some_and(|registered| Arc::ptr_eq(registered, source)) {
            table.sources.remove(&raw);
            // SAFETY: the caller promises it.
            unsafe { self.selector.delete(raw) };
            self.recount(&table);
        }
    }

    fn recount(&self, table: &Table) {
        // ORDERING: recount. Relaxed: a hint, written under the lock.
        (self.count).store(table.sources.len(), order!(recount: Relaxed));
    }
}

#[cold]
fn refused(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => io::Error::new(
            io::ErrorKind::Unsupported,
            "the system cannot wait for this kind of descriptor, which may be that of a regular \
             file; use it in `spawn_blocking`",
        ),
        io::ErrorKind::AlreadyExists => io::Error::new(
            io::ErrorKind::AlreadyExists,
            "this descriptor is registered already; share its registration, or duplicate the \
             descriptor",
        ),
        _ => error,
    }
}

impl<S: Selector> core::fmt::Debug for Reactor<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reactor")
            .field("has_sources", &self.has_sources())
            .finish_non_exhaustive()
    }
}
