//! [`HostTime`]: pauses of hosts, and clocks that differ from the world's.
//!
//! The times of the world are true. A host's own time enters and leaves the world where the host
//! reads a clock, arms a timer, or waits for a deadline, and is converted there.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::{
    super::{
        clock::{self, NEVER},
        machine::Place,
        record::What,
        tasks::{Due, Work},
        traffic::{self, Traffic},
    },
    World,
    later::Act,
};

/// The own times of the hosts that were paused, or whose clocks were set.
pub(super) type HostTimes = RefCell<BTreeMap<usize, HostTime>>;

/// A host's own time.
#[derive(Clone, Copy)]
pub(super) struct HostTime {
    /// The time at which the pause ends, if the host is paused. `NEVER`: when the program says so.
    paused_until: Option<u64>,
    /// When the clocks were set, and what they showed then: that of the timers, and the wall clock,
    /// in nanoseconds since 1970.
    set: u64,
    shown: u64,
    wall: u64,
    /// How much of its time passes in a million parts of the world's.
    rate: u64,
}

/// One million parts.
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
    fn host_time(&self, host: usize) -> HostTime {
        let known = self.host_times.borrow().get(&host).copied();
        let start = self.now() - self.time.passed();
        known.unwrap_or(HostTime {
            paused_until: None,
            set: start,
            shown: start,
            wall: BEGIN,
            rate: WHOLE,
        })
    }

    /// Returns the time on a host's clock.
    pub(super) fn own_time(&self, host: usize, world: u64) -> u64 {
        let known = self.host_times.borrow();
        known.get(&host).map_or(world, |time| time.own(world))
    }

    /// Returns when a host's clock shows a time.
    pub(super) fn world_time(&self, host: usize, own: u64) -> u64 {
        let known = self.host_times.borrow();
        known.get(&host).map_or(own, |time| time.world(own))
    }

    /// Returns the time of the wall clock of the running code's host.
    pub(super) fn wall(&self) -> SystemTime {
        let time = self.host_time(self.place().host);
        let passed = time.own(self.now()) - time.shown;
        SystemTime::UNIX_EPOCH + Duration::from_nanos(time.wall.saturating_add(passed))
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
        let before = self.host_time(host);
        let time = HostTime {
            set: self.now(),
            shown: before.own(self.now()),
            wall: wall.expect("the wall clock shows a time after 1970"),
            rate,
            ..before
        };
        self.host_times.borrow_mut().insert(host, time);
        for (number, _) in (0..).zip(&*self.pools.borrow()) {
            // It looks up the next timer again.
            self.pools.armed(number, 0);
        }
        self.keep_time();
    }

    fn note_host(&self, event: traffic::Event, host: usize) {
        let name = self.machines(|machines| machines.all[host].name.clone());
        let traffic = Traffic::new(event, [(host, 0); 2], 0, Arc::new([name.clone(), name]));
        self.note(self.acting(), What::Net(traffic));
    }
}

/// Pauses. The timers of a host that is paused fire, and what they wake is kept as all else is.
impl World {
    pub(crate) fn is_paused(&self, host: usize) -> bool {
        self.host_time(host).paused_until.is_some()
    }

    /// Returns the names of the hosts that are paused.
    pub(super) fn paused(&self) -> Vec<Arc<str>> {
        self.machines(|machines| {
            let all = machines.all.iter().enumerate();
            let paused = all.filter(|(host, _)| self.is_paused(*host));
            paused.map(|(_, machine)| machine.name.clone()).collect()
        })
    }

    /// Pauses a host until this time, or until `resume`. What it does now it ends.
    pub(crate) fn pause(&self, host: usize, until: u64) {
        let mut time = self.host_time(host);
        let before = time.paused_until.replace(until);
        self.host_times.borrow_mut().insert(host, time);
        if before.is_none() {
            self.note_host(traffic::Event::Paused, host);
            let is_own = |due: &Due| self.host_of(due) == host;
            let own = self.agenda.borrow_mut().remove(is_own);
            own.into_iter().for_each(|due| self.deliver(due));
        }
    }

    /// Ends the pause of a host, if it is paused, and until this time if there is one.
    pub(crate) fn resume(&self, host: usize, until: Option<u64>) {
        let mut time = self.host_time(host);
        if time.paused_until.is_some() && until.is_none_or(|_| until == time.paused_until) {
            time.paused_until = None;
            self.host_times.borrow_mut().insert(host, time);
            self.note_host(traffic::Event::Resumed, host);
            let is_own = |due: &Due| self.host_of(due) == host;
            let kept = self.time.take_held(NEVER, is_own);
            self.agenda.borrow_mut().due.extend(kept);
        }
    }

    /// Queues what is ready, or keeps it until its host goes on.
    #[inline(always)]
    pub(super) fn deliver(&self, due: Due) {
        let may_wait = !self.host_times.borrow().is_empty();
        match may_wait && self.is_paused(self.host_of(&due)) {
            true => self.time.later(NEVER, Act::Kept(due)),
            false => self.agenda.borrow_mut().due.push_back(due),
        }
    }

    fn host_of(&self, due: &Due) -> usize {
        match &due.work {
            Work::Main => Place::MAIN.host,
            Work::Task { pool, .. } => self.pools.borrow()[usize::from(*pool)].place.host,
            Work::Call(call) => call.0.host,
            Work::Resume(number) => self.threads.place(*number).host,
        }
    }
}
