//! [`Stillness`]: a world in which tasks only yield lets the time pass.
//!
//! The time passes when nothing is ready. A task that waits by yielding is always ready, so what it
//! waits for would never come, if that is late, or needs time by itself. A world *stands still* if
//! hardly any time has passed in many steps, and all of the last ones were polls
//! of tasks that had woken themselves, or of timers. Tasks that wake one another may be at work,
//! and have many more steps.
//!
//! The time of such a world then goes on, at most to the next event, by a microsecond at first and
//! by four times as much each time, so that what is near is not skipped for what is far. Once a
//! world has stood still, it is known to have such tasks, and is found to stand still sooner.

use std::cell::Cell;

use super::{
    super::record::{Actor, Event, What},
    World,
};

pub(super) struct Stillness {
    /// The time, without what looks have let pass, and the step since which it stands still.
    since: Cell<(u64, u64)>,
    /// The number of steps between two looks, unless events follow one another.
    interval: Cell<u64>,
    /// How often the time went on, and how often of these in a row to an event.
    passed: Cell<u32>,
    events: Cell<u32>,
    /// The number of waits of polls that were over at once, since the last one that was not.
    waits: Cell<u32>,
}

/// The number of steps until the first look: of a run without faults, whose times are exact, and of
/// one with faults.
const FIRST: [u64; 2] = [10_000, 1_000];
/// The time that has to pass in a step, in nanoseconds, or it is too little. Late wake-ups let a
/// little pass in each.
const PACE: [u64; 2] = [1_000, 1_000_000];
/// The number of steps between two looks at a world that has stood still.
const AGAIN: u64 = 100;
/// The number of steps for which tasks may wake one another.
const AT_WORK: [u64; 2] = [50_000, 20_000];
/// The number of waits that are over at once, after which a poll lets others go on.
const WAITS: u32 = 64;
/// The shortest time that passes, in nanoseconds, and how often it is doubled at most.
const LEAST: u64 = 1_000;
const DOUBLINGS: u32 = 25;

impl Stillness {
    pub(super) fn new(has_faults: bool) -> Self {
        Self {
            since: Cell::default(),
            interval: Cell::new(FIRST[usize::from(has_faults)]),
            passed: Cell::new(0),
            events: Cell::new(0),
            waits: Cell::new(0),
        }
    }

    pub(super) fn first_look(&self) -> u64 {
        self.interval.get()
    }

    /// Notes that a wait was over, at once or not.
    pub(super) fn waited(&self, at_once: bool) {
        self.waits
            .set(if at_once { self.waits.get() + 1 } else { 0 });
    }

    /// Returns for how long a wait lets others go on before it looks whether it is over.
    pub(super) fn gives_way(&self) -> Option<u64> {
        let waits = self.waits.get();
        let gives_way = waits % WAITS == WAITS - 1;
        gives_way.then(|| LEAST << (waits / WAITS).min(DOUBLINGS))
    }
}

impl World {
    /// Looks whether the world stands still. If so, the time goes on.
    #[cold]
    pub(super) fn look_for_stillness(&self) {
        let own = &self.stillness;
        let (now, step) = (self.time.passed(), self.stage.steps.get());
        let (since, first) = own.since.get();
        let steps = step - first;
        let has_faults = usize::from(self.injected.is_some());
        let is_slow = now.saturating_sub(since) < steps.saturating_mul(PACE[has_faults]);
        let is_long = steps >= AT_WORK[has_faults];
        if !is_slow {
            own.since.set((now, step));
            own.passed.set(0);
        }
        if is_slow && (is_long || self.agenda.borrow().record.last().all(only_yields)) {
            self.pass_still_time();
            let passed = self.time.passed() - now;
            own.since.set((since.saturating_add(passed), first));
        } else {
            own.events.set(0);
        }
        if !self.ending.has_failed() {
            let interval = own.interval.get() >> own.events.get();
            self.ending.look_at(step.saturating_add(interval.max(1)));
        }
    }

    fn pass_still_time(&self) {
        let Stillness { passed, events, .. } = &self.stillness;
        let doublings = (2 * passed.get()).min(DOUBLINGS);
        passed.set((passed.get() + 1).min(DOUBLINGS));
        self.stillness.interval.set(AGAIN);
        let until = self.now().saturating_add(LEAST << doublings);
        let next = self.next_event().filter(|next| *next <= until);
        events.set(next.map_or(0, |_| (events.get() + 1).min(AGAIN.ilog2())));
        self.pass_to(next.unwrap_or(until).max(self.now()));
    }
}

fn only_yields(event: &Event) -> bool {
    match &event.what {
        What::Ran { by } => *by == event.actor || *by == Actor::TIMER,
        What::Spawned { .. } | What::Ended(_) | What::Net(_) => false,
        _ => true,
    }
}
