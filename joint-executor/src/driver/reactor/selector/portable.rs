//! [`Portable`]: the system's call, by the crate `polling`.

use core::{mem::ManuallyDrop, time::Duration};
use std::{
    collections::HashMap,
    io,
    panic::{RefUnwindSafe, UnwindSafe},
    sync::{Mutex, MutexGuard, PoisonError},
};

use polling::{PollMode, Poller};

use super::{
    super::{
        super::clock,
        raw::{self, Raw},
        readiness::ShortCount,
        ready::Interest,
        source::{Event, Way},
    },
    Selector,
};
use crate::process::Process;

#[derive(Debug)]
pub(crate) struct Portable {
    /// Not dropped in the child of a fork, because that would remove things from its parent.
    poller: ManuallyDrop<Poller>,
    mode: PollMode,
    /// The events that each descriptor waits for. Unused if the system reports events by itself.
    asked: Mutex<HashMap<Raw, polling::Event>>,
    process: Process,
}

/// As on Linux: a panic leaves nothing half done here, and the lock is taken in spite of one.
impl UnwindSafe for Portable {}
impl RefUnwindSafe for Portable {}

#[derive(Default)]
pub(crate) struct Events(Option<polling::Events>);

impl Portable {
    /// Reports events by `mode` if the system can, and otherwise once for each time that it is
    /// asked.
    pub(crate) fn with(mode: PollMode) -> io::Result<Self> {
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

    fn asked(&self) -> MutexGuard<'_, HashMap<Raw, polling::Event>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what a descriptor waits for, and asks the system for that, if it must be asked each
    /// time.
    ///
    /// # Safety
    /// The descriptor is open.
    unsafe fn ask(&self, raw: Raw, change: impl FnOnce(&mut polling::Event)) -> io::Result<()> {
        if self.mode != PollMode::Oneshot {
            return Ok(());
        }
        let mut all = self.asked();
        let asked = all.entry(raw).or_insert(polling::Event::none(raw as usize));
        change(asked);
        if !asked.readable && !asked.writable {
            return Ok(());
        }
        // SAFETY: the caller promises it.
        let source = unsafe { raw::borrow(raw) };
        self.poller.modify_with_mode(source, *asked, self.mode)
    }
}

impl Selector for Portable {
    type Events = Events;

    /// Its events do not report hang-ups, so a hang-up may be behind a short count.
    const SHORT_COUNT: ShortCount = ShortCount::Unsure;

    fn new() -> io::Result<Self> {
        Self::with(PollMode::Edge)
    }

    unsafe fn add(&self, raw: Raw, interest: Interest) -> io::Result<()> {
        let mut asked = polling::Event::none(raw as usize);
        if self.mode != PollMode::Oneshot {
            asked.readable = interest.is_readable();
            asked.writable = interest.is_writable();
        }
        // SAFETY: the caller deletes the descriptor before it is closed.
        unsafe { (self.poller).add_with_mode(raw, asked, self.mode) }
    }

    unsafe fn arm(&self, raw: Raw, way: Way) -> io::Result<()> {
        let change = |asked: &mut polling::Event| match way {
            Way::Read => asked.readable = true,
            Way::Write => asked.writable = true,
            // Nobody can wait for exceptions alone.
            Way::Exception => {}
        };
        // SAFETY: the caller promises it.
        unsafe { self.ask(raw, change) }
    }

    /// The system has forgotten both kinds. A waiter for what was reported must ask again itself.
    /// This is done before the event is raised. A waiter that asks after this is heard, and a
    /// waiter that has asked before is woken by the event.
    unsafe fn told(&self, raw: Raw, [read, write, _]: Event) {
        let change = |asked: &mut polling::Event| {
            asked.readable &= read.is_none();
            asked.writable &= write.is_none();
        };
        // SAFETY: the caller promises it. A descriptor that was closed without being deleted is
        // refused.
        let _ = unsafe { self.ask(raw, change) };
    }

    unsafe fn delete(&self, raw: Raw) {
        self.asked().remove(&raw);
        // SAFETY: the caller promises it.
        let source = unsafe { raw::borrow(raw) };
        // It can fail only for a descriptor that was closed without being deleted, and then there
        // is nothing to delete.
        let _ = self.poller.delete(source);
    }

    fn wait(&self, Events(events): &mut Events, until: u64) {
        let events = events.get_or_insert_with(polling::Events::new);
        events.clear();
        let left = || Duration::from_nanos(until.saturating_sub(clock::now()));
        // An error is an early return with nothing.
        let _ = (self.poller).wait(events, (until != clock::NEVER).then(left));
    }

    fn each(&self, events: &Events, mut each: impl FnMut(Raw, Event)) {
        for told in events.0.iter().flat_map(polling::Events::iter) {
            let odd = told.is_interrupt() || told.is_err() == Some(true);
            let ready = [told.readable || odd, told.writable || odd, false];
            let event = ready.map(|is_ready| is_ready.then_some(Self::SHORT_COUNT));
            each(told.key as Raw, event);
        }
    }

    fn interrupt(&self) {
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
