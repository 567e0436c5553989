//! [`Driver`], and [`Keeper`], the one worker that waits in it.

use alloc::{sync::Arc, vec::Vec};
use core::{task::Waker, time::Duration};
use std::{io, sync::TryLockError};

use super::{
    clock::{self, NEVER},
    due::Due,
    reactor::{EventSource, Reactor},
    timers::Timers,
};
use crate::{guard::lock, padded::one_each, policy::STUCK, punctual::punctually, sleep::Sleep};
use joint_switch::{AtomicU64, AtomicUsize, Mutex, MutexGuard, OnceLock, order, recheck, thread};

/// The value of `asleep_until` while no keeper sleeps.
const AWAKE: u64 = 0;

pub(crate) struct Driver<R: EventSource = Reactor> {
    /// The timers of each worker, and last those of all other threads.
    timers: Vec<Arc<Timers>>,
    reactor: OnceLock<Arc<R>>,
    /// Held by the thread that makes the reactor. True once the driver is closed.
    making: Mutex<bool>,
    /// Not 0 once a timer or a descriptor has been added.
    used: AtomicUsize,
    asleep_until: AtomicU64,
    due: Due,
    buffers: Mutex<Buffers<R::Events>>,
}

#[derive(Default)]
struct Buffers<E> {
    events: E,
    woken: Vec<Waker>,
}

impl<R: EventSource> Driver<R> {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            timers: one_each(workers + 1, |_| Arc::new(Timers::new())),
            reactor: OnceLock::new(),
            making: Mutex::new(false),
            used: AtomicUsize::new(0),
            asleep_until: AtomicU64::new(AWAKE),
            due: Due::new(),
            buffers: Mutex::default(),
        }
    }

    /// Returns whether there has ever been a timer or a descriptor.
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        // ORDERING: used_look. Relaxed: if the value matters, the fences of the sleep protocol
        // order it.
        self.used.load(order!(used_look: Relaxed)) != 0
    }

    pub(crate) fn is_vacant(&self) -> bool {
        self.keep().is_some()
    }

    /// Makes the calling worker the keeper, if the driver is in use and no other worker keeps it.
    pub(crate) fn keep(&self) -> Option<Keeper<'_, R>> {
        if !self.is_used() {
            return None;
        }
        let buffers = match self.buffers.try_lock() {
            Ok(buffers) => buffers,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Keeper {
            driver: self,
            buffers,
        })
    }

    pub(crate) fn is_kept(&self) -> bool {
        // ORDERING: kept_look. Relaxed: ordered by the fence of `found`, or else a hint.
        self.asleep_until.load(order!(kept_look: Relaxed)) != AWAKE
    }

    /// Makes it seem that a keeper sleeps here without limit, or that none does.
    #[cfg(test)]
    pub(crate) fn set_kept(&self, is_kept: bool) {
        let until = if is_kept { NEVER } else { AWAKE };
        let asleep_until = &self.asleep_until;
        asleep_until.store(until, core::sync::atomic::Ordering::Relaxed);
    }

    pub(crate) fn due(&self) -> &Due {
        &self.due
    }

    /// Returns the timers of a worker, or those of all other threads, whose index follows the last
    /// worker's.
    pub(crate) fn timers(&self, worker: usize) -> &Arc<Timers> {
        &self.timers[worker]
    }

    pub(crate) fn all_timers(&self) -> &[Arc<Timers>] {
        &self.timers
    }

    /// Returns a time before which no timer is due, or `NEVER`, and the queue in which it is the
    /// first deadline. It may be out of date.
    fn first(&self) -> (u64, usize) {
        let all = self.timers.iter().enumerate();
        let first = all.map(|(queue, timers)| (timers.earliest(), queue)).min();
        first.expect("those of other threads are always there")
    }

    /// Returns the earliest deadline of the timers that were not given up, or `limit` if none is
    /// before that. It may be out of date.
    pub(crate) fn next_deadline(&self, limit: u64) -> u64 {
        loop {
            let (earliest, queue) = self.first();
            if earliest >= limit {
                return limit;
            }
            if self.timers[queue].settle() == earliest {
                return earliest;
            }
        }
    }

    /// How long a blocked worker that has just checked the driver may sleep. `None` means without
    /// limit, because the driver has never been used, and its first use unparks every worker.
    pub(crate) fn next_blocked_look(&self) -> Option<Duration> {
        if !self.is_used() {
            return None;
        }
        let now = clock::now();
        let look = self.next_deadline(clock::after(now, STUCK));
        Some(Duration::from_nanos(look.saturating_sub(now)))
    }

    /// When a worker that does not wait here, but whose turn it would be, must check the driver:
    /// at the earliest deadline, or soon once there is a reactor. `None` means never, because
    /// another worker waits here, or because the next deadline will wake a worker.
    pub(crate) fn next_unkept_look(&self) -> Option<u64> {
        if !self.is_vacant() {
            return None;
        }
        let look = (self.reactor.get()).map_or(NEVER, |_| clock::after(clock::now(), STUCK));
        Some(self.next_deadline(look)).filter(|&look| look != NEVER)
    }

    pub(crate) fn has_sources(&self) -> bool {
        (self.reactor.get()).is_some_and(|reactor| reactor.has_sources())
    }

    /// Call this after `deadline` becomes the earliest of some timers, or with 0 after the reactor
    /// has been made. It wakes a keeper that sleeps beyond the deadline. If no keeper sleeps here,
    /// it calls `if_awake`, which must ensure that some worker is awake.
    pub(crate) fn hurry(&self, deadline: u64, sleep: &Sleep, if_awake: impl FnOnce()) {
        if !self.is_used() {
            // ORDERING: used. Relaxed: ordered by the fences of the sleep protocol, and for a
            // blocked worker by the unpark.
            self.used.store(1, order!(used: Relaxed));
            // A blocked worker that saw the driver unused sleeps without limit.
            sleep.unpark_all();
        }
        // This exchange changes nothing, but has its place in the order of the keeper's exchanges.
        // ORDERING: hurry. Release, with `asleep`: a keeper that goes to sleep after this sees the
        // deadline. Acquire, with `asleep`: its word shows that it is parked (`sleep.rs`).
        let until = self.asleep_until.fetch_add(0, order!(hurry: AcqRel));
        if until == AWAKE {
            if_awake();
        } else if until > deadline {
            sleep.wake_keeper();
        }
    }

    pub(crate) fn reactor(&self) -> io::Result<(&Arc<R>, Obtained)> {
        if let Some(reactor) = self.reactor.get() {
            return Ok((reactor, Obtained::Found));
        }
        let is_closed = lock(&self.making);
        let mut obtained = Obtained::Found;
        if self.reactor.get().is_none() {
            let reactor = R::new()?;
            // A keeper that was woken while there was no reactor to ring may enter the reactor only
            // now. The first wait therefore returns at once, and the keeper checks its signal
            // again.
            reactor.interrupt();
            if *is_closed {
                // No worker will wait there.
                drop(reactor.close());
            }
            let _set = self.reactor.set(Arc::new(reactor));
            obtained = Obtained::Made;
        }
        let reactor = self.reactor.get().expect("the reactor has just been made");
        Ok((reactor, obtained))
    }

    #[cfg(all(feature = "dump", feature = "io"))]
    pub(crate) fn made_reactor(&self) -> Option<&R> {
        self.reactor.get().map(|reactor| &**reactor)
    }

    /// Interrupts the keeper's current wait, or else the next one. The caller must also unpark a
    /// keeper that waits on its thread's parker. Without a reactor there is nothing to ring, and
    /// [`reactor`](Driver::reactor) makes up for that.
    pub(crate) fn ring(&self) {
        if let Some(reactor) = self.reactor.get() {
            reactor.interrupt();
        }
    }

    /// Shuts the driver down after its executor has ended, and ends every wait here. Returns the
    /// wakers to wake. A task that waits on another executor for something that was served here
    /// must be woken, and then learns of the end.
    pub(crate) fn close(&self) -> Vec<Waker> {
        let mut woken = Vec::new();
        for timers in &self.timers {
            woken.extend(timers.close());
        }
        *lock(&self.making) = true;
        if let Some(reactor) = self.reactor.get() {
            woken.extend(reactor.close());
        }
        while let Some(waker) = self.due.pop() {
            woken.push(waker);
        }
        woken
    }
}

/// How a call has obtained the reactor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obtained {
    Found,
    /// The caller must call [`hurry`](Driver::hurry).
    Made,
}

/// The right to keep the driver. No other thread keeps it meanwhile.
pub(crate) struct Keeper<'a, R: EventSource = Reactor> {
    driver: &'a Driver<R>,
    buffers: MutexGuard<'a, Buffers<R::Events>>,
}

impl<R: EventSource> Keeper<'_, R> {
    /// Sleeps until there is something to do, until the driver is rung, or until `limit` has
    /// passed. Returns whether there is something to wake.
    pub(crate) fn park(&mut self, limit: Option<Duration>) -> bool {
        let now = clock::now();
        let limit = limit.map_or(NEVER, |limit| clock::after(now, limit));
        let until = self.set_asleep_until(limit);
        if until > now {
            self.wait(until, now);
        }
        // This is an exchange, so that what `hurry` has released to it passes on to the next
        // `asleep`.
        // ORDERING: rise. Relaxed: `asleep` acquires.
        self.driver.asleep_until.swap(AWAKE, order!(rise: Relaxed));
        self.has_found()
    }

    fn has_found(&self) -> bool {
        let is_due = |later| self.driver.next_deadline(later) < later;
        !self.buffers.woken.is_empty() || is_due(clock::now() + 1)
    }

    /// Writes down until when the keeper sleeps, and returns that time: the earliest deadline or
    /// the limit.
    fn set_asleep_until(&self, limit: u64) -> u64 {
        loop {
            let until = self.driver.next_deadline(limit);
            // At least 1, so that the very first instant is not mistaken for `AWAKE`.
            // ORDERING: asleep. Acquire, with `hurry`: the look that follows sees every deadline
            // that was announced before. Release, with `hurry`.
            let asleep_until = &self.driver.asleep_until;
            asleep_until.swap(until.max(1), order!(asleep: AcqRel));
            let (earliest, _) = self.driver.first();
            // RECHECK: asleep_again. A deadline that was announced between the first look and the
            // exchange.
            if !recheck!(asleep_again: earliest < until) {
                return until;
            }
        }
    }

    fn wait(&mut self, until: u64, now: u64) {
        match self.driver.reactor.get() {
            Some(reactor) => self.ask(reactor, until),
            None if until == NEVER => thread::park(),
            None => {
                let limit = Duration::from_nanos(until - now);
                punctually(|| thread::park_timeout(limit));
            }
        }
    }

    /// Collects what is ready, without waiting.
    pub(crate) fn look(&mut self) {
        if let Some(reactor) = self.driver.reactor.get() {
            self.ask(reactor, 0);
        }
    }

    fn ask(&mut self, reactor: &R, until: u64) {
        let Buffers { events, woken } = &mut *self.buffers;
        reactor.wait(events, until, woken);
    }

    /// Stops keeping the driver, and appends the wakers of everything that was found ready.
    pub(crate) fn leave(mut self, woken: &mut Vec<Waker>) {
        woken.append(&mut self.buffers.woken);
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::{
        fences::Fences,
        sleep::{Parked, Parking},
    };

    fn driver() -> Driver {
        let driver = Driver::new(1);
        assert!(!driver.is_used() && driver.keep().is_none());
        driver.used.store(1, Relaxed);
        driver
    }

    #[cfg(feature = "io")]
    #[test]
    fn a_visitor_looks_at_the_first_deadline_and_at_descriptors() {
        assert_eq!(<Driver>::new(1).next_unkept_look(), None, "not in use");
        let driver = driver();
        assert_eq!(driver.next_unkept_look(), None);
        let far = clock::after(clock::now(), Duration::from_secs(60));
        driver.timers(0).insert(far, Waker::noop().clone()).unwrap();
        assert_eq!(driver.next_unkept_look(), Some(far));
        driver.reactor().expect("the system provides a reactor");
        assert!(driver.next_unkept_look().is_some_and(|look| look < far));
        let _keeper = driver.keep();
        assert_eq!(driver.next_unkept_look(), None, "it is kept");
    }

    /// However little earlier it is. Its hook is called instead if no keeper sleeps.
    #[test]
    fn every_earlier_deadline_wakes_the_keeper() {
        let driver = driver();
        for (until, deadline, wakes) in [
            (AWAKE, 5, false),
            (4, 5, false),
            (5, 5, false),
            (6, 5, true),
            (NEVER, NEVER - 1, true),
        ] {
            let sleep = Sleep::new(1, Fences::among(1), || {});
            driver.asleep_until.store(until, Relaxed);
            let mut is_awake = false;
            let mut park = |_| {
                driver.hurry(deadline, &sleep, || is_awake = true);
                true
            };
            let (in_driver, park) = (true, &mut park as &mut dyn FnMut(_) -> _);
            sleep.search();
            let parking = Parking { in_driver, park };
            let parked = sleep.park(0, None, || false, || false, parking);
            assert_eq!(parked == Parked::Woken, wakes, "{until} {deadline}");
            assert_eq!(is_awake, until == AWAKE, "{until} {deadline}");
            assert_eq!(driver.asleep_until.load(Relaxed), until);
        }
    }

    #[test]
    fn a_keeper_says_whether_there_is_something_to_do() {
        let driver = driver();
        assert_eq!(driver.first().0, NEVER);
        let mut keeper = driver.keep().expect("there is no other keeper");
        assert!(!keeper.park(Some(Duration::ZERO)));
        keeper.buffers.woken.push(Waker::noop().clone());
        assert!(keeper.park(Some(Duration::ZERO)));
        keeper.buffers.woken.clear();
        driver.timers(1).insert(1, Waker::noop().clone()).unwrap();
        assert_eq!(driver.first().0, 1);
        assert!(keeper.park(None), "the deadline has passed");
        assert!(!driver.is_kept());
    }

    #[test]
    fn nobody_wakes_for_a_timer_that_was_given_up() {
        let driver = driver();
        let later = |seconds| clock::after(clock::now(), Duration::from_secs(seconds));
        let arm = |timers: &Timers, deadline| {
            let inserted = timers.insert(deadline, Waker::noop().clone());
            inserted.unwrap().0
        };
        let armed = later(3600);
        for (timers, armed) in driver.all_timers().iter().zip(armed..) {
            for deadline in [armed, NEVER - 1, NEVER - 1] {
                arm(timers, deadline);
            }
        }
        // One that is due, and one that is not.
        let give_up = || {
            for timers in driver.all_timers() {
                for key in [0, later(60)].map(|deadline| arm(timers, deadline)) {
                    assert!(timers.remove(&key).is_some());
                }
            }
            assert_eq!(driver.first().0, 0);
        };
        give_up();
        assert_eq!(driver.next_unkept_look(), Some(armed));
        give_up();
        assert_eq!(driver.next_blocked_look(), Some(STUCK));
        give_up();
        let keeper = driver.keep().expect("there is no other keeper");
        assert!(!keeper.has_found());
        for limit in [armed - 1, armed, armed + 1, NEVER] {
            give_up();
            assert_eq!(keeper.set_asleep_until(limit), armed.min(limit));
            assert_eq!(driver.asleep_until.load(Relaxed), armed.min(limit));
        }
    }

    #[test]
    fn a_closed_driver_leaves_no_timer_and_no_stranger_that_is_due() {
        let driver = driver();
        let waker = || Waker::noop().clone();
        driver.timers(0).insert(NEVER - 1, waker()).unwrap();
        (0..2).for_each(|_| driver.due().push(waker()));
        assert_eq!(driver.close().len(), 3);
        assert!(driver.due().is_empty());
    }

    #[cfg(all(feature = "io", unix))]
    #[test]
    fn a_reactor_that_is_made_after_the_end_refuses_descriptors() {
        let driver = driver();
        drop(driver.close());
        let (reactor, _) = driver.reactor().expect("the system provides a reactor");
        // SAFETY: the standard input stays open.
        assert!(unsafe { reactor.register(0, crate::driver::reactor::Interest::ALL) }.is_err());
    }
}
