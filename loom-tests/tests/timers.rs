//! Models of a queue of deadlines (`joint-executor/src/driver/timers.rs`): a task that waits for a
//! timer races with the worker that fires it, with the shutdown, and with the drop of the timer. No
//! wake-up is lost or repeated, and every waker is dropped.
//!
//! One lock guards the whole queue. The models therefore check what may happen between two times
//! that a thread holds the lock: a poll with another waker takes it twice.

use joint_executor::model::TimerKey;
use loom::sync::atomic::AtomicUsize;

use crate::prelude::*;

const NEVER: u64 = u64::MAX;
const DUE: u64 = 5;

struct World {
    timers: Timers,
    /// Touched before the operation that races. loom releases the lock in one step with the
    /// operation before it, so this operation lets other threads run in between. Relaxed, so that
    /// it makes no edges.
    gap: AtomicUsize,
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            timers: Timers::new(),
            gap: AtomicUsize::new(0),
        })
    }

    fn insert(&self, deadline: u64, wakes: &Arc<Wakes>) -> TimerKey {
        let inserted = self.timers.insert(deadline, wakes.waker());
        inserted.expect("the queue is not closed").0
    }

    fn gap(&self) {
        self.gap.fetch_add(1, Relaxed);
    }

    /// As the worker does: fires all timers that are due, and then wakes their tasks.
    fn fire(&self) {
        let mut woken = Vec::new();
        self.timers.fire(DUE, &mut woken);
        self.gap();
        for waker in woken {
            waker.wake();
        }
    }

    /// As the executor's shutdown does.
    fn close(&self) {
        self.gap();
        let woken = self.timers.close();
        self.gap();
        for waker in woken {
            waker.wake();
        }
    }
}

/// How often each was woken. Checks that each of their wakers has been dropped.
#[track_caller]
fn counts(wakes: &[&Arc<Wakes>]) -> Vec<usize> {
    let counts = wakes.iter().map(|wakes| {
        assert_eq!(wakes.wakers(), 0, "a waker was kept");
        wakes.count()
    });
    counts.collect()
}

/// Another timer takes its place at once, and the worker that fires must not confuse the two.
#[test]
fn fire_against_cancel_and_a_new_timer() {
    model(|| {
        let (world, first, second) = (World::new(), Wakes::new(), Wakes::new());
        let key = world.insert(DUE, &first);
        let firer = start(&world, |world| world.fire());
        world.gap();
        let given_back = world.timers.remove(&key).map(drop);
        let key = world.insert(DUE + 1, &second);
        firer.join().unwrap();
        assert_eq!(
            world.timers.poll(&key, &second.waker()),
            Some(Poll::Pending)
        );
        assert_eq!(world.timers.earliest(), DUE + 1);
        drop(world.timers.remove(&key));
        let fired = usize::from(given_back.is_none());
        assert_eq!(counts(&[&first, &second]), [fired, 0]);
    });
}

#[test]
fn fire_against_a_poll_with_another_waker() {
    model(|| {
        let (world, first, second) = (World::new(), Wakes::new(), Wakes::new());
        let key = world.insert(DUE, &first);
        let firer = start(&world, |world| world.fire());
        world.gap();
        let poll = world.timers.poll(&key, &second.waker());
        let poll = poll.expect("the queue is not closed");
        firer.join().unwrap();
        if poll.is_pending() {
            let again = world.timers.poll(&key, &second.waker());
            assert_eq!(again, Some(Poll::Ready(())));
        }
        let second_woken = usize::from(poll.is_pending());
        assert_eq!(counts(&[&first, &second]), [1 - second_woken, second_woken]);
    });
}

#[test]
fn fire_against_the_end() {
    model(|| {
        let (world, wakes) = (World::new(), Wakes::new());
        let key = world.insert(DUE, &wakes);
        let firer = start(&world, |world| world.fire());
        world.close();
        firer.join().unwrap();
        assert_eq!(world.timers.poll(&key, &wakes.waker()), None);
        assert!(world.timers.remove(&key).is_none());
        assert_eq!(world.timers.earliest(), NEVER);
        assert_eq!(counts(&[&wakes]), [1]);
    });
}

#[test]
fn the_end_against_a_poll_with_another_waker() {
    model(|| {
        let (world, first, second) = (World::new(), Wakes::new(), Wakes::new());
        let key = world.insert(DUE, &first);
        let closer = start(&world, |world| world.close());
        world.gap();
        let polled = world.timers.poll(&key, &second.waker());
        closer.join().unwrap();
        let second_woken = match polled {
            Some(Poll::Pending) => 1,
            None => 0,
            Some(Poll::Ready(())) => panic!("the timer fired, and no worker fires timers here"),
        };
        assert_eq!(counts(&[&first, &second]), [1 - second_woken, second_woken]);
    });
}
