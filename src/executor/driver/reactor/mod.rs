//! [`Reactor`]: the descriptors of one executor, and who waits for each.
//!
//! One thread at a time waits in it; it tells each source of what happened to it, and has the
//! wakers of those who waited. Everybody else tries what he wants to do first, and registers with
//! the source when that would block: `readiness.rs` has the protocol.

pub(crate) mod direction;
mod raw;
mod readiness;
mod registration;
mod selector;
mod source;
#[cfg(test)]
mod tests;

use alloc::{sync::Arc, vec::Vec};
use core::task::Waker;
use std::{collections::HashMap, io, sync::PoisonError};

use slab::Slab;

use self::selector::Selector;
use super::clock::NEVER;
use crate::{
    executor::process::Process,
    sync::{AtomicUsize, Mutex, MutexGuard, order},
};

pub(crate) use raw::Raw;
pub(crate) use registration::Registration;
pub(crate) use selector::Events;
pub(crate) use source::{Interest, Source};

pub(crate) struct Reactor {
    selector: Selector,
    table: Mutex<Table>,
    /// How many entries the table has.
    count: AtomicUsize,
    /// Whose descriptors these are. The child of a fork has an `epoll` in common with its parent,
    /// and leaves it alone.
    process: Process,
}

#[derive(Default)]
struct Table {
    entries: Slab<Entry>,
    /// Which entry has a descriptor's number. Another may have had it before, if that was closed
    /// without being deregistered.
    keys: HashMap<Raw, usize>,
    is_closed: bool,
}

struct Entry {
    raw: Raw,
    source: Arc<Source>,
}

impl Reactor {
    pub(crate) fn new() -> io::Result<Self> {
        Selector::new().map(Self::with)
    }

    fn with(selector: Selector) -> Self {
        Self {
            selector,
            table: Mutex::new(Table::default()),
            count: AtomicUsize::new(0),
            process: Process::current(),
        }
    }

    /// Waits until a descriptor is ready, until that time of the driver's clock, or until
    /// [`interrupt`](Reactor::interrupt) is called, which may have been before. `None`: without
    /// limit. 0: only looks. Those who waited for what is ready are to be woken by the caller.
    ///
    /// It may come back early, with nothing. To wait until the same time again asks the system for
    /// nothing but the wait.
    pub(crate) fn wait(&self, events: &mut Events, until: Option<u64>, woken: &mut Vec<Waker>) {
        self.selector.wait(events, until.unwrap_or(NEVER));
        let table = self.lock();
        self.selector.each(events, |key, event| {
            // Of what is not there any more, there may be an event still; and one for who had the
            // key before does no harm.
            let Some(Entry { raw, source }) = table.entries.get(key) else {
                return;
            };
            // SAFETY: what is in the table has been added, and is deleted after it was taken out.
            unsafe { self.selector.told(*raw, key, source, event) };
            source.event(event, woken);
        });
    }

    /// Makes the call of [`wait`](Reactor::wait) that is under way come back, or else the next.
    pub(crate) fn interrupt(&self) {
        self.selector.interrupt();
    }

    /// Whether there is any descriptor. One load; it may be out of date.
    pub(crate) fn has_sources(&self) -> bool {
        // ORDERING: count_look. Relaxed: a hint. Who waits for a descriptor has seen its own
        // registration.
        self.count.load(order!(count_look: Relaxed)) != 0
    }

    /// Nobody will wait here any more: all that is waited for ends with an error. Takes all wakers.
    pub(crate) fn close(&self) -> Vec<Waker> {
        let mut woken = Vec::new();
        let mut table = self.lock();
        table.is_closed = true;
        for (_, entry) in &table.entries {
            entry.source.end(&mut woken);
        }
        woken
    }

    /// Takes a descriptor in.
    ///
    /// # Errors
    /// What the system says, in words of ours where it can be known what is wrong; and that the
    /// executor is gone.
    ///
    /// # Safety
    /// The descriptor stays open until the registration is dropped.
    pub(crate) unsafe fn register(self: &Arc<Self>, raw: Raw) -> io::Result<Registration> {
        let source = Arc::new(Source::new(self.selector.is_unsure()));
        let mut table = self.lock();
        if table.is_closed {
            return Err(direction::gone());
        }
        let entry = table.entries.vacant_entry();
        let key = entry.key();
        // SAFETY: `deregister` deletes it.
        unsafe { self.selector.add(raw, key) }.map_err(refused)?;
        entry.insert(Entry {
            raw,
            source: source.clone(),
        });
        table.keys.insert(raw, key);
        self.recount(&table);
        drop(table);
        Ok(Registration::new(self.clone(), source, key, raw))
    }

    /// # Safety
    /// The caller is the registration that has the key, once, and its descriptor is open.
    unsafe fn deregister(&self, key: usize, raw: Raw) {
        if !self.process.is_current() {
            return;
        }
        let mut table = self.lock();
        let entry = table.entries.remove(key);
        if table.keys.get(&raw) == Some(&key) {
            table.keys.remove(&raw);
            // SAFETY: passed on from the caller.
            unsafe { self.selector.delete(raw) };
        }
        self.recount(&table);
        drop(table);
        // It may have wakers, whose drop may run anything.
        drop(entry);
    }

    fn recount(&self, table: &Table) {
        // ORDERING: recount. Relaxed: a hint, written under the lock.
        (self.count).store(table.entries.len(), order!(recount: Relaxed));
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What to tell of an error of the system's, when it is known what is wrong.
#[cold]
fn refused(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => io::Error::new(
            io::ErrorKind::Unsupported,
            "the system cannot wait for this kind of descriptor, such as that of a regular file: \
             use it in `spawn_blocking`",
        ),
        io::ErrorKind::AlreadyExists => io::Error::new(
            io::ErrorKind::AlreadyExists,
            "this descriptor is registered already: share the one registration, or duplicate the descriptor",
        ),
        _ => error,
    }
}

impl core::fmt::Debug for Reactor {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reactor")
            .field("has_sources", &self.has_sources())
            .finish_non_exhaustive()
    }
}
