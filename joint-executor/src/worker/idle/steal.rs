//! What a searching worker looks at, and when it steals.
//!
//! Moving a task to another core often costs more than running it. A non-empty queue is therefore
//! not reason enough to steal: while its owner makes quick progress, its tasks stay where they are.
//! An idle worker steals
//!
//! * if recent polls have been long: the last measured mean is above [`WORTH_A_STEAL`]. Idle
//!   workers measure it, for themselves and for the workers that they watch;
//! * if the owner has been in one poll for [`PATIENCE`]: one task, then another after twice that
//!   time, and so on; and half of the queue once the owner has been in that poll for [`STUCK`].
//!
//! If there is no task to steal, it may take a side of a join, under conditions of its own
//! (`help.rs`). The injector is left to the running workers under the same conditions, if there are
//! any.
//!
//! A worker that always has something to run never searches. Between two runs, it looks at the
//! other workers about once in [`LONGEST_WATCH`]. It steals half of the queue of a worker that is
//! stuck, or its share of a queue whose tasks wait longer than its own (`share.rs`).

use alloc::vec::Vec;
use core::{cell::Cell, task::Waker, time::Duration};
use std::time::Instant;

use super::share::Row;
use crate::{
    fork_join::job::Taken,
    hooks::StealInfo,
    policy::{
        CLOCK_INTERVAL, LONGEST_WATCH, LOOKS, LOOKS_IN_A_ROW, MOST_STOLEN, PATIENCE, STUCK,
        WORTH_A_STEAL,
    },
    worker::{Running, Worker, help::spin_after, shared::Runnable},
};
use joint_switch::now;

/// A worker's memory of the other workers.
pub(in crate::worker) struct Lookout {
    seen: Vec<Cell<Seen>>,
    /// When this worker last became active or measured its polls, and its number of runs then.
    pub(in crate::worker) began: Cell<(Instant, u64)>,
    /// When this worker last became active or looked at the others, and its number of runs then.
    looked: Cell<(Instant, u64)>,
    random: Cell<u32>,
    /// The number of looks in the current row, which a busy worker has made.
    looks: Cell<u32>,
    /// How often in a row there was work that this worker could not take.
    pub(super) vain: Cell<u32>,
}

/// The last look of a worker at another one.
#[derive(Clone, Copy)]
struct Seen {
    polls: u64,
    /// The time at which its poll count last changed, as far as this worker has seen.
    since: Instant,
    /// The number of runs of this worker at that time.
    runs: u64,
    /// The length of that poll after which the next task is stolen from its queue.
    patience: Duration,
    /// Whether its queues were not empty.
    is_busy: bool,
    /// Whether a task waits there: not one that has yielded and is about to run on.
    waits: bool,
    row: Row,
}

/// The result of a look.
pub(in crate::worker) enum Found {
    /// With the theft by which it was found, if any.
    Task(Runnable, Option<StealInfo>),
    Fork(Taken),
    /// The waker of a stranger, which is due.
    Stranger(Waker),
}

/// The other workers, as a look has seen them.
struct View {
    now: Instant,
    /// Whether some worker's count of polls has changed since the last look.
    makes_progress: bool,
    /// Whether no worker's count of polls has changed for [`PATIENCE`].
    all_stuck: bool,
}

/// Returns the mean length of polls, in nanoseconds.
fn mean(time: Duration, polls: u64) -> usize {
    usize::try_from(time.as_nanos() / u128::from(polls)).unwrap_or(usize::MAX)
}

impl Lookout {
    pub(in crate::worker) fn new(index: usize, workers: usize) -> Self {
        let now = now();
        let seen = Seen {
            polls: 0,
            since: now,
            runs: 0,
            patience: PATIENCE,
            is_busy: false,
            waits: false,
            row: Row::NEW,
        };
        Self {
            seen: (0..workers).map(|_| Cell::new(seen)).collect(),
            began: Cell::new((now, 0)),
            looked: Cell::new((now, 0)),
            vain: Cell::new(0),
            looks: Cell::new(0),
            random: Cell::new(0x9e37_79b9 ^ (index as u32 + 1).wrapping_mul(0x85eb_ca6b)),
        }
    }

    /// Records that the worker becomes active.
    pub(in crate::worker) fn begin(&self, runs: u64) {
        let began = (now(), runs);
        self.began.set(began);
        self.looked.set(began);
        self.looks.set(0);
    }

    /// A step of Marsaglia's xorshift.
    fn random(&self) -> u32 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.random.set(x);
        x
    }
}

impl Worker {
    /// Measures how long this worker's polls were since it last began to.
    pub(in crate::worker) fn judge_own_polls(&self) {
        let (began, runs) = self.lookout.began.get();
        let runs = self.runs() - runs;
        if runs > 0 {
            self.judge(now() - began, runs);
        }
    }

    fn judge(&self, time: Duration, polls: u64) {
        self.shared().set_poll_time(mean(time, polls));
    }

    /// Looks a few times for something to steal. If there is nothing, returns whether another
    /// worker makes progress.
    pub(super) fn look_round(&self) -> Result<Found, bool> {
        let mut makes_progress = false;
        for look in 0..LOOKS {
            let view = self.view(now());
            makes_progress |= view.makes_progress;
            let found = self.look_for_task(&view);
            let fork = || self.take_fork(view.now).map(Found::Fork);
            if let Some(found) = found.or_else(fork) {
                return Ok(found);
            }
            spin_after(look);
        }
        Err(makes_progress)
    }

    fn look_for_task(&self, view: &View) -> Option<Found> {
        let shared = &**self.shared();
        let takes_injected =
            || shared.poll_time() >= WORTH_A_STEAL || view.all_stuck || shared.sleep.is_quiet();
        let injected = || takes_injected().then(|| self.take_injected())?;
        let task = self.next_own().or_else(injected);
        let found = task.map(|task| Found::Task(task, None));
        let due = || shared.driver.next_due().map(Found::Stranger);
        let stolen = || shared.has_work().then(|| self.steal_patiently(view))?;
        found.or_else(due).or_else(stolen)
    }

    /// Looks at the progress of all other workers.
    fn view(&self, now: Instant) -> View {
        let mut view = View {
            now,
            makes_progress: false,
            all_stuck: true,
        };
        let others = (0..self.lookout.seen.len()).filter(|&i| i != self.index());
        for i in others {
            let polls = self.shared().counters[i].polls.get();
            let tasks = self.shared().stealers[i].len();
            let before = self.lookout.seen[i].get();
            let is_same = before.polls == polls;
            let time = view.now - before.since;
            if !is_same && before.is_busy && tasks > 0 && time >= PATIENCE {
                self.judge(time, polls - before.polls);
            }
            let (since, runs, patience) = match is_same {
                true => (before.since, before.runs, before.patience),
                false => (view.now, self.runs(), PATIENCE),
            };
            self.lookout.seen[i].set(Seen {
                polls,
                since,
                runs,
                patience,
                is_busy: tasks > 0,
                waits: tasks > 1 || tasks > 0 && is_same && before.is_busy,
                ..before
            });
            view.makes_progress |= !is_same;
            view.all_stuck &= is_same && time >= PATIENCE;
        }
        view
    }

    /// All other workers, beginning with a random one.
    pub(in crate::worker) fn others(&self) -> impl Iterator<Item = usize> {
        let workers = self.shared().workers();
        let start = self.lookout.random() as usize % workers;
        let own = self.index();
        (start..workers).chain(0..start).filter(move |&i| i != own)
    }

    fn steal_patiently(&self, view: &View) -> Option<Found> {
        let is_worth_it = self.shared().poll_time() >= WORTH_A_STEAL;
        let seen = |victim: usize| &self.lookout.seen[victim];
        let stolen = self.steal(|victim| {
            let seen = seen(victim).get();
            match view.now - seen.since {
                stuck if is_worth_it && seen.waits || stuck >= STUCK => MOST_STOLEN,
                stuck => usize::from(stuck >= seen.patience),
            }
        });
        if let Some(Found::Task(_, Some(StealInfo { victim, .. }))) = stolen {
            // One task may have been taken of many.
            self.look_within(1);
            let before = seen(victim).get();
            let patience = 2 * (view.now - before.since);
            seen(victim).set(Seen { patience, ..before });
        }
        stolen
    }

    /// Steals from one other worker, up to as many tasks as `most` says for it, and takes one.
    pub(in crate::worker) fn steal(&self, most: impl Fn(usize) -> usize) -> Option<Found> {
        let stolen = self.steal_by(|victim| {
            let most = most(victim);
            let stealer = &self.shared().stealers[victim];
            (most > 0).then(|| self.queues.deques.steal_and_pop(stealer, most))?
        });
        stolen.map(|(task, steal)| Found::Task(task, Some(steal)))
    }

    /// Steals from the first of the other workers from which `steal` returns something.
    fn steal_by<T>(&self, steal: impl Fn(usize) -> Option<(T, usize)>) -> Option<(T, StealInfo)> {
        let stolen = self.others().find_map(|victim| {
            let (stolen, tasks) = steal(victim)?;
            let thief = self.index();
            let steal = StealInfo {
                thief,
                victim,
                tasks,
            };
            Some((stolen, steal))
        })?;
        self.counters().steals.increment();
        Some(stolen)
    }
}

impl Running<'_> {
    /// Looks at the other workers, if that is due. Returns the number of runs after which to look
    /// at the clock again.
    #[cold]
    pub(in crate::worker) fn look_around(&self) -> u64 {
        if self.shared().workers() == 1 {
            return u32::MAX.into();
        }
        let (looked, runs) = self.lookout.looked.get();
        let (now, runs) = (now(), self.runs() - runs);
        let time = now - looked;
        if runs > 0 && time >= LONGEST_WATCH {
            self.lookout.looked.set((now, self.runs()));
            let is_long = mean(time, runs) >= WORTH_A_STEAL;
            self.even_out(&self.view(now), is_long);
        }
        let due = LONGEST_WATCH.as_nanos() * u128::from(runs) / time.as_nanos().max(1);
        due.clamp(1, CLOCK_INTERVAL.into()) as u64
    }

    /// Steals half of the queue of a worker that is stuck, or this worker's share of a queue.
    /// `is_long` says whether its own polls are.
    fn even_out(&self, view: &View, is_long: bool) {
        let (shared, lookout, look) = (self.shared(), &self.lookout, self.lookout.looks.get());
        let is_last = look + 1 == LOOKS_IN_A_ROW;
        lookout.looks.set((look + 1) % LOOKS_IN_A_ROW);
        let look_at = |worker: usize, own: Option<&Row>| {
            let mut seen = lookout.seen[worker].get();
            let (high, queued) = shared.stealers[worker].high_taken_and_len();
            let turns = [shared.counters[worker].polls.get(), high];
            seen.row.look(turns, queued, look, own);
            lookout.seen[worker].set(seen);
            seen.row
        };
        let own = look_at(self.index(), None);
        self.others()
            .for_each(|worker| _ = look_at(worker, Some(&own)));
        let stolen = self.steal_by(|victim| {
            let seen = lookout.seen[victim].get();
            let is_slow = self.runs() - seen.runs >= LOOKS_IN_A_ROW.into();
            let most = match is_slow && view.now - seen.since >= STUCK {
                true => [MOST_STOLEN; 2],
                false if is_long || is_last => seen.row.shares(&own, is_long, is_last),
                false => return None,
            };
            let stealer = &shared.stealers[victim];
            let tasks = self.queues.deques.steal_each(stealer, most);
            (tasks > 0).then_some(((), tasks))
        });
        if let Some(((), steal)) = stolen {
            self.notify();
            self.tell_of_theft(&steal);
        }
    }

    /// Calls the hook for a theft, with the stolen tasks in the queues.
    pub(in crate::worker) fn tell_of_theft(&self, steal: &StealInfo) {
        if self.shared().hooks.on_steal.is_some() {
            self.stranger(|| self.shared().hooks.stole(steal));
        }
    }
}

#[cfg(test)]
mod tests;
