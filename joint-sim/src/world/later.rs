//! [`Timeline`]: the virtual time, and what happens at a time: timers, and the world's own events.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    task::Waker,
    time::Duration,
};

use super::{
    super::{
        clock::{self, NEVER},
        failure::Kind,
        record::{Actor, What},
        settings::Builder,
        tasks::Due,
    },
    World,
    agenda::remove,
};

/// A poll that has read a clock this often waits for the time to pass.
const MANY_LOOKS: u32 = 100;

pub(super) enum Act {
    Call(Box<dyn FnOnce(&World)>),
    /// A wake-up is delivered.
    Queue(Due),
}

/// The virtual time, and what happens later.
pub(super) struct Timeline {
    start: u64,
    pub(super) now: Cell<u64>,
    /// The time after which the run has failed, in nanoseconds of the clock.
    end: u64,
    charge: u64,
    /// How often the poll that runs has read a clock of std, and how much time has passed by that.
    looks: Cell<u32>,
    waited: Cell<u64>,
    /// By the time and a number, so that those of one time keep their order.
    later: RefCell<BTreeMap<(u64, u64), Act>>,
    /// The number of those that there were.
    laters: Cell<u64>,
    /// An empty buffer for the wakers of fired timers, kept for its memory.
    fired: Cell<Vec<Waker>>,
}

impl Timeline {
    pub(super) fn new(settings: &Builder) -> Self {
        let start = clock::start();
        Self {
            start,
            now: Cell::new(start),
            // Nothing is ever due at the clock's last nanosecond, which means never.
            end: clock::after(start, settings.max_time).min(NEVER - 1),
            charge: clock::after(0, settings.charge),
            looks: Cell::default(),
            waited: Cell::default(),
            later: RefCell::default(),
            laters: Cell::new(0),
            fired: Cell::default(),
        }
    }

    #[inline]
    pub(super) fn passed(&self) -> u64 {
        self.now.get() - self.start
    }

    pub(super) fn since_start(&self, time: u64) -> u64 {
        time.saturating_sub(self.start)
    }

    /// Whether a poll may take time.
    #[inline]
    pub(super) fn passes(&self) -> bool {
        self.charge > 0 || self.looks.get() > 0
    }

    /// Returns how much time the poll that is over has taken.
    pub(super) fn taken(&self) -> u64 {
        self.looks.set(0);
        self.charge.saturating_add(self.waited.take())
    }

    /// Returns the time for code that reads a clock of std.
    pub(super) fn look(&self) -> u64 {
        let looks = self.looks.get();
        self.looks.set(looks.saturating_add(1));
        if let Some(further) = looks.checked_sub(MANY_LOOKS) {
            let more = 1 << (further / 8).min(u64::BITS - 1);
            self.waited.set(self.waited.get().saturating_add(more));
        }
        self.now.get().saturating_add(self.waited.get())
    }

    /// Returns a time of the clock as reports show it.
    pub(super) fn at(&self, time: u64) -> Duration {
        Duration::from_nanos(self.since_start(time))
    }

    fn next(&self) -> Option<u64> {
        let later = self.later.borrow();
        Some(later.first_key_value()?.0.0)
    }

    fn take(&self, time: u64) -> Option<Act> {
        let mut later = self.later.borrow_mut();
        let first = later.first_entry()?;
        (first.key().0 <= time).then(|| first.remove())
    }

    pub(super) fn later(&self, at: u64, act: Act) {
        let number = self.laters.get();
        self.laters.set(number + 1);
        self.later.borrow_mut().insert((at, number), act);
    }

    /// Takes the wake-ups of this kind that are to be delivered, in their order.
    fn remove(&self, is_one: impl Fn(&Due) -> bool) -> Vec<Due> {
        let mut later = self.later.borrow_mut();
        let mut removed = Vec::new();
        for (at, act) in mem::take(&mut *later) {
            match act {
                Act::Queue(due) if is_one(&due) => removed.push(due),
                act => drop(later.insert(at, act)),
            }
        }
        removed
    }
}

impl World {
    /// Takes the work of this kind: what is ready, what will be, and what is kept for hosts that
    /// are paused.
    pub(super) fn withdraw(&self, is_one: impl Fn(&Due) -> bool) -> Vec<Due> {
        let mut all = Vec::from(self.agenda.borrow_mut().remove(&is_one));
        all.extend(self.time.remove(&is_one));
        for pause in self.pauses.borrow_mut().values_mut() {
            all.extend(remove(&mut pause.kept, &is_one));
        }
        all
    }

    pub(super) fn next_event(&self) -> Option<u64> {
        let timers = self.pools.next_timer(|pool| {
            let own = pool.next_timer();
            own.map(|own| self.world_time(pool.place.host, own))
        });
        let timers = timers.into_iter();
        timers
            .chain(self.time.next())
            .chain(self.threads.next_deadline())
            .min()
    }

    /// Lets the time pass, and everything happen that is due then.
    pub(super) fn pass_to(&self, time: u64) {
        if time > self.time.end {
            self.fail_here(Kind::Time(self.time.at(self.time.end)));
            return;
        }
        if time != self.now() {
            self.time.now.set(time);
            clock::set(time);
            self.note(Actor::TIMER, What::TimePassed);
        }
        let before = self.stage.actor.replace(Actor::TIMER);
        self.fire(time);
        self.wake_late_calls(time);
        self.collect_pushed();
        self.wake_main();
        while let Some(act) = self.time.take(time) {
            match act {
                Act::Call(call) => call(self),
                Act::Queue(due) => self.deliver(due),
            }
        }
        self.collect_pushed();
        self.collect_foreign();
        self.wake_main();
        self.stage.actor.set(before);
    }

    fn fire(&self, time: u64) {
        let mut wakers = self.time.fired.take();
        self.pools.each_due(time, |pool| {
            let now = clock::instant(self.own_time(pool.place.host, time));
            pool.first().worker.take_due(now, &mut wakers);
        });
        for waker in wakers.drain(..) {
            let _ = catch_unwind(AssertUnwindSafe(|| self.wake_timer(waker)));
        }
        self.time.fired.set(wakers);
    }

    /// Calls a function when the virtual time comes to `at`. Calls of one time keep their order.
    pub(crate) fn at(&self, at: u64, act: impl FnOnce(&Self) + 'static) {
        self.time.later(at, Act::Call(Box::new(act)));
    }
}
