//! Schedules of tasks of all kinds, beside a copy of the queues: no order of yields, wake-ups,
//! thefts and refused budgets delays a task beyond the bounds in `docs/executor.md`.

use alloc::collections::VecDeque;
use core::fmt::Debug;
use std::thread_local;

use super::{HIGH, NORMAL, PINNED, TURN};
use crate::worker::harness::*;
use joint::task::Id;

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

/// The events of one run.
struct Step {
    yields: bool,
    /// The number of tasks that the run wakes.
    wakes: u32,
    /// Whether another worker then takes the oldest task that was woken.
    is_robbed: bool,
    /// Whether the run uses up its budget.
    is_refused: bool,
}

/// Which tasks there always are besides the spawned and the woken ones.
#[derive(Clone, Copy, Debug, Default)]
struct Always {
    high: bool,
    pinned: bool,
    /// Whether the pinned ones come from another thread.
    is_pinned_outside: bool,
    injected: bool,
}

/// For how many runs the tasks have waited that there always are.
#[derive(Debug, Default)]
struct Waits {
    /// How many runs of other kinds than spawned and woken were in a row.
    others: u32,
    pinned: u32,
    injected: u32,
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
    always: Always,
    high: VecDeque<Id>,
    pinned: VecDeque<Id>,
    injected: VecDeque<Id>,
    now: Waits,
}

impl Replay {
    fn new(always: Always) -> Self {
        let [worker, thief] = two_workers();
        let (spawned, woken) = (Queue::default(), Queue::default());
        let mut replay = Self {
            worker,
            thief,
            spawned,
            woken,
            always,
            high: VecDeque::new(),
            pinned: VecDeque::new(),
            injected: VecDeque::new(),
            now: Waits::default(),
        };
        (0..600).for_each(|_| replay.spawn());
        replay.refill();
        replay
    }

    /// Puts in what there always is. There are two pinned tasks, because only more than one have
    /// regular turns.
    fn refill(&mut self) {
        let always = self.always;
        if always.high && self.high.is_empty() {
            let task = told();
            self.high.push_back(task.id());
            self.worker.push(task, HIGH);
        }
        while always.pinned && self.pinned.len() < 2 {
            let task = told();
            self.pinned.push_back(task.id());
            match always.is_pinned_outside {
                true => self.worker.shared().inject(task, PINNED),
                false => self.worker.push(task, PINNED),
            }
        }
        if always.injected && self.injected.is_empty() {
            let task = told();
            self.injected.push_back(task.id());
            self.worker.shared().inject(task, NORMAL);
        }
    }

    /// Runs a task that is neither a spawned nor a woken one, if that is what comes next.
    fn is_other(&mut self, id: Id) -> bool {
        let queues = [&mut self.high, &mut self.pinned, &mut self.injected];
        let from = queues.iter().position(|queue| queue.front() == Some(&id));
        let now = &mut self.now;
        now.others += 1;
        now.pinned += u32::from(self.always.pinned);
        now.injected += u32::from(self.always.injected);
        match from {
            None => now.others = 0,
            Some(0) => {}
            Some(1) => now.pinned = 0,
            Some(_) => now.injected = 0,
        }
        from.is_some_and(|from| {
            queues.into_iter().nth(from).and_then(VecDeque::pop_front);
            true
        })
    }

    fn spawn(&mut self) {
        let task = told();
        self.spawned.push(task.id());
        self.worker.running().push_spawned(task);
    }

    fn wake(&mut self) {
        let task = told();
        self.woken.push(task.id());
        self.worker.push(task, NORMAL);
    }

    /// Runs the next task, and spawns another in its place if it was a spawned one.
    fn run(&mut self, step: Step) {
        let next = self.worker.take_next().expect("there are always tasks");
        let id = next.id();
        if self.is_other(id) {
            YIELDS.set(false);
            self.worker.running().run(next);
            self.end_of(step);
            return;
        }
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
        self.worker.running().run(next);
        if step.yields {
            self.woken.push(id);
        }
        if is_spawned {
            self.spawn();
        }
        self.end_of(step);
    }

    /// Does the rest of a step, after the task has run.
    fn end_of(&mut self, step: Step) {
        if step.is_refused {
            self.worker.queues.hurry_turn();
        }
        (0..step.wakes).for_each(|_| self.wake());
        self.refill();
        if step.is_robbed && self.high.is_empty() && !self.woken.tasks.is_empty() {
            let stealer = &self.thief.shared().stealers[0];
            let stolen = self.thief.queues.deques.steal_and_pop(stealer, 1);
            let stolen = stolen.map(|(task, _)| task.id());
            assert_eq!(stolen.as_ref(), self.woken.tasks.front());
            self.woken.pop_oldest();
        }
    }

    /// Asserts that each wait is within the documentation's bound. The run that ends it is not
    /// counted.
    fn assert_fair(&self, schedule: &impl Debug) {
        let (now, always) = (&self.now, self.always);
        let waited = [self.spawned.waited, self.woken.waited];
        let in_a_row = self.spawned.in_a_row.max(self.woken.in_a_row);
        // Those that come from outside are found within 36 runs.
        let pinned = if always.is_pinned_outside { 48 } else { 8 };
        let is_fair = waited[0] < 256
            && waited[1] < 34
            && in_a_row <= TURN + 1
            && now.others < 64
            && now.pinned < pinned
            && now.injected < 72;
        assert!(
            is_fair,
            "{always:?} {schedule:?}: {waited:?} {in_a_row} {now:?}"
        );
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

/// Each kind of which there always is a task, in all combinations.
fn all_kinds() -> impl Iterator<Item = Always> + Clone {
    (0..16).map(|bits| Always {
        high: bits & 1 != 0,
        pinned: bits & 2 != 0,
        is_pinned_outside: bits & 4 != 0,
        injected: bits & 8 != 0,
    })
}

#[test]
fn no_schedule_of_yields_wakes_and_thefts_breaks_a_bound() {
    for (seed, always) in (1..=64).zip(all_kinds().cycle()) {
        let mut chance = Chance(seed << 32 | 0x9E37_79B9);
        // How often each thing happens is chosen once for each schedule.
        let often = [(); 4].map(|()| [1, 2, 8, 32, 64, 1 << 20][chance.below(6) as usize]);
        let most = 1 + chance.below(40);
        let mut replay = Replay::new(always);
        for _ in 0..1_200 {
            replay.run(Step {
                yields: chance.below(often[0]) == 0,
                wakes: match chance.below(often[1]) {
                    0 if replay.woken.tasks.len() < 1_000 => chance.below(most) as u32,
                    _ => 0,
                },
                is_robbed: chance.below(often[2]) == 0,
                is_refused: chance.below(often[3]) == 0,
            });
            replay.assert_fair(&(seed, often, most));
        }
        replay.worker.running().discard_queued();
        replay.worker.shared().injector.take(TURN as usize, drop);
    }
}
