//! [`Epoll`]: Linux's `epoll`, with one system call for each wait.
//!
//! Descriptors are added once, for both directions, and edge-triggered, so the system reports each
//! change and need not be asked again. Two descriptors of our own are added in the same way. They
//! are never read, because each write and each expiry is a change:
//!
//! * the **bell**, an `eventfd`: one write interrupts the wait;
//! * the **timer**, a `timerfd`: it is set only if the time to wait for is before the time that it
//!   is set to, and not for each wait. So a wait may end before its time.
//!
//! Together with the `epoll` itself, an executor holds three descriptors. The child of a fork
//! inherits them. Dropping the [`Epoll`] in the child only closes the child's copies. The parent
//! does not notice that, because nothing is removed from the `epoll` first.

use alloc::vec::Vec;
use core::time::Duration;
use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    buffer::spare_capacity,
    event::{
        EventfdFlags,
        epoll::{self, CreateFlags, EventData, EventFlags},
        eventfd,
    },
    io::Errno,
    time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    },
};

use super::{
    super::{
        super::clock::{self, NEVER},
        raw::{self, Raw},
        readiness::ShortCount,
        source::Event,
    },
    Selector,
};
use joint_switch::{AtomicU64, order};

/// The largest number of events that one wait returns.
const MOST: usize = 1024;

/// The keys of our own descriptors. All other keys are descriptors.
const BELL: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;

#[derive(Default)]
pub(crate) struct Events(Vec<epoll::Event>);

// SAFETY: the field of an event that could be a pointer is always a key here.
unsafe impl Send for Events {}

#[derive(Debug)]
pub(crate) struct Epoll {
    epoll: OwnedFd,
    bell: OwnedFd,
    timer: Timer,
}

impl Selector for Epoll {
    type Events = Events;

    /// Nothing is left, because an event reports a hang-up.
    const SHORT_COUNT: ShortCount = ShortCount::Exhausted;

    fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        add(&epoll, &bell, BELL, EventFlags::IN)?;
        let timer = Timer::new()?;
        add(&epoll, &timer.fd, TIMER, EventFlags::IN)?;
        Ok(Self { epoll, bell, timer })
    }

    unsafe fn add(&self, raw: Raw) -> io::Result<()> {
        // SAFETY: the caller's descriptor is open.
        let fd = unsafe { raw::borrow(raw) };
        let both = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::PRI;
        Ok(add(&self.epoll, fd, raw as u64, both)?)
    }

    unsafe fn delete(&self, raw: Raw) {
        // SAFETY: the caller promises it.
        let fd = unsafe { raw::borrow(raw) };
        // It can fail only for a descriptor that was closed without being deleted, and then there
        // is nothing to delete.
        let _ = epoll::delete(&self.epoll, fd);
    }

    fn wait(&self, Events(events): &mut Events, until: u64) {
        events.clear();
        events.reserve(MOST);
        let only_looks = until == 0 || self.timer.set(until).is_err();
        let timeout = only_looks.then(Timespec::default);
        // An error is an early return with nothing.
        let _ = epoll::wait(&self.epoll, spare_capacity(events), timeout.as_ref());
    }

    fn each(&self, events: &Events, mut each: impl FnMut(Raw, Event)) {
        for told in &events.0 {
            match told.data.u64() {
                TIMER => self.timer.expired(),
                BELL => {}
                raw => each(raw as Raw, event(told.flags)),
            }
        }
    }

    fn interrupt(&self) {
        // It cannot fail: the counter is never read, and is full after 2^64 rings.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }
}

fn add(epoll: &OwnedFd, fd: impl AsFd, key: u64, flags: EventFlags) -> Result<(), Errno> {
    epoll::add(epoll, fd, EventData::new_u64(key), flags | EventFlags::ET)
}

fn event(flags: EventFlags) -> Event {
    let failed = flags.intersects(EventFlags::HUP | EventFlags::ERR);
    let odd = flags.intersects(EventFlags::RDHUP | EventFlags::PRI);
    let short = |hides_more| match hides_more {
        true => ShortCount::Unsure,
        false => ShortCount::Exhausted,
    };
    let read = failed || odd || flags.contains(EventFlags::IN);
    let write = failed || flags.contains(EventFlags::OUT);
    let exception = failed || flags.contains(EventFlags::PRI);
    [
        read.then(|| short(failed || odd)),
        write.then(|| short(failed)),
        exception.then_some(ShortCount::Unsure),
    ]
}

#[derive(Debug)]
struct Timer {
    fd: OwnedFd,
    /// The time at which the timer fires, by the driver's clock, or `NEVER` if it is not set.
    set_to: AtomicU64,
}

impl Timer {
    fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Self {
            fd: timerfd_create(TimerfdClockId::Monotonic, flags)?,
            set_to: AtomicU64::new(NEVER),
        })
    }

    /// Ensures that the timer fires by that time. If it fires before, it is set again then: to set
    /// it takes longer than a wait that ends early.
    fn set(&self, until: u64) -> Result<(), Errno> {
        // ORDERING: set_look. Relaxed: only the waiting thread is here, and the right to wait is
        // handed on with an order of its own.
        if self.set_to.load(order!(set_look: Relaxed)) <= until {
            return Ok(());
        }
        // 0 would disarm it.
        let expires = until.saturating_sub(clock::now()).max(1);
        let expires = Timespec::try_from(Duration::from_nanos(expires));
        let value = Itimerspec {
            it_interval: Timespec::default(),
            it_value: expires.map_err(|_| Errno::OVERFLOW)?,
        };
        timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &value)?;
        // ORDERING: set. Relaxed: as for `set_look`.
        self.set_to.store(until, order!(set: Relaxed));
        Ok(())
    }

    fn expired(&self) {
        // ORDERING: expired. Relaxed: as for `set_look`.
        self.set_to.store(NEVER, order!(expired: Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoll() -> Epoll {
        Epoll::new().expect("there are enough descriptors")
    }

    fn wait(epoll: &Epoll, until: u64) -> usize {
        let mut events = Events::default();
        epoll.wait(&mut events, until);
        epoll.each(&events, |key, _| panic!("unexpected event of {key}"));
        events.0.len()
    }

    /// The timer stays set while it fires soon enough for each wait.
    #[test]
    fn the_timer_is_set_for_an_earlier_time_alone() {
        let epoll = epoll();
        let left = || {
            rustix::time::timerfd_gettime(&epoll.timer.fd)
                .expect("the timer can be read")
                .it_value
        };
        let hour = 3_600_000_000_000;
        for (hours, seconds) in [(3, 10_800), (2, 7_200), (2, 7_200), (3, 7_200)] {
            epoll.interrupt();
            assert_eq!(wait(&epoll, clock::now() + hours * hour), 1);
            assert!((seconds - 10..=seconds).contains(&left().tv_sec));
        }
        epoll.interrupt();
        assert_eq!(wait(&epoll, NEVER), 1);
        assert!((7_190..=7_200).contains(&left().tv_sec));
        // A timer that has expired can be set for the same time again.
        let past = clock::now();
        assert_eq!((wait(&epoll, past), wait(&epoll, past)), (1, 1));
    }
}
