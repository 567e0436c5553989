//! What a worker does when it has nothing to run: it looks after the others, takes over what they should not do alone, and sleeps.
//!
//! To move a task to another processor costs more than many a task. So a queue is not robbed because there is something in it. Its
//! worker keeps it for as long as it gets on fast. It is robbed
//!
//! * when polls take long, these days ([`WORTH_A_STEAL`]): who looks out measures that, for itself and for those whom it watches;
//! * when its worker has been in one poll for [`PATIENCE`]: of one task, to see how long that takes, and of another after twice that
//!   time, and so on; of half of what is there when it has been for [`STUCK`].
//!
//! A side of a join is taken under conditions of its own (`fork_join/help.rs`), when there is no task to take over.
//!
//! An active worker looks after those that are stuck too, now and then (`turn.rs`).
//!
//! What comes from outside is left to the active workers, if there are any, under the same conditions. A lookout whose help is not
//! needed looks again after a while, and after twice that while, up to [`LONGEST_WATCH`]. When nobody gets on and nothing is queued,
//! it sleeps.

use alloc::vec::Vec;
use core::{cell::Cell, hint, time::Duration};
use std::time::Instant;

use crossbeam_deque::{Steal, Stealer, Worker};

use super::{
    fork_join::Taken,
    shared::{Queues, Runnable},
    sleep::{Bed, Watched},
    worker::Local,
};

/// How many nanoseconds a poll takes when it is worth being done elsewhere.
const WORTH_A_STEAL: usize = 600;
/// How long a worker may be in one poll before a task is taken from its queue.
const PATIENCE: Duration = Duration::from_micros(50);
/// How long a worker may be in one poll before its queue is halved.
const STUCK: Duration = Duration::from_millis(1);
const FIRST_WATCH: Duration = Duration::from_micros(50);
const LONGEST_WATCH: Duration = Duration::from_millis(1);
/// How often a worker looks round before it rests: a rest costs more than a look.
const LOOKS: u32 = 4;
/// How often a worker looks for what comes from outside before it searches.
const LINGER: u32 = 4;
/// How many tasks are stolen at once.
const MOST_STOLEN: usize = 256;

/// What a worker knows of the others.
pub(super) struct Lookout {
    seen: Vec<Cell<Seen>>,
    /// When this worker began to be active, and how many runs it had made by then.
    began: Cell<(Instant, u64)>,
    random: Cell<u32>,
}

/// A worker, when its count of polls was last seen to have changed.
#[derive(Clone, Copy)]
struct Seen {
    polls: u64,
    since: Instant,
    /// How long it may be in that poll before the next task is taken from its queue.
    patience: Duration,
    /// Whether there was something in its queue.
    is_busy: bool,
}

/// What a look brings.
enum Found {
    Task(Runnable),
    Fork(Taken),
}

/// What the others look like from here.
struct View {
    now: Instant,
    /// A worker's count of polls has changed since the last look.
    gets_on: bool,
    /// None has for [`PATIENCE`].
    all_stuck: bool,
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

impl Local {
    /// Looks for work elsewhere, rests when there is none, and runs what it finds.
    pub(super) fn look_out(&self) {
        // It may have woken nothing but what runs elsewhere.
        if self.attend() && self.has_own() {
            return;
        }
        if let Some(injected) = self.linger() {
            return self.take_up(injected);
        }
        self.judge_own_polls();
        let shared = &**self.shared();
        shared.sleep.search();
        let mut watch = FIRST_WATCH;
        let mut expects = false;
        let found = loop {
            let (found, gets_on) = self.look_round();
            if found.is_some() {
                break found;
            }
            if self.is_over() {
                break None;
            }
            watch = self.rest_once(gets_on, watch, &mut expects);
        };
        shared
            .sleep
            .found(|| shared.has_work() || self.leaves_driver());
        self.lookout.began.set((Instant::now(), self.runs()));
        match found {
            Some(Found::Task(runnable)) => self.take_up(runnable),
            Some(Found::Fork(taken)) => taken.run(),
            None => {}
        }
    }

    /// Rests, as a watcher if there is somebody to look after, or else until it is woken. Comes with how long the next watch lasts.
    fn rest_once(&self, gets_on: bool, watch: Duration, expects: &mut bool) -> Duration {
        let shared = &**self.shared();
        let has_queued = shared.has_work();
        let mut next = FIRST_WATCH;
        if shared.sleep.wants_watcher() && (gets_on || has_queued) {
            self.counters().parks.increment();
            *expects = self.helper.expects(*expects);
            let limit = if *expects { FIRST_WATCH } else { watch };
            // `visits.rs`: who comes to the driver often does more for it than this worker, which
            // had to be woken there. Another one that gets on, but never runs dry, looks there each
            // 61 runs only.
            let needed = !gets_on || !self.is_driver_visited();
            self.rest_in_place(needed, |urgent, bed| {
                if shared.sleep.watch(self.index(), limit, urgent, bed) == Watched::Over {
                    next = LONGEST_WATCH.min(2 * watch);
                }
            });
        } else {
            let has_work = || shared.has_work();
            self.rest_in_place(true, |urgent, bed| {
                if shared.sleep.sleep(self.index(), urgent, has_work, bed) {
                    self.counters().parks.increment();
                }
            });
        }
        next
    }

    /// Rests in the driver, if it is `needed` there and nobody else is; else as its reserve; else on this thread.
    fn rest_in_place(&self, needed: bool, rest: impl FnOnce(&dyn Fn() -> bool, Bed<'_>)) {
        let shared = &**self.shared();
        let keeper = if needed { shared.driver.keep() } else { None };
        let is_missed = needed && keeper.is_none();
        // What outsiders push to: the active workers look there by themselves.
        let urgent = || {
            let injected = || shared.has_injected() && shared.sleep.is_quiet();
            let vacant = || is_missed && shared.driver.is_vacant();
            self.has_pinned() || self.is_over() || injected() || vacant()
        };
        if let Some(mut keeper) = keeper {
            let mut lie = |limit| keeper.lie(limit);
            self.rest(|| rest(&urgent, Bed::Driver(&mut lie)));
            self.attend_as(keeper);
        } else if let Some(mut reserve) = shared.driver.reserve() {
            let mut lie = |limit| reserve.lie(limit);
            self.rest(|| rest(&urgent, Bed::Reserve(&mut lie)));
        } else {
            self.rest(|| rest(&urgent, Bed::Thread));
        }
    }

    /// Waits a moment for what comes from outside, still as an active worker: a thread that pushes one task after the other finds
    /// nothing to do but to push, and what it has pushed meanwhile is taken at once.
    fn linger(&self) -> Option<Runnable> {
        (0..LINGER).find_map(|_| {
            for _ in 0..32 {
                hint::spin_loop();
            }
            self.next_injected()
        })
    }

    /// At the end of being active: whether the polls of that time were long.
    fn judge_own_polls(&self) {
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

    /// Looks a few times for something to take over. Comes with whether the others get on.
    fn look_round(&self) -> (Option<Found>, bool) {
        let mut gets_on = false;
        for look in 0..LOOKS {
            let view = self.view();
            gets_on |= view.gets_on;
            let found = self.look(&view);
            if found.is_some() {
                return (found, gets_on);
            }
            for _ in 0..(1 << look) * 8 {
                hint::spin_loop();
            }
        }
        (None, gets_on)
    }

    fn look(&self, view: &View) -> Option<Found> {
        let task = self.look_for_task(view).map(Found::Task);
        task.or_else(|| self.take_fork(view.now).map(Found::Fork))
    }

    fn look_for_task(&self, view: &View) -> Option<Runnable> {
        let shared = &**self.shared();
        if let Some(own) = self.next_own() {
            return Some(own);
        }
        if shared.poll_time() >= WORTH_A_STEAL || view.all_stuck || shared.sleep.is_quiet() {
            if let Some(injected) = self.take_injected() {
                return Some(injected);
            }
        }
        if shared.has_work() {
            self.steal(view)
        } else {
            None
        }
    }

    /// Sees how the others get on.
    fn view(&self) -> View {
        let mut view = View {
            now: Instant::now(),
            gets_on: false,
            all_stuck: true,
        };
        let others = (0..self.lookout.seen.len()).filter(|&i| i != self.index());
        for i in others {
            let polls = self.shared().counters[i].polls.get();
            let before = self.lookout.seen[i].get();
            if before.polls != polls {
                let is_busy = !self.shared().normal.stealers[i].is_empty();
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
                view.gets_on = true;
                view.all_stuck = false;
            } else if view.now - before.since < PATIENCE {
                view.all_stuck = false;
            }
        }
        view
    }

    /// All other workers, in an order that begins anywhere.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> {
        let workers = self.shared().workers();
        let start = self.lookout.random() as usize % workers;
        let own = self.index();
        (start..workers).chain(0..start).filter(move |&i| i != own)
    }

    /// Looks, as an active worker, after those that have been in one poll for [`STUCK`], and takes half of a queue home: when no worker is
    /// ever idle, nobody else does.
    #[cold]
    pub(super) fn rescue(&self) {
        let view = self.view();
        let shared = self.shared();
        let stuck = |&i: &usize| view.now - self.lookout.seen[i].get().since >= STUCK;
        let found = self.others().filter(stuck).any(|i| {
            let take = |queues: &Queues, own| {
                let stolen = queues.stealers[i].steal_batch_with_limit(own, MOST_STOLEN);
                stolen.is_success()
            };
            let high = take(&shared.high, &self.high);
            let found = take(&shared.normal, &self.normal) || high;
            if found {
                record!(shared.hooks, Some(self.index()), Steal(i));
            }
            found
        });
        if found {
            self.counters().steals.increment();
            self.notify();
        }
    }

    fn steal(&self, view: &View) -> Option<Runnable> {
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
            let take =
                |queues: &Queues, own: &Worker<Runnable>| take(&queues.stealers[i], own, most);
            let stolen = take(&shared.high, &self.high);
            let stolen = stolen.or_else(|| take(&shared.normal, &self.normal))?;
            if most == 1 {
                let patience = 2 * stuck_for;
                self.lookout.seen[i].set(Seen { patience, ..seen });
            }
            record!(shared.hooks, Some(self.index()), Steal(i));
            Some(stolen)
        })?;
        self.counters().steals.increment();
        Some(stolen)
    }
}

impl Local {
    /// Takes one task from any other worker's queue, however it gets on, in a closed executor.
    pub(super) fn steal_to_discard(&self) -> Option<Runnable> {
        let shared = self.shared();
        self.others().find_map(|i| {
            let high = take(&shared.high.stealers[i], &self.high, 1);
            high.or_else(|| take(&shared.normal.stealers[i], &self.normal, 1))
        })
    }
}

/// Takes up to half of what is in a queue, and not more than `most`. Tries again for as long as other workers are in the way.
fn take(from: &Stealer<Runnable>, own: &Worker<Runnable>, most: usize) -> Option<Runnable> {
    loop {
        let stolen = match most {
            1 => from.steal(),
            _ => from.steal_batch_with_limit_and_pop(own, most),
        };
        match stolen {
            Steal::Success(runnable) => return Some(runnable),
            Steal::Empty => return None,
            Steal::Retry => hint::spin_loop(),
        }
    }
}

#[cfg(test)]
mod tests;
