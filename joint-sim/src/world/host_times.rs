//! [`HostTime`]: pauses of hosts, and clocks that differ from the world's.
//!
//! The times of the world are true. A host's own time enters and leaves the world where the host
//! reads a clock, arms a timer, or waits for a deadline, and is converted there.

use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    time::{Duration, SystemTime},
};

use super::{
    super::{
        clock::{self, NEVER},
        machine::Place,
        tasks::{Due, Work},
        traffic,
    },
    World,
};

/// The own times of the hosts whose clocks were set.
pub(super) type HostTimes = RefCell<BTreeMap<usize, HostTime>>;

/// The pauses of the hosts that are paused.
pub(super) type Pauses = RefCell<BTreeMap<usize, Pause>>;

pub(super) struct Pause {
    /// The time at which it ends. `NEVER`: when the program says so.
    until: u64,
    /// The work that became ready during the pause, in order.
    pub(super) kept: VecDeque<Due>,
}

#[derive(Clone, Copy)]
pub(super) struct HostTime {
    /// When the clocks were set, and what they showed then: that of the timers, and the wall clock,
    /// in nanoseconds since 1970.
    set: u64,
    shown: u64,
    wall: u64,
    /// How much of its time passes in a million parts of the world's.
    rate: u64,
}

const WHOLE: u64 = 1_000_000;
/// The wall clock at the start of a run: the first second of 2000.
const BEGIN: u64 = 946_684_800_000_000_000;

impl HostTime {
    fn own(&self, world: u64) -> u64 {
        let passed = scale(world.saturating_sub(self.set), self.rate, WHOLE);
        self.shown.saturating_add(passed)
    }

    /// Returns the first time of the world at which the host's clock shows this, or is past it.
    fn world(&self, own: u64) -> u64 {
        let left = scale(own.saturating_sub(self.shown), WHOLE, self.rate);
        self.set
            .saturating_add(if own == NEVER { NEVER } else { left })
    }
}

/// Rounds up, so that no timer is early.
fn scale(nanos: u64, by: u64, of: u64) -> u64 {
    let scaled = (u128::from(nanos) * u128::from(by)).div_ceil(of.into());
    u64::try_from(scaled).unwrap_or(NEVER)
}

impl World {
    pub(super) fn own_time(&self, host: usize, world: u64) -> u64 {
        let known = self.host_times.borrow();
        known.get(&host).map_or(world, |time| time.own(world))
    }

    pub(super) fn world_time(&self, host: usize, own: u64) -> u64 {
        let known = self.host_times.borrow();
        known.get(&host).map_or(own, |time| time.world(own))
    }

    /// Returns the time of the wall clock of the running code's host.
    pub(super) fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(self.wall_at(self.now()))
    }

    fn wall_at(&self, time: u64) -> u64 {
        match self.host_times.borrow().get(&self.place().host) {
            Some(own) => own.wall.saturating_add(own.own(time) - own.shown),
            None => BEGIN + self.time.since_start(time),
        }
    }

    /// Returns the time of the running code's host, and that of its wall clock, in nanoseconds, for
    /// code that reads a clock of std.
    pub(crate) fn look_at_clocks(&self) -> (u64, u64) {
        let time = self.time.look();
        (self.own_time(self.place().host, time), self.wall_at(time))
    }

    /// Goes to the place of the code that runs next, and lets this thread have its clock.
    #[inline(always)]
    pub(super) fn set_place(&self, place: Place) {
        self.stage.place.set(place);
        if !self.host_times.borrow().is_empty() {
            self.keep_time();
        }
    }

    /// Lets this thread have the clock of the host whose code it runs.
    pub(super) fn keep_time(&self) {
        clock::set(self.own_time(self.place().host, self.now()));
    }

    pub(crate) fn set_clock(&self, host: usize, offset_ms: i64, drift_ppm: i32) {
        let rate = WHOLE.saturating_add_signed(drift_ppm.into());
        assert!(rate > 0, "a clock goes on: its drift is above -1,000,000");
        let wall = BEGIN + self.time.passed();
        let wall = wall.checked_add_signed(offset_ms.saturating_mul(1_000_000));
        let time = HostTime {
            set: self.now(),
            shown: self.own_time(host, self.now()),
            wall: wall.expect("the wall clock shows a time after 1970"),
            rate,
        };
        self.host_times.borrow_mut().insert(host, time);
        for (number, _) in (0..).zip(&*self.pools.all.borrow()) {
            // It looks up the next timer again.
            self.pools.armed(number, 0);
        }
        self.keep_time();
    }
}

/// Pauses. The timers of a host that is paused fire, and what they wake is kept as all else is.
impl World {
    pub(crate) fn is_paused(&self, host: usize) -> bool {
        self.pauses.borrow().contains_key(&host)
    }

    pub(super) fn paused(&self) -> Vec<String> {
        let pauses = self.pauses.borrow();
        let names = pauses.keys().map(|&host| self.host_name(host));
        names
            .map(|name| format!("the host `{name}` is paused"))
            .collect()
    }

    /// Returns the hosts that are paused for a time.
    pub(super) fn pauses_of_faults(&self) -> Vec<usize> {
        let pauses = self.pauses.borrow();
        let own = pauses.iter().filter(|(_, pause)| pause.until != NEVER);
        own.map(|(&host, _)| host).collect()
    }

    /// Pauses a host until this time, or until `resume`. What it does now it ends.
    pub(crate) fn pause(&self, host: usize, until: u64) {
        if let Some(pause) = self.pauses.borrow_mut().get_mut(&host) {
            pause.until = until;
            return;
        }
        let is_own = |due: &Due| self.host_of(due) == host;
        let kept = self.agenda.borrow_mut().remove(is_own);
        let pause = Pause { until, kept };
        self.pauses.borrow_mut().insert(host, pause);
        self.network(|network| network.note_host(self, traffic::Event::Paused, host));
    }

    /// Ends the pause of a host, if it is paused, and until this time if there is one.
    pub(crate) fn resume(&self, host: usize, until: Option<u64>) {
        let ends = |pause: &Pause| until.is_none_or(|until| until == pause.until);
        let is_over = self.pauses.borrow().get(&host).is_some_and(ends);
        let pause = is_over.then(|| self.pauses.borrow_mut().remove(&host));
        if let Some(pause) = pause.flatten() {
            self.network(|network| network.note_host(self, traffic::Event::Resumed, host));
            self.agenda.borrow_mut().due.extend(pause.kept);
        }
    }

    /// Queues what is ready, or keeps it until its host goes on.
    #[inline(always)]
    pub(super) fn deliver(&self, due: Due) {
        let mut pauses = self.pauses.borrow_mut();
        let pause = match pauses.is_empty() {
            true => None,
            false => pauses.get_mut(&self.host_of(&due)),
        };
        match pause {
            Some(pause) => pause.kept.push_back(due),
            None => self.agenda.borrow_mut().due.push_back(due),
        }
    }

    fn host_of(&self, due: &Due) -> usize {
        match &due.work {
            Work::Main => Place::MAIN.host,
            Work::Task { pool, .. } => self.pools.all.borrow()[usize::from(*pool)].place.host,
            Work::Call(call) => call.0.host,
            Work::Resume(number) => self.threads.place(*number).host,
        }
    }
}
