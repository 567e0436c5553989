//! [`Epoll`]: Linux's `epoll`, with one system call for each wait.
//!
//! Descriptors are added once, for all that is waited for, and edge-triggered, so the system
//! reports each change and need not be asked again. Two descriptors of our own are added in the
//! same way. They are never read, because each write and each expiry is a change:
//!
//! * the **bell**, an `eventfd`: one write interrupts the wait;
//! * the **timer**, a `timerfd`: it is set only if the time to wait for is before the time that it
//!   is set to, and not for each wait. So a wait may end before its time.
//!
//! Together with the `epoll` itself, an executor holds three descriptors. The child of a fork
//! inherits them. Dropping the [`Epoll`] in the child only closes the child's copies. The parent
//! does not notice that, because nothing is removed from the `epoll` first.

use alloc::vec::Vec;
use core::{mem, ptr};
use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use libc::{
    EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLLERR, EPOLLET, EPOLLHUP, EPOLLIN, EPOLLOUT, EPOLLPRI,
    EPOLLRDHUP, c_int, epoll_event, itimerspec,
};

use super::{
    super::{
        super::clock::{self, NEVER},
        raw::{Raw, checked},
        readiness::ShortCount,
        ready::Interest,
        source::{Event, Way},
    },
    Selector,
};
use crate::policy::MANY;
use joint_switch::{AtomicU64, order};

/// The keys of our own descriptors. All other keys are descriptors.
const BELL: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;

/// In nanoseconds.
const SECOND: u64 = 1_000_000_000;

#[derive(Default)]
pub(crate) struct Events(Vec<epoll_event>);

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
        // SAFETY: the call has no conditions.
        let epoll = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: as above.
        let bell = owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        add(&epoll, bell.as_raw_fd(), BELL, EPOLLIN)?;
        let timer = Timer::new()?;
        add(&epoll, timer.fd.as_raw_fd(), TIMER, EPOLLIN)?;
        Ok(Self { epoll, bell, timer })
    }

    unsafe fn add(&self, raw: Raw, interest: Interest) -> io::Result<()> {
        let flags = [EPOLLIN | EPOLLRDHUP, EPOLLOUT, EPOLLPRI];
        let mut asked = 0;
        for way in Way::ALL {
            if interest.by(way).is_some() {
                asked |= flags[way as usize];
            }
        }
        add(&self.epoll, raw, raw as u64, asked)
    }

    unsafe fn delete(&self, raw: Raw) {
        // It can fail only for a descriptor that was closed without being deleted, and then there
        // is nothing to delete.
        // SAFETY: this operation reads no event.
        unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), EPOLL_CTL_DEL, raw, ptr::null_mut()) };
    }

    fn wait(&self, Events(events): &mut Events, until: u64) {
        events.clear();
        events.reserve(MANY);
        let only_looks = until == 0 || self.timer.set(until).is_err();
        let timeout: c_int = if only_looks { 0 } else { -1 };
        let (epoll, room) = (self.epoll.as_raw_fd(), events.as_mut_ptr());
        let no_mask: *const libc::sigset_t = ptr::null();
        // By its number, because the C library's `epoll_wait` may cancel the thread, and switches
        // that on and off by two exchanges.
        // SAFETY: there is room for `MANY` events.
        let found = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait,
                epoll,
                room,
                MANY,
                timeout,
                no_mask,
                0_usize,
            )
        };
        // An error is an early return with nothing.
        // SAFETY: the system has written that many events.
        unsafe { events.set_len(found.max(0) as usize) };
    }

    fn each(&self, events: &Events, mut each: impl FnMut(Raw, Event)) {
        for told in &events.0 {
            match told.u64 {
                TIMER => self.timer.expired(),
                BELL => {}
                raw => each(raw as Raw, event(told.events)),
            }
        }
    }

    fn interrupt(&self) {
        let one = ptr::from_ref(&1_u64).cast();
        // It cannot fail: the counter is never read, and is full after 2^64 rings.
        // SAFETY: the number has eight bytes.
        unsafe { libc::write(self.bell.as_raw_fd(), one, size_of::<u64>()) };
    }
}

/// Returns the descriptor that a call has opened.
fn owned(returned: c_int) -> io::Result<OwnedFd> {
    let raw = checked(returned)?;
    // SAFETY: the call has just opened it, and nobody else closes it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

fn add(epoll: &OwnedFd, raw: Raw, key: u64, flags: c_int) -> io::Result<()> {
    let mut event = epoll_event {
        events: (flags | EPOLLET) as u32,
        u64: key,
    };
    // SAFETY: the event can be read.
    checked(unsafe { libc::epoll_ctl(epoll.as_raw_fd(), EPOLL_CTL_ADD, raw, &raw mut event) })?;
    Ok(())
}

fn event(flags: u32) -> Event {
    let any = |of: c_int| flags & of as u32 != 0;
    let failed = any(EPOLLHUP | EPOLLERR);
    let odd = any(EPOLLRDHUP | EPOLLPRI);
    let short = |hides_more| match hides_more {
        true => ShortCount::Unsure,
        false => ShortCount::Exhausted,
    };
    let read = failed || odd || any(EPOLLIN);
    let write = failed || any(EPOLLOUT);
    let exception = failed || any(EPOLLPRI);
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
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        Ok(Self {
            // SAFETY: the call has no conditions.
            fd: owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) })?,
            set_to: AtomicU64::new(NEVER),
        })
    }

    /// Ensures that the timer fires by that time. If it fires before, it is set again then: to set
    /// it takes longer than a wait that ends early.
    fn set(&self, until: u64) -> io::Result<()> {
        // ORDERING: set_look. Relaxed: only the waiting thread is here, and the right to wait is
        // handed on with an order of its own.
        if self.set_to.load(order!(set_look: Relaxed)) <= until {
            return Ok(());
        }
        // 0 would disarm it.
        let expires = until.saturating_sub(clock::now()).max(1);
        // SAFETY: all zeros are a value of the type, which has padding on some systems.
        let mut value: itimerspec = unsafe { mem::zeroed() };
        let seconds = (expires / SECOND).try_into();
        value.it_value.tv_sec = seconds.map_err(|_| io::ErrorKind::InvalidInput)?;
        value.it_value.tv_nsec = (expires % SECOND) as _;
        // SAFETY: the value can be read, and the old one is not asked for.
        let set = unsafe { libc::timerfd_settime(self.fd.as_raw_fd(), 0, &value, ptr::null_mut()) };
        checked(set)?;
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

    /// A new socket has room to write, and nothing to read.
    #[test]
    fn only_what_a_descriptor_is_registered_for_wakes_the_keeper() {
        for (interest, expected) in [
            (Interest::READABLE, 0),
            (Interest::PRIORITY | Interest::ERROR, 0),
            (Interest::WRITABLE, 1),
            (Interest::ALL, 1),
        ] {
            let (epoll, mut events) = (epoll(), Events::default());
            let (ours, peer) = std::os::unix::net::UnixStream::pair().unwrap();
            // SAFETY: the socket is open until the end of this round.
            unsafe { epoll.add(ours.as_raw_fd(), interest) }.unwrap();
            epoll.wait(&mut events, 0);
            assert_eq!(events.0.len(), expected, "{interest:?}");
            drop(peer);
            epoll.wait(&mut events, 0);
            assert_eq!(
                events.0.len(),
                1,
                "{interest:?}: a hang-up is always reported"
            );
        }
    }

    /// The timer stays set while it fires soon enough for each wait.
    #[test]
    fn the_timer_is_set_for_an_earlier_time_alone() {
        let epoll = epoll();
        let left = || {
            // SAFETY: all zeros are a value of the type.
            let mut value: itimerspec = unsafe { mem::zeroed() };
            let timer = epoll.timer.fd.as_raw_fd();
            // SAFETY: there is room for the value.
            let read = unsafe { libc::timerfd_gettime(timer, &raw mut value) };
            checked(read).expect("the timer can be read");
            value.it_value
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
