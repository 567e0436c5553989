//! [`Portable`]: the system's call, by the crate `polling`.

use core::{mem::ManuallyDrop, time::Duration};
use std::{
    collections::HashMap,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use polling::{PollMode, Poller};

use super::{
    super::{
        super::clock::{self, NEVER},
        raw::{self, Raw},
        readiness::ShortCount,
        source::{Event, Interest},
    },
    Events,
};
use crate::process::Process;

pub(crate) struct Portable {
    /// Not dropped in the child of a fork, because that would remove things from its parent.
    poller: ManuallyDrop<Poller>,
    mode: PollMode,
    /// By the keys of the descriptors. Unused if the system reports events by itself.
    asked: Mutex<HashMap<usize, polling::Event>>,
    process: Process,
}

impl Portable {
    pub(super) fn new(mode: PollMode) -> io::Result<Self> {
        let poller = Poller::new()?;
        let mode = match mode {
            PollMode::Edge if poller.supports_edge() => mode,
            _ => PollMode::Oneshot,
        };
        Ok(Self {
            poller: ManuallyDrop::new(poller),
            mode,
            asked: Mutex::default(),
            process: Process::current(),
        })
    }

    fn is_oneshot(&self) -> bool {
        self.mode == PollMode::Oneshot
    }

    fn asked(&self) -> MutexGuard<'_, HashMap<usize, polling::Event>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its events do not report hang-ups, so a hang-up may be behind a short count.
    pub(super) fn short_count(&self) -> ShortCount {
        ShortCount::Unsure
    }

    /// # Safety
    /// As for [`Selector::add`](super::Selector::add).
    pub(super) unsafe fn add(&self, raw: Raw, key: usize) -> io::Result<()> {
        let asked = match self.mode {
            PollMode::Oneshot => polling::Event::none(key),
            _ => polling::Event::all(key),
        };
        if self.is_oneshot() {
            self.asked().insert(key, asked);
        }
        // SAFETY: the caller deletes the descriptor before it is closed.
        unsafe { (self.poller).add_with_mode(raw, asked, self.mode) }
    }

    /// # Safety
    /// As for [`Selector::arm`](super::Selector::arm).
    pub(super) unsafe fn arm(&self, raw: Raw, key: usize, interest: Interest) -> io::Result<()> {
        if !self.is_oneshot() {
            return Ok(());
        }
        let mut all = self.asked();
        let asked = all.entry(key).or_insert(polling::Event::none(key));
        match interest {
            Interest::Read => asked.readable = true,
            Interest::Write => asked.writable = true,
        }
        // SAFETY: the caller promises it.
        unsafe { self.ask(raw, *asked) }
    }

    /// Asks again for the events that were not reported, because the system has forgotten both
    /// kinds. A waiter for what was reported must ask again itself. This is done before the event
    /// is raised. A waiter that asks after this is heard, and a waiter that has asked before is
    /// woken by the event.
    ///
    /// # Safety
    /// As for [`Selector::told`](super::Selector::told).
    pub(super) unsafe fn told(&self, raw: Raw, key: usize, event: Event) {
        if !self.is_oneshot() {
            return;
        }
        let mut all = self.asked();
        let asked = all.entry(key).or_insert(polling::Event::none(key));
        asked.readable &= !event.readable;
        asked.writable &= !event.writable;
        if asked.readable || asked.writable {
            // SAFETY: the caller promises it. A descriptor that was closed without being deleted is
            // refused.
            let _ = unsafe { self.ask(raw, *asked) };
        }
    }

    /// # Safety
    /// The descriptor is open.
    unsafe fn ask(&self, raw: Raw, asked: polling::Event) -> io::Result<()> {
        // SAFETY: the caller promises it.
        let source = unsafe { raw::borrow(raw) };
        self.poller.modify_with_mode(source, asked, self.mode)
    }

    /// # Safety
    /// As for [`Selector::delete`](super::Selector::delete).
    pub(super) unsafe fn delete(&self, raw: Raw) {
        // SAFETY: the caller promises it.
        let source = unsafe { raw::borrow(raw) };
        // It can fail only for a descriptor that was closed without being deleted, and then there
        // is nothing to delete.
        let _ = self.poller.delete(source);
    }

    pub(super) fn wait(&self, events: &mut Events, until: u64) {
        let events = events.portable.get_or_insert_with(polling::Events::new);
        events.clear();
        let limit = match until {
            NEVER => None,
            0 => Some(Duration::ZERO),
            _ => Some(Duration::from_nanos(until.saturating_sub(clock::now()))),
        };
        // An error is an early return with nothing.
        let _ = self.poller.wait(events, limit);
    }

    pub(super) fn each(&self, events: &Events, mut each: impl FnMut(usize, Event)) {
        for told in events.portable.iter().flat_map(polling::Events::iter) {
            let odd = told.is_interrupt() || told.is_err() == Some(true);
            let event = Event {
                readable: told.readable || odd,
                writable: told.writable || odd,
                ..Event::default()
            };
            each(told.key, event);
        }
    }

    pub(super) fn interrupt(&self) {
        // Nothing can be done about an error, which no system documents.
        let _ = self.poller.notify();
    }
}

impl Drop for Portable {
    fn drop(&mut self) {
        if self.process.is_current() {
            // SAFETY: the poller is dropped here, once, at the end.
            unsafe { ManuallyDrop::drop(&mut self.poller) };
        }
    }
}
