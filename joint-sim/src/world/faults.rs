//! Where the faults of a world happen. While they are off, each place costs a step one branch.

use alloc::{borrow::ToOwned, collections::BTreeMap, format, string::String};
use core::{
    cell::{Cell, RefCell},
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use super::{
    super::{
        chance::{About, Chance, hits},
        clock::{self, NEVER},
        disk::Disk,
        faults::{Fate, Fault, Faults},
        record::{Actor, What},
        tasks::{Due, Key},
    },
    World,
    chaos::Left,
    ending::Site,
    entered::with,
    later::Act,
};
use joint_executor::hosted::ReadyTask;

/// A delay is a decision below 2 to this power, scaled to the longest delay.
pub(super) const LONGEST: u32 = 27;
/// The number of orders of magnitude of pauses, which are the largest ones: a short pause differs
/// little from late wake-ups.
const PAUSES: u32 = 8;
/// For how long a disk is full at most, in nanoseconds.
const FULL_FOR: usize = 1_000_000_000;
/// A site is active in this share of the runs at least.
const SITES: f64 = 0.5;
/// A small budget is smaller than this.
const SMALL_BUDGET: usize = 8;

/// The faults of a run, if there are any.
pub(super) struct Injected {
    faults: Faults,
    pub(super) sites: RefCell<BTreeMap<String, Site>>,
    /// Whether a spurious poll of the main future has been arranged.
    main_is_arranged: Cell<bool>,
    longest: u64,
    pub(super) left: Left,
    /// Whether the faults have ended for the rest of the run.
    pub(super) is_calm: Cell<bool>,
}

impl Injected {
    pub(super) fn new(faults: &Faults) -> Option<Self> {
        (!faults.is_none()).then(|| Self {
            faults: faults.clone(),
            sites: RefCell::default(),
            main_is_arranged: Cell::new(false),
            longest: clock::after(0, faults.longest_delay),
            left: Left::default(),
            is_calm: Cell::new(false),
        })
    }

    pub(super) fn rate(&self, fault: Fault) -> f64 {
        match self.is_calm.get() {
            false => self.faults.rate(fault),
            true => 0.0,
        }
    }

    pub(super) fn longest_delay(&self) -> Duration {
        self.faults.longest_delay
    }

    /// Returns the delay, in nanoseconds, that a decision stands for.
    fn scaled(&self, decision: usize) -> u64 {
        let nanos = (decision as u128 * u128::from(self.longest)) >> LONGEST;
        u64::try_from(nanos).unwrap_or(u64::MAX).max(1)
    }

    /// Draws a delay in nanoseconds: 0 with the rest of the probability, and otherwise log-uniform
    /// over the top `orders` powers of two.
    fn delay(&self, chance: &mut Chance, about: About, fault: Fault, orders: u32) -> u64 {
        let some = |draw: &mut dyn FnMut() -> u32| some_delay(draw, orders);
        match self.decide(chance, (about, fault), 1 << LONGEST, some) {
            0 => 0,
            some => self.scaled(some),
        }
    }

    /// Decides whether a fault happens, and how: 0 with the rest of the probability. Nothing is
    /// drawn if it is off.
    fn decide(
        &self,
        chance: &mut Chance,
        (about, fault): (About, Fault),
        bound: usize,
        some: impl FnOnce(&mut dyn FnMut() -> u32) -> usize,
    ) -> usize {
        let probability = self.rate(fault);
        if probability <= 0.0 {
            return 0;
        }
        chance.decide(about, bound, |draw| match hits(draw(), probability) {
            false => 0,
            true => some(draw),
        })
    }

    /// Returns whether a task with this name may be cancelled.
    pub(super) fn may_cancel(&self, name: Option<&str>) -> bool {
        let happens = self.rate(Fault::Cancelled) > 0.0;
        let cancels = self.faults.cancels.filter(|_| happens);
        cancels.is_some_and(|cancels| name.is_some_and(cancels))
    }
}

#[derive(Clone, Copy)]
pub(super) enum Manner {
    Usual,
    /// With a budget of this many operations.
    Budget(u64),
    /// The task is dropped instead.
    Dropped,
}

/// At least 1 and below 2 to the power of `LONGEST`, log-uniform over the top `orders` powers of
/// two.
pub(super) fn some_delay(draw: &mut dyn FnMut() -> u32, orders: u32) -> usize {
    let magnitude = LONGEST - orders + draw() % orders;
    let largest = 1 << magnitude;
    (largest | (draw() & (largest - 1))) as usize
}

impl World {
    pub(crate) fn note_fault(&self, actor: Actor, fault: Fault) {
        self.count_fault(fault);
        self.note(actor, What::Fault(fault));
    }

    fn wake_in(&self, delay: u64, waker: Waker) {
        self.at(self.now().saturating_add(delay), move |_| waker.wake());
    }

    /// Queues what is ready, now or later.
    #[inline(always)]
    pub(super) fn enqueue(&self, due: Due) {
        match &self.injected {
            Some(injected) => self.enqueue_late(injected, due),
            None => self.deliver(due),
        }
    }

    #[cold]
    fn enqueue_late(&self, injected: &Injected, due: Due) {
        let delay = injected.delay(&mut self.chance(), About::Delay, Fault::LateWakeup, LONGEST);
        match delay {
            0 => self.deliver(due),
            delay => {
                self.note_fault(due.actor, Fault::LateWakeup);
                self.time
                    .later(self.now().saturating_add(delay), Act::Queue(due));
            }
        }
    }

    /// Decides by how many nanoseconds a timer is late, or the end of a wait that blocks.
    fn lateness(&self) -> u64 {
        let Some(injected) = &self.injected else {
            return 0;
        };
        let delay = injected.delay(&mut self.chance(), About::Delay, Fault::LateTimer, LONGEST);
        if delay > 0 {
            self.note_fault(self.acting(), Fault::LateTimer);
        }
        delay
    }

    /// Wakes the owner of a timer that is due, now or later.
    pub(super) fn wake_timer(&self, waker: Waker) {
        match self.lateness() {
            0 => waker.wake(),
            delay => self.wake_in(delay, waker),
        }
    }

    /// Returns the deadline of a wait that blocks, as it is kept: in the time of the world.
    pub(super) fn late_deadline(&self, deadline: u64) -> u64 {
        let deadline = self.world_time(self.place().host, deadline);
        deadline.saturating_add(self.lateness())
    }

    #[cold]
    pub(super) fn manner(
        &self,
        injected: &Injected,
        actor: Actor,
        key: Key,
        task: &ReadyTask,
    ) -> Manner {
        let mut agenda = self.agenda.borrow_mut();
        let Some(live) = agenda.tasks.by_key(key) else {
            return Manner::Usual;
        };
        let (is_expendable, was_arranged) = (live.is_expendable, live.is_arranged);
        drop(agenda);
        if is_expendable && self.strikes(About::Poll, Fault::Cancelled, actor) {
            return Manner::Dropped;
        }
        // Each second poll arranges none. Otherwise spurious polls could go on for ever, and no
        // deadlock would be found.
        let is_arranged = !was_arranged && self.arrange_poll(injected, actor, || task.waker());
        if let Some(live) = self.agenda.borrow_mut().tasks.by_key(key) {
            live.is_arranged = is_arranged;
        }
        self.may_pause(injected, actor);
        self.may_trouble(injected, actor);
        self.budget(injected, actor)
    }

    /// Pauses the host of the code that is about to run, after its poll.
    fn may_pause(&self, injected: &Injected, actor: Actor) {
        let delay = injected.delay(&mut self.chance(), About::Delay, Fault::Pause, PAUSES);
        let host = self.place().host;
        if delay > 0 && !self.is_paused(host) {
            self.note_fault(actor, Fault::Pause);
            let until = self.now().saturating_add(delay).min(NEVER - 1);
            self.pause(host, until);
            self.at(until, move |world| world.resume(host, Some(until)));
        }
    }

    pub(super) fn manner_of_main(&self) -> Manner {
        let Some(injected) = &self.injected else {
            return Manner::Usual;
        };
        let waker = || self.main.waker().clone();
        let arranges =
            !injected.main_is_arranged.get() && self.arrange_poll(injected, Actor::MAIN, waker);
        injected.main_is_arranged.set(arranges);
        self.may_pause(injected, Actor::MAIN);
        self.budget(injected, Actor::MAIN)
    }

    fn arrange_poll(
        &self,
        injected: &Injected,
        actor: Actor,
        waker: impl FnOnce() -> Waker,
    ) -> bool {
        let delay = injected.delay(
            &mut self.chance(),
            About::Poll,
            Fault::SpuriousPoll,
            LONGEST,
        );
        if delay == 0 {
            return false;
        }
        self.note_fault(actor, Fault::SpuriousPoll);
        self.wake_in(delay, waker());
        true
    }

    fn budget(&self, injected: &Injected, actor: Actor) -> Manner {
        let some = |draw: &mut dyn FnMut() -> u32| {
            SMALL_BUDGET - draw().trailing_zeros() as usize % SMALL_BUDGET
        };
        let small = (About::Poll, Fault::SmallBudget);
        let decision = injected.decide(&mut self.chance(), small, 1 + SMALL_BUDGET, some);
        match decision {
            0 => Manner::Usual,
            some => {
                self.note_fault(actor, Fault::SmallBudget);
                // The tamest fault has the largest budget.
                Manner::Budget((SMALL_BUDGET - some) as u64)
            }
        }
    }

    pub(crate) fn fires(&self, name: &str) -> bool {
        let Some(injected) = &self.injected else {
            return false;
        };
        let rate = injected.rate(Fault::Site);
        let happens = |rate| self.chance().happens(About::Site, rate);
        let mut sites = injected.sites.borrow_mut();
        let site = match sites.get_mut(name) {
            Some(known) => known,
            None => {
                let site = sites.entry(name.to_owned()).or_default();
                site.is_active = rate > 0.0 && happens(rate.max(SITES));
                site
            }
        };
        let fires = site.is_active && happens(rate);
        site.reached += 1;
        site.fired += u64::from(fires);
        drop(sites);
        if fires {
            self.tell(
                self.acting(),
                Fault::Site,
                format!("the site \"{name}\" fires"),
            );
        }
        fires
    }

    /// Returns for how many of these bytes a disk has room.
    pub(crate) fn room(&self, disk: &mut Disk, bytes: usize) -> usize {
        let now = self.now();
        if disk.full_until > now {
            return 0;
        }
        if !self.strikes(About::Disk, Fault::FullDisk, self.acting()) {
            return bytes;
        }
        let time = self.chance().below(About::Disk, FULL_FOR);
        disk.full_until = now.saturating_add(1 + time as u64);
        // Nothing, or any part.
        let part = self.chance().below(About::Disk, 2 * bytes.max(1));
        part.saturating_sub(bytes)
    }

    /// Returns how many of these bytes a read or write takes.
    pub(crate) fn part(&self, about: About, bytes: usize) -> usize {
        let is_short = bytes > 1 && self.strikes(about, Fault::ShortTransfer, self.acting());
        match is_short {
            true => bytes - 1 - self.chance().below(about, bytes - 1),
            false => bytes,
        }
    }

    /// When a future of `may_cancel` is to be dropped that is pending now.
    pub(crate) fn fate(&self, cx: &Context<'_>) -> Fate {
        let Some(injected) = &self.injected else {
            return Fate::Open;
        };
        let some = |draw: &mut dyn FnMut() -> u32| match draw() % 3 {
            0 => 1,
            1 => 2,
            _ => 2 + some_delay(draw, LONGEST),
        };
        let cancelled = (About::Poll, Fault::Cancelled);
        let decision = injected.decide(&mut self.chance(), cancelled, 2 + (1 << LONGEST), some);
        match decision {
            0 => Fate::Open,
            1 => Fate::Now,
            2 => Fate::AtNextPoll,
            more => {
                let delay = injected.scaled(more - 2);
                self.wake_in(delay, cx.waker().clone());
                Fate::At(self.now().saturating_add(delay))
            }
        }
    }

    pub(super) fn rate(&self, fault: Fault) -> f64 {
        let injected = self.injected.as_ref();
        injected.map_or(0.0, |injected| injected.rate(fault))
    }

    /// Returns whether messages are late by faults.
    pub(super) fn has_late_messages(&self) -> bool {
        self.rate(Fault::Loss) > 0.0 || self.rate(Fault::Duplicate) > 0.0
    }

    /// Draws by how many nanoseconds a datagram is late.
    pub(super) fn some_lateness(&self) -> u64 {
        let decide = |draw: &mut dyn FnMut() -> u32| some_delay(draw, LONGEST);
        let decision = self.chance().decide(About::Network, 1 << LONGEST, decide);
        let injected = self.injected.as_ref();
        injected.map_or(0, |injected| injected.scaled(decision))
    }

    /// Decides whether a fault that has no delay happens.
    pub(crate) fn strikes(&self, about: About, fault: Fault, actor: Actor) -> bool {
        let rate = self.rate(fault);
        let happens = self.chance().happens(about, rate);
        if happens {
            self.note_fault(actor, fault);
        }
        happens
    }
}

/// Polls a future, and before that, if the faults want it, with a waker that wakes nobody.
pub(crate) fn poll<F: Future>(mut future: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    if strikes(Fault::AnotherWaker) {
        let polled = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        if polled.is_ready() {
            return polled;
        }
    }
    future.poll(cx)
}

/// Decides whether a fault of a poll happens to the code that runs.
pub(crate) fn strikes(fault: Fault) -> bool {
    with(|world| world.is_some_and(|world| world.strikes(About::Poll, fault, world.acting())))
}
