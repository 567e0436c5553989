//! What a worker sees of the others, and when it steals.
//!
//! Moving a task to another core often costs more than running it. A non-empty queue is therefore
//! not reason enough to steal: while its owner makes quick progress, its tasks stay where they are.
//! An idle worker steals
//!
//! * if recent polls have been long: the last measured mean is above [`WORTH_A_STEAL`]. Idle
//!   workers measure it, for themselves and for the workers that they watch;
//! * if the owner has been in one poll for [`SOON`]: one task, then another after twice that
//!   time, and so on; and half of the queue once the owner has been in that poll for [`STUCK`].
//!
//! If there is no task to steal, it may take a side of a join, under conditions of its own
//! (`help.rs`). The injector is left to the running workers under the same conditions, if there are
//! any.
//!
//! A worker that always has something to run never searches. Between two runs, it looks at the
//! other workers about once in [`STUCK`]. It steals the queue of a worker that is stuck, or its
//! share of a queue whose tasks wait longer than its own (`share.rs`). It takes all, unlike an idle
//! worker, which is back sooner: what is left waits for the next look. A worker also seems stuck if
//! the system has taken its processor away, for some milliseconds. Of HTTP requests on 64
//! connections, with three busy threads on two processors, 99 in 100 took 4.2 ms while half was
//! taken, and take 2.8 ms.

use alloc::vec::Vec;
use core::{cell::Cell, task::Waker, time::Duration};
use std::time::Instant;

use super::share::Row;
use crate::{
    fork_join::job::Taken,
    hooks::StealInfo,
    padded::one_each,
    policy::{MANY, SOON, STUCK, TURN, WORTH_A_STEAL},
    worker::{
        queues::Queues,
        shared::Runnable,
        state::{Core, Running},
    },
};
use joint_switch::now;

/// A worker's memory of the other workers.
pub(in crate::worker) struct Lookout {
    /// The index of the worker itself, which has a place among those seen too.
    index: usize,
    seen: Vec<Cell<Seen>>,
    /// When this worker last became active or measured its polls, and its number of runs then.
    pub(super) began: Cell<(Instant, u64)>,
    /// When this worker last became active or looked at the others, and its number of runs then.
    looked: Cell<(Instant, u64)>,
    random: Cell<u32>,
    /// The number of looks in the current row, which a busy worker has made.
    looks: Cell<u32>,
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
pub(super) struct View {
    pub(super) now: Instant,
    /// Whether some worker's count of polls has changed since the last look.
    pub(super) makes_progress: bool,
    /// Whether some worker has tasks queued, as at the last look, and its count has not changed.
    pub(super) is_slow: bool,
    /// Whether no worker's count of polls has changed for [`SOON`].
    pub(super) all_stuck: bool,
}

impl Lookout {
    pub(super) fn new(index: usize, workers: usize) -> Self {
        let now = now();
        let seen = Seen {
            polls: 0,
            since: now,
            runs: 0,
            patience: SOON,
            is_busy: false,
            waits: false,
            row: Row::NEW,
        };
        Self {
            index,
            seen: one_each(workers, |_| Cell::new(seen)),
            began: Cell::new((now, 0)),
            looked: Cell::new((now, 0)),
            looks: Cell::new(0),
            random: Cell::new(0x9e37_79b9 ^ (index as u32 + 1).wrapping_mul(0x85eb_ca6b)),
        }
    }

    /// Records that the worker becomes active.
    pub(super) fn begin(&self, runs: u64) {
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

    /// All other workers, beginning with a random one.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> {
        let workers = self.seen.len();
        let start = self.random() as usize % workers;
        let own = self.index;
        (start..workers).chain(0..start).filter(move |&i| i != own)
    }

    /// Measures how long this worker's polls were since it last began to.
    pub(super) fn judge_own_polls(&self, worker: &Core) {
        let (began, runs) = self.began.get();
        let runs = worker.queues.runs() - runs;
        if runs > 0 {
            worker.shared().set_poll_time(mean(now() - began, runs));
        }
    }

    /// Looks at the progress of all other workers.
    pub(super) fn view(&self, worker: &Core, now: Instant) -> View {
        let mut view = View {
            now,
            makes_progress: false,
            is_slow: false,
            all_stuck: true,
        };
        let shared = worker.shared();
        for i in 0..self.seen.len() {
            if i == self.index {
                continue;
            }
            let polls = shared.counters[i].polls.get();
            let tasks = shared.stealers[i].len();
            let before = self.seen[i].get();
            let is_same = before.polls == polls;
            let time = view.now - before.since;
            if !is_same && before.is_busy && tasks > 0 && time >= SOON {
                shared.set_poll_time(mean(time, polls - before.polls));
            }
            let (since, runs, patience) = match is_same {
                true => (before.since, before.runs, before.patience),
                false => (view.now, worker.queues.runs(), SOON),
            };
            self.seen[i].set(Seen {
                polls,
                since,
                runs,
                patience,
                is_busy: tasks > 0,
                waits: tasks > 1 || tasks > 0 && is_same && before.is_busy,
                ..before
            });
            view.makes_progress |= !is_same;
            view.is_slow |= is_same && before.is_busy && tasks > 0;
            view.all_stuck &= is_same && time >= SOON;
        }
        view
    }

    /// Steals as an idle worker, from one that is slow.
    pub(super) fn steal_patiently(&self, queues: &Queues, view: &View) -> Option<Found> {
        let is_worth_it = queues.shared.poll_time() >= WORTH_A_STEAL;
        let seen = |victim: usize| &self.seen[victim];
        let stolen = self.steal(queues, |victim| {
            let seen = seen(victim).get();
            match view.now - seen.since {
                stuck if is_worth_it && seen.waits || stuck >= STUCK => MANY,
                stuck => usize::from(stuck >= seen.patience),
            }
        });
        if let Some(Found::Task(_, Some(StealInfo { victim, .. }))) = stolen {
            // One task may have been taken of many.
            queues.look_within(1);
            let before = seen(victim).get();
            let patience = 2 * (view.now - before.since);
            seen(victim).set(Seen { patience, ..before });
        }
        stolen
    }

    /// Steals from one other worker, up to as many tasks as `most` says for it, and takes one.
    pub(super) fn steal(&self, queues: &Queues, most: impl Fn(usize) -> usize) -> Option<Found> {
        let stolen = self.steal_by(queues, |victim| {
            let most = most(victim);
            let stealer = &queues.shared.stealers[victim];
            (most > 0).then(|| queues.deques.steal_and_pop(stealer, most))?
        });
        stolen.map(|(task, steal)| Found::Task(task, Some(steal)))
    }

    /// Steals from the first of the other workers from which `steal` returns something.
    fn steal_by<T>(
        &self,
        queues: &Queues,
        steal: impl Fn(usize) -> Option<(T, usize)>,
    ) -> Option<(T, StealInfo)> {
        for victim in self.others() {
            if let Some((stolen, tasks)) = steal(victim) {
                queues.counters().steals.increment();
                let thief = self.index;
                let steal = StealInfo {
                    thief,
                    victim,
                    tasks,
                };
                return Some((stolen, steal));
            }
        }
        None
    }

    /// Looks at the other workers, if that is due. Returns the number of runs after which to look
    /// at the clock again.
    #[cold]
    pub(in crate::worker) fn look_around(&self, worker: &Running<'_>) -> u64 {
        if self.seen.len() == 1 {
            return u32::MAX.into();
        }
        let (looked, runs) = self.looked.get();
        let (now, all_runs) = (now(), worker.queues.runs());
        let (time, runs) = (now - looked, all_runs - runs);
        if runs > 0 && time >= STUCK {
            self.looked.set((now, all_runs));
            let is_long = mean(time, runs) >= WORTH_A_STEAL;
            self.even_out(worker, &self.view(worker, now), is_long);
        }
        let due = STUCK.as_nanos() * u128::from(runs) / time.as_nanos().max(1);
        due.clamp(1, MANY as u128) as u64
    }

    /// Steals the queue of a worker that is stuck, or this worker's share of a queue.
    /// `is_long` says whether its own polls are.
    fn even_out(&self, worker: &Running<'_>, view: &View, is_long: bool) {
        let (shared, queues, look) = (worker.shared(), &worker.queues, self.looks.get());
        let is_last = look + 1 == TURN;
        self.looks.set((look + 1) % TURN);
        let look_at = |other: usize, own: Option<&Row>| {
            let mut seen = self.seen[other].get();
            let (high, queued) = shared.stealers[other].high_taken_and_len();
            let turns = [shared.counters[other].polls.get(), high];
            seen.row.look(turns, queued, look, own);
            self.seen[other].set(seen);
            seen.row
        };
        let own = look_at(self.index, None);
        for other in self.others() {
            look_at(other, Some(&own));
        }
        let stolen = self.steal_by(queues, |victim| {
            let seen = self.seen[victim].get();
            let is_slow = queues.runs() - seen.runs >= TURN.into();
            let (deques, victim) = (&queues.deques, &shared.stealers[victim]);
            let tasks = match is_slow && view.now - seen.since >= STUCK {
                true => deques.steal_all(victim, MANY),
                false if is_long || is_last => {
                    deques.steal_each(victim, seen.row.shares(&own, is_long, is_last))
                }
                false => 0,
            };
            (tasks > 0).then_some(((), tasks))
        });
        if let Some(((), steal)) = stolen {
            worker.notify();
            tell_of_theft(worker, &steal);
        }
    }
}

/// Returns the mean length of polls, in nanoseconds.
fn mean(time: Duration, polls: u64) -> usize {
    usize::try_from(time.as_nanos() / u128::from(polls)).unwrap_or(usize::MAX)
}

/// Calls the hook for a theft, with the stolen tasks in the queues.
pub(super) fn tell_of_theft(worker: &Running<'_>, steal: &StealInfo) {
    if let Some(hook) = &worker.shared().hooks.on_steal {
        worker.stranger(|| hook(steal));
    }
}

#[cfg(test)]
mod tests;
