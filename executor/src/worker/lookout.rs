//! What an idle worker does: watch the other workers, steal from those that are falling behind, and
//! go to sleep when there is nothing to do.
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
//! (`help.rs`).
//!
//! The injector is left to the active workers under the same conditions, if there are any. An idle
//! worker that finds nothing to do watches: it looks again after [`FIRST_WATCH`], then after twice
//! that time, up to [`LONGEST_WATCH`]. If no worker makes progress and nothing is queued, it
//! sleeps.
//!
//! Active workers look for stuck workers, too, every 61 to 976 runs (`queues/turn.rs`).

use alloc::vec::Vec;
use core::{cell::Cell, hint, mem, time::Duration};
use std::time::Instant;

use super::{Attended, Then, Worker, shared::Runnable};
use crate::{
    fork_join::job::Taken,
    hooks::StealInfo,
    sleep::{Parking, Slept, Watched},
};

/// Steal tasks if recent polls took at least this long on average (ns).
const WORTH_A_STEAL: usize = 600;
/// The length of a poll after which one task is stolen from the worker's queue.
const PATIENCE: Duration = Duration::from_micros(50);
/// The length of a poll after which half of the worker's queue is stolen.
const STUCK: Duration = Duration::from_millis(1);
const FIRST_WATCH: Duration = Duration::from_micros(50);
const LONGEST_WATCH: Duration = Duration::from_millis(1);
/// The number of looks at the other workers before a rest, which costs more than a look.
const LOOKS: u32 = 4;
/// The same for a worker that has come from the driver.
const LOOKS_FROM_DRIVER: u32 = 1;
/// The number of looks at the injector before a search.
const LINGER: u32 = 4;
/// The number of runs after which a worker that runs dry, but is never idle, measures its polls
/// again.
const JUDGED_RUNS: u64 = 64;
/// The largest number of tasks that are stolen at once.
pub(super) const MOST_STOLEN: usize = 256;

/// What a worker remembers of the other workers.
pub(super) struct Lookout {
    seen: Vec<Cell<Seen>>,
    /// When this worker last became active or measured its polls, and its number of runs then.
    began: Cell<(Instant, u64)>,
    random: Cell<u32>,
    /// Whether this worker's last rest was in the driver, and ended because tasks were woken there.
    /// Most such workers go back there soon, and who waits for the answer of a task may wait for
    /// the processor on which this worker still spins.
    is_from_driver: Cell<bool>,
}

/// What a worker has seen of another worker.
#[derive(Clone, Copy)]
struct Seen {
    polls: u64,
    /// The time at which its poll count last changed, as far as this worker has seen.
    since: Instant,
    /// The length of that poll after which the next task is stolen from its queue.
    patience: Duration,
    /// Whether its queue was not empty.
    is_busy: bool,
}

/// What a look finds.
pub(super) enum Found {
    Task(Runnable),
    Stolen(Runnable, StealInfo),
    Fork(Taken),
}

/// The result of one look at all other workers.
struct View {
    now: Instant,
    /// Whether some worker's count of polls has changed since the last look.
    makes_progress: bool,
    /// Whether no worker's count of polls has changed for [`PATIENCE`].
    all_stuck: bool,
}

/// What the other workers do, as far as several looks have seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Neighbours {
    StandStill,
    /// Some worker's count of polls has changed.
    MakeProgress,
}

/// Whether a worker that rests keeps the driver.
#[derive(Clone, Copy)]
pub(super) enum Keep {
    Never,
    /// It does, unless another worker keeps it.
    IfVacant,
}

/// How a worker watches, from one rest to the next.
struct Watch {
    /// The length of the next watch.
    limit: Duration,
    /// Whether the last watch was short, because a fork was about to be worth taking.
    expects: bool,
}

impl Lookout {
    pub(super) fn new(index: usize, workers: usize) -> Self {
        let now = Instant::now();
        let seen = Seen {
            polls: 0,
            since: now,
            patience: PATIENCE,
            is_busy: false,
        };
        Self {
            seen: (0..workers).map(|_| Cell::new(seen)).collect(),
            began: Cell::new((now, 0)),
            is_from_driver: Cell::new(false),
            random: Cell::new(0x9e37_79b9 ^ (index as u32 + 1).wrapping_mul(0x85eb_ca6b)),
        }
    }

    /// Makes it seem that a worker has been in one poll for [`STUCK`].
    #[cfg(test)]
    pub(super) fn set_stuck(&self, worker: usize) {
        let seen = &self.seen[worker];
        let since = Instant::now() - STUCK;
        seen.set(Seen {
            since,
            ..seen.get()
        });
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
    /// Looks for work elsewhere, rests while there is none, and runs what it finds.
    pub(super) fn look_out(&self) {
        if self.runs() - self.lookout.began.get().1 >= JUDGED_RUNS {
            // Without this, a worker for which the driver always has something would act on what it
            // measured when it was idle last.
            self.judge_own_polls();
            self.begin();
        }
        if let Attended::WokeTasks = self.attend(Then::Runs) {
            // The tasks that were woken may all run elsewhere.
            if self.has_own() {
                return;
            }
        }
        let is_from_driver = self.lookout.is_from_driver.take();
        if !is_from_driver {
            if let Some(injected) = self.linger() {
                return self.take_up(injected);
            }
        }
        let mut looks = match is_from_driver {
            true => LOOKS_FROM_DRIVER,
            false => LOOKS,
        };
        self.judge_own_polls();
        let shared = &**self.shared();
        shared.sleep.search();
        let mut watch = Watch {
            limit: FIRST_WATCH,
            expects: false,
        };
        let found = loop {
            let neighbours = match self.look_round(mem::replace(&mut looks, LOOKS)) {
                Ok(found) => break Some(found),
                Err(neighbours) => neighbours,
            };
            if self.is_over() {
                break None;
            }
            self.rest_once(neighbours, &mut watch);
        };
        self.end_search();
        self.take_up_found(found);
    }

    /// Rests once: for a limited time if another worker should be watched, or else until woken.
    fn rest_once(&self, neighbours: Neighbours, watch: &mut Watch) {
        let shared = &**self.shared();
        let has_queued = shared.has_work();
        let last = mem::replace(&mut watch.limit, FIRST_WATCH);
        if shared.sleep.wants_watcher() && (neighbours == Neighbours::MakeProgress || has_queued) {
            self.counters().parks.increment();
            watch.expects = self.helper.expects(watch.expects);
            let limit = if watch.expects { FIRST_WATCH } else { last };
            let keep = match neighbours {
                // A worker that visits the driver often serves it better than this worker could,
                // which would have to be woken there (`visits.rs`). A busy worker that never runs
                // dry visits it only every 61 runs.
                Neighbours::MakeProgress if self.is_driver_visited() => Keep::Never,
                _ => Keep::IfVacant,
            };
            self.rest_in_place(keep, |urgent, parking| {
                if shared.sleep.watch(self.index(), limit, urgent, parking) == Watched::Over {
                    watch.limit = LONGEST_WATCH.min(2 * last);
                }
            });
        } else {
            let has_work = || shared.has_work();
            self.rest_in_place(Keep::IfVacant, |urgent, parking| {
                let slept = shared.sleep.sleep(self.index(), urgent, has_work, parking);
                if let Slept::AWhile = slept {
                    self.counters().parks.increment();
                }
            });
        }
    }

    /// Rests in the driver, if the worker keeps it; or else as the driver's reserve; or else on
    /// this thread.
    pub(super) fn rest_in_place(
        &self,
        keep: Keep,
        rest: impl FnOnce(&dyn Fn() -> bool, Parking<'_>),
    ) {
        let shared = &**self.shared();
        let keeper = match keep {
            Keep::Never => None,
            Keep::IfVacant => shared.driver.keep(),
        };
        let is_missed = matches!(keep, Keep::IfVacant) && keeper.is_none();
        let urgent = || self.is_urgent() || is_missed && shared.driver.is_vacant();
        if let Some(mut keeper) = keeper {
            let mut park = |limit| keeper.park(limit);
            self.rest(|| rest(&urgent, Parking::Driver(&mut park)));
            let attended = self.attend_as(keeper);
            (self.lookout.is_from_driver).set(attended == Attended::WokeTasks);
        } else if let Some(mut reserve) = shared.driver.reserve() {
            let mut park = |limit| reserve.park(limit);
            self.rest(|| rest(&urgent, Parking::Reserve(&mut park)));
        } else {
            self.rest(|| rest(&urgent, Parking::Thread));
        }
    }

    /// Waits a moment for injected tasks, still as an active worker. A thread that spawns one task
    /// after the other then need not wake anybody, and its tasks run at once.
    fn linger(&self) -> Option<Runnable> {
        (0..LINGER).find_map(|_| {
            for _ in 0..32 {
                hint::spin_loop();
            }
            self.next_injected()
        })
    }

    /// Begins to measure this worker's polls.
    fn begin(&self) {
        self.lookout.began.set((Instant::now(), self.runs()));
    }

    /// Measures how long this worker's polls were since it last began to.
    pub(super) fn judge_own_polls(&self) {
        let (began, runs) = self.lookout.began.get();
        let runs = self.runs() - runs;
        if runs > 0 {
            self.judge(began.elapsed(), runs);
        }
    }

    fn judge(&self, time: Duration, polls: u64) {
        let mean = time.as_nanos() / u128::from(polls);
        self.shared()
            .set_poll_time(usize::try_from(mean).unwrap_or(usize::MAX));
    }

    /// Looks a few times for something to steal. If there is nothing, returns what the other
    /// workers do.
    fn look_round(&self, looks: u32) -> Result<Found, Neighbours> {
        let mut neighbours = Neighbours::StandStill;
        for look in 0..looks {
            let view = self.view();
            if view.makes_progress {
                neighbours = Neighbours::MakeProgress;
            }
            if let Some(found) = self.look(&view) {
                return Ok(found);
            }
            for _ in 0..(1 << look) * 8 {
                hint::spin_loop();
            }
        }
        Err(neighbours)
    }

    fn look(&self, view: &View) -> Option<Found> {
        let task = self.look_for_task(view);
        task.or_else(|| self.take_fork(view.now).map(Found::Fork))
    }

    fn look_for_task(&self, view: &View) -> Option<Found> {
        let shared = &**self.shared();
        if let Some(own) = self.next_own() {
            return Some(Found::Task(own));
        }
        if shared.poll_time() >= WORTH_A_STEAL || view.all_stuck || shared.sleep.is_quiet() {
            if let Some(injected) = self.take_injected() {
                return Some(Found::Task(injected));
            }
        }
        shared.has_work().then(|| self.steal(view))?
    }

    /// Looks at the progress of all other workers.
    fn view(&self) -> View {
        let mut view = View {
            now: Instant::now(),
            makes_progress: false,
            all_stuck: true,
        };
        let others = (0..self.lookout.seen.len()).filter(|&i| i != self.index());
        for i in others {
            let polls = self.shared().counters[i].polls.get();
            let before = self.lookout.seen[i].get();
            if before.polls != polls {
                let is_busy = self.shared().stealers[i].has_normal();
                let time = view.now - before.since;
                if before.is_busy && is_busy && time >= PATIENCE {
                    self.judge(time, polls - before.polls);
                }
                self.lookout.seen[i].set(Seen {
                    polls,
                    since: view.now,
                    patience: PATIENCE,
                    is_busy,
                });
                view.makes_progress = true;
                view.all_stuck = false;
            } else if view.now - before.since < PATIENCE {
                view.all_stuck = false;
            }
        }
        view
    }

    /// All other workers, beginning with a random one.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> {
        let workers = self.shared().workers();
        let start = self.lookout.random() as usize % workers;
        let own = self.index();
        (start..workers).chain(0..start).filter(move |&i| i != own)
    }

    /// Steals half of the queue of a worker that has been in one poll for [`STUCK`]. Active workers
    /// do this because there may never be an idle one.
    #[cold]
    pub(super) fn rescue(&self) {
        let view = self.view();
        let shared = self.shared();
        let stuck = |&i: &usize| view.now - self.lookout.seen[i].get().since >= STUCK;
        let found = self.others().filter(stuck).find_map(|i| {
            let tasks = self
                .queues
                .deques
                .steal_from(&shared.stealers[i], MOST_STOLEN);
            (tasks > 0).then(|| self.steal_info(i, tasks))
        });
        if let Some(steal) = found {
            self.counters().steals.increment();
            self.notify();
            shared.hooks.stole(&steal);
        }
    }

    fn steal(&self, view: &View) -> Option<Found> {
        let shared = self.shared();
        let stolen = self.others().find_map(|i| {
            let seen = self.lookout.seen[i].get();
            let stuck_for = view.now - seen.since;
            let most = if shared.poll_time() >= WORTH_A_STEAL || stuck_for >= STUCK {
                MOST_STOLEN
            } else if stuck_for >= seen.patience {
                1
            } else {
                return None;
            };
            let (stolen, tasks) = self
                .queues
                .deques
                .steal_and_pop(&shared.stealers[i], most)?;
            if most == 1 {
                let patience = 2 * stuck_for;
                self.lookout.seen[i].set(Seen { patience, ..seen });
            }
            Some(Found::Stolen(stolen, self.steal_info(i, tasks)))
        })?;
        self.counters().steals.increment();
        Some(stolen)
    }

    pub(super) fn steal_info(&self, victim: usize, tasks: usize) -> StealInfo {
        StealInfo {
            thief: self.index(),
            victim,
            tasks,
        }
    }

    /// Begins to run again, after a search that has ended.
    pub(super) fn end_search(&self) {
        let shared = &**self.shared();
        shared
            .sleep
            .found(|| shared.has_work() || self.leaves_driver());
        self.begin();
    }

    /// Runs, or drops, what a search has found.
    pub(super) fn take_up_found(&self, found: Option<Found>) {
        match found {
            Some(Found::Task(runnable)) => self.take_up(runnable),
            Some(Found::Stolen(runnable, steal)) => {
                // Not before `found`: a searcher must not run code that may take any time.
                self.shared().hooks.stole(&steal);
                self.take_up(runnable);
            }
            Some(Found::Fork(taken)) => taken.run(),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests;
