//! Schedules of spawned and woken tasks, beside a copy of the two queues: no order of yields,
//! wake-ups and thefts delays a task beyond the bounds that the executor's documentation promises.

use alloc::collections::VecDeque;
use core::{cell::Cell, future::poll_fn, panic::Location, task::Poll};
use std::thread_local;

use super::{NORMAL, STREAK};
use crate::{
    executor::worker::{Worker, harness::two_workers, launch::new_detached, shared::Runnable},
    task::Id,
};

thread_local! {
    /// Whether the task that runs yields instead of ending.
    static YIELDS: Cell<bool> = const { Cell::new(false) };
}

/// A task that yields or ends in each run, as it is told.
fn told() -> Runnable {
    let yields = poll_fn(|cx| match YIELDS.get() {
        true => {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
        false => Poll::Ready(()),
    });
    new_detached(Location::caller(), yields)
}

/// What happens in one run.
#[derive(Clone, Copy, Default)]
struct Step {
    yields: bool,
    /// The number of tasks that the run wakes.
    wakes: u32,
    /// Whether another worker then takes the oldest task that was woken.
    is_robbed: bool,
}

/// One of the two queues.
#[derive(Default)]
struct Queue {
    /// Oldest first.
    tasks: VecDeque<Id>,
    /// The number of runs for which its oldest task has been that.
    waited: u32,
    /// The number of its tasks that have run in a row while the other queue had some.
    in_a_row: u32,
}

impl Queue {
    fn push(&mut self, task: Id) {
        self.tasks.push_back(task);
    }

    fn pop_oldest(&mut self) {
        self.tasks.pop_front();
        self.waited = 0;
    }

    /// Counts a run of a task of this queue, or of `other`.
    fn count(&mut self, is_own: bool, other: &Self) {
        self.waited = match self.tasks.is_empty() {
            true => 0,
            false => self.waited + 1,
        };
        self.in_a_row = match is_own && !other.tasks.is_empty() {
            true => self.in_a_row + 1,
            false => 0,
        };
    }
}

struct Replay {
    worker: Worker,
    thief: Worker,
    spawned: Queue,
    woken: Queue,
}

impl Replay {
    fn new() -> Self {
        let [worker, thief] = two_workers();
        let (spawned, woken) = (Queue::default(), Queue::default());
        let mut replay = Self {
            worker,
            thief,
            spawned,
            woken,
        };
        (0..600).for_each(|_| replay.spawn());
        replay
    }

    fn spawn(&mut self) {
        let task = told();
        self.spawned.push(task.id());
        self.worker.push_spawned(task);
    }

    fn wake(&mut self) {
        let task = told();
        self.woken.push(task.id());
        self.worker.push(task, NORMAL);
    }

    /// Runs the next task, and spawns another in its place if it was a spawned one.
    fn run(&mut self, step: Step) {
        let next = self.worker.next().expect("there are always tasks");
        let id = next.id();
        let is_spawned = self.woken.tasks.front() != Some(&id);
        self.spawned.count(is_spawned, &self.woken);
        self.woken.count(!is_spawned, &self.spawned);
        if !is_spawned {
            self.woken.pop_oldest();
        } else if self.spawned.tasks.back() == Some(&id) {
            self.spawned.tasks.pop_back();
        } else {
            assert_eq!(self.spawned.tasks.front(), Some(&id), "oldest or newest");
            self.spawned.pop_oldest();
        }
        YIELDS.set(step.yields);
        self.worker.run(next);
        if step.yields {
            self.woken.push(id);
        }
        if is_spawned {
            self.spawn();
        }
        (0..step.wakes).for_each(|_| self.wake());
        if step.is_robbed && !self.woken.tasks.is_empty() {
            let stealers = &self.thief.shared().stealers;
            let stolen = self.thief.queues.steal_from(&stealers[0], 1);
            assert_eq!(
                stolen.map(|task| task.id()),
                self.woken.tasks.front().copied()
            );
            self.woken.pop_oldest();
        }
    }

    /// Makes `runs` runs, each as `step` says by what it finds. Returns how long the oldest tasks
    /// have waited, those that were spawned and those that were woken, and how many of one queue
    /// ran in a row.
    fn runs(mut self, runs: u32, mut step: impl FnMut(&Self) -> Step) -> [u32; 3] {
        let mut longest = [0; 3];
        for _ in 0..runs {
            let next = step(&self);
            self.run(next);
            let in_a_row = self.spawned.in_a_row.max(self.woken.in_a_row);
            let now = [self.spawned.waited, self.woken.waited, in_a_row];
            longest
                .iter_mut()
                .zip(now)
                .for_each(|(one, now)| *one = now.max(*one));
        }
        self.worker.discard_queued();
        longest
    }
}

/// Whether each wait is within the documentation's bound. The run that ends it is not counted.
fn is_fair([spawned, woken, in_a_row]: [u32; 3]) -> bool {
    spawned < 512 && woken < 33 && in_a_row <= STREAK
}

/// Whether nothing is woken, and `before` spawned tasks have run since something was.
fn is_after(replay: &Replay, runs: &Cell<u32>, before: u32) -> bool {
    let is_empty = replay.woken.tasks.is_empty();
    runs.set(if is_empty { runs.get() + 1 } else { 0 });
    is_empty && runs.get() > before
}

/// Each streak is made longer by a task that yields in it while nothing is woken, and that is
/// robbed of it, or is followed by others.
#[test]
fn a_yield_late_in_each_streak_does_not_keep_the_oldest_out() {
    for before in [0, 1, 15, 30, 31] {
        for wakes in [0, 1, 15, 30, 31] {
            for is_robbed in [false, true] {
                let (runs, late) = (Cell::new(0), Cell::new(0));
                let longest = Replay::new().runs(1_200, |replay| {
                    let yields = is_after(replay, &runs, before);
                    late.set(if yields { 0 } else { late.get() + 1 });
                    Step {
                        yields,
                        wakes: if late.get() == 1 { wakes } else { 0 },
                        is_robbed: is_robbed && yields,
                    }
                });
                assert!(
                    is_fair(longest),
                    "{before}, {wakes}, {is_robbed}: {longest:?}"
                );
            }
        }
    }
}

/// Numbers that look random, the same in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn no_schedule_of_yields_wake_ups_and_thefts_breaks_a_bound() {
    for seed in 1..=60 {
        let mut chance = Chance(seed << 32 | 0x9E37_79B9);
        // How often each thing happens is chosen once for each schedule.
        let often = [(); 3].map(|()| [1, 2, 8, 32, 64, 1 << 20][chance.below(6) as usize]);
        let most = 1 + chance.below(40);
        let longest = Replay::new().runs(1_200, |replay| Step {
            yields: chance.below(often[0]) == 0,
            wakes: match chance.below(often[1]) {
                0 if replay.woken.tasks.len() < 1_000 => chance.below(most) as u32,
                _ => 0,
            },
            is_robbed: chance.below(often[2]) == 0,
        });
        assert!(is_fair(longest), "{seed}: {often:?}, {most}: {longest:?}");
    }
}
