//! How a worker helps with the forks of other workers: if it has nothing to run, or waits for a
//! fork of its own, it takes those that are worth a theft.
//!
//! A theft costs both threads about a microsecond. A fork is therefore taken only once its worker
//! has had one open in the same place for [`SOON`]. The closure that runs before it has
//! mostly taken that long by then, and the two sides of a fork are usually alike. (The fork may be
//! a younger one, in the place of another. To tell them apart took more time than it saved.)
//!
//! **No deadlock.** A worker that waits for a fork waits for a taker that is running it. Suppose
//! workers wait in a cycle, each for a job that lies on its neighbour's stack, beneath the job that
//! the neighbour is running. The job beneath began before the job above it, and the job above began
//! before it forked the job that the neighbour in turn waits for. So each awaited job began before
//! the next one in the cycle, and following the cycle once, each began before itself: a
//! contradiction.
//!
//! **How deep the stack grows.** A waiting worker helps only while less than [`ROOM_ON_STACK`] of
//! its stack is in use. So its stack holds at most that much, and on top of it at most what the
//! last job that it took needs without any theft.

use alloc::vec::Vec;
use core::{cell::Cell, hint};
use std::time::Instant;

use super::shared::Shared;
use crate::{
    fork_join::job::{Taken, Wait},
    padded::one_each,
    policy::{LONGEST_WATCH, LOOKS, ROOM_ON_STACK, SOON},
};
use joint::{completion::Ended, host};
use joint_switch::now;

/// A worker's knowledge of the forks of the others.
pub(super) struct Helper {
    seen: Vec<Cell<Seen>>,
    /// The address at which the worker's stack begins.
    stack: Cell<usize>,
}

/// The oldest fork of a worker.
#[derive(Clone, Copy)]
struct Seen {
    index: u64,
    /// The time at which the fork was first seen.
    since: Instant,
}

impl Helper {
    pub(super) fn new(workers: usize) -> Self {
        let seen = Seen {
            index: u64::MAX,
            since: now(),
        };
        Self {
            seen: one_each(workers, |_| Cell::new(seen)),
            stack: Cell::new(0),
        }
    }

    /// Must be called at the bottom of the worker's stack.
    pub(super) fn begin(&self) {
        self.stack.set(stack_now());
    }

    fn has_room(&self) -> bool {
        self.stack.get().abs_diff(stack_now()) < ROOM_ON_STACK
    }

    /// Waits for a fork that another worker has taken. Meanwhile passes to `help` the time of each
    /// look, which runs another fork and says so, if there is one to take.
    pub(super) fn wait(&self, mut wait: Wait, help: impl Fn(Instant) -> bool) -> Ended {
        if !self.has_room() {
            return wait.block();
        }
        let mut limit = SOON;
        loop {
            for look in 0..LOOKS {
                if let Some(ended) = wait.ended() {
                    return ended;
                }
                if help(now()) {
                    limit = SOON;
                }
                spin_after(look);
            }
            if let Some(ended) = wait.block_until(host::now().checked_add(limit)) {
                return ended;
            }
            limit = LONGEST_WATCH.min(2 * limit);
        }
    }

    /// Takes a fork of that worker, if there is one that is worth it.
    pub(super) fn take_fork(&self, shared: &Shared, worker: usize, now: Instant) -> Option<Taken> {
        let forks = &shared.forks[worker];
        let seen = &self.seen[worker];
        let Some(index) = forks.oldest() else {
            forks.ask();
            return None;
        };
        if seen.get().index != index {
            seen.set(Seen { index, since: now });
            return None;
        }
        if now.saturating_duration_since(seen.get().since) < SOON {
            return None;
        }
        let taken = forks.steal();
        // The age of the next fork is counted from now, so that it is old enough by the time this
        // one is done.
        if let Some(index) = forks.oldest() {
            seen.set(Seen { index, since: now });
        }
        taken
    }
}

/// Returns the approximate address of the top of the stack.
#[inline(never)]
fn stack_now() -> usize {
    let here = 0u8;
    (&raw const here).addr()
}

/// Spins after a look at the other workers.
pub(super) fn spin_after(look: u32) {
    for _ in 0..LOOKS << look {
        hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fork_join::{Forks, forks::KEPT_OPEN},
        policy::MANY,
        worker::harness::{two_workers, wakes_of},
    };
    use core::{iter, time::Duration};

    #[test]
    fn a_helper_has_room_while_little_of_the_stack_is_in_use() {
        let here = 0u8;
        assert!(stack_now().abs_diff((&raw const here).addr()) < ROOM_ON_STACK);
        let helper = Helper::new(1);
        helper.begin();
        assert!(helper.has_room());
        for far in [2 * ROOM_ON_STACK, (2 * ROOM_ON_STACK).wrapping_neg()] {
            helper.stack.set(stack_now().wrapping_add(far));
            assert!(!helper.has_room());
        }
    }

    /// Calls `f` while a fork of that worker is open.
    fn while_open(forks: &Forks, f: impl FnOnce()) {
        // SAFETY: this thread is the owner.
        let ((), b) = unsafe { forks.join(|| {}, Wait::block, f, || 7) };
        assert_eq!(b, 7);
    }

    #[test]
    fn a_fork_is_stolen_once_it_has_been_open_for_the_minimum_age() {
        let [worker, _other] = two_workers();
        let forks = &worker.shared().forks[1];
        let take = |at| worker.idle.take_fork(&worker, at).map(Taken::run).is_some();
        let start = Instant::now();
        assert!(!take(start), "there is no fork");
        let short = Duration::from_nanos(1);
        while_open(forks, || {
            assert!(!take(start));
            assert!(!take(start + SOON - short));
            assert!(take(start + SOON));
        });
        // The age of the second one counts from the theft of the first.
        while_open(forks, || {
            let late = start + 100 * SOON;
            assert!(!take(late));
            while_open(forks, || {
                let stolen = late + SOON;
                assert!(take(stolen));
                assert!(!take(stolen + SOON - short));
                assert!(take(stolen + SOON));
            });
        });
        assert_eq!(worker.counters().steals.get(), 3);
    }

    /// Opens nested forks. Returns how many are open in the innermost one, if `f` says so.
    fn nest(forks: &Forks, depth: usize, f: &dyn Fn() -> usize) -> usize {
        let mut open = 0;
        while_open(forks, || {
            open = match depth {
                1 => f(),
                _ => nest(forks, depth - 1, f),
            };
        });
        open
    }

    /// How many forks of a worker stay open, after nobody has asked for more and then `ask`.
    fn kept_open(forks: &Forks, ask: impl FnOnce()) -> usize {
        (0..MANY).for_each(|_| _ = nest(forks, KEPT_OPEN + 1, &|| 0));
        ask();
        let steal = || forks.steal().map(Taken::run);
        nest(forks, 2 * KEPT_OPEN, &|| iter::from_fn(steal).count())
    }

    #[test]
    fn a_fork_that_wakes_a_worker_asks_for_more() {
        for (is_asleep, open) in [(false, KEPT_OPEN), (true, 2 * KEPT_OPEN)] {
            let [worker, _other] = two_workers();
            let tell = || worker.running().tell_of_fork();
            let kept = kept_open(&worker.shared().forks[0], || match is_asleep {
                true => assert_eq!(wakes_of(&worker, tell), 1),
                false => tell(),
            });
            assert_eq!(kept, open);
        }
    }

    #[test]
    fn a_worker_that_finds_no_fork_or_takes_one_asks_for_more() {
        let [worker, _other] = two_workers();
        let forks = &worker.shared().forks[1];
        let look = || assert!(worker.idle.take_fork(&worker, now()).is_none());
        assert_eq!(kept_open(forks, || while_open(forks, look)), KEPT_OPEN);
        assert_eq!(kept_open(forks, look), 2 * KEPT_OPEN);
        let steal = || forks.steal().expect("one is open").run();
        assert_eq!(kept_open(forks, || while_open(forks, steal)), 2 * KEPT_OPEN);
    }
}
