//! Models of how the workers of a closed executor arrive and leave (`joint-executor/src/gate.rs`).
//! Each worker has a cell that the others read once they may, so the model reports a missing edge
//! as a race. So has a function that the end waits for (`joint-executor/src/calls.rs`).

use joint_executor::model::{Calls, Gate};
use loom_tests::lab::thread;

use crate::prelude::*;

const WORKERS: usize = 2;

struct World {
    gate: Gate,
    /// Written by each worker in its last poll.
    polls: [UnsafeCell<u32>; WORKERS],
    /// Written by each worker after its last poll.
    leaves: [UnsafeCell<u32>; WORKERS],
    /// Not an atomic of the model, so it makes no edges.
    last: Counter,
}

// SAFETY: the model reports races.
unsafe impl Send for World {}
// SAFETY: as above.
unsafe impl Sync for World {}

impl World {
    fn new(workers: usize) -> Arc<Self> {
        Arc::new(Self {
            gate: Gate::new(workers),
            polls: [(); WORKERS].map(|()| UnsafeCell::new(0)),
            leaves: [(); WORKERS].map(|()| UnsafeCell::new(0)),
            last: Counter::new(0),
        })
    }

    fn close_down(&self, worker: usize) {
        write(&self.polls[worker]);
        self.gate.arrive(worker);
        while !self.gate.is_quiet() {
            thread::yield_now();
        }
        assert!(self.gate.is_closed());
        assert!(self.polls.iter().all(|cell| read(cell) == 1));
        write(&self.leaves[worker]);
        if self.gate.leave() {
            assert!(self.leaves.iter().all(|cell| read(cell) == 1));
            self.last.fetch_add(1, Relaxed);
        }
    }
}

fn write(cell: &UnsafeCell<u32>) {
    // SAFETY: the model reports races.
    cell.with_mut(|value| unsafe { *value += 1 });
}

fn read(cell: &UnsafeCell<u32>) -> u32 {
    // SAFETY: the model reports races.
    cell.with(|value| unsafe { *value })
}

#[test]
fn each_worker_sees_the_others_polls_and_the_last_sees_all() {
    model_bounded(3, || {
        let world = World::new(WORKERS);
        world.gate.close();
        let other = start(&world, |world| world.close_down(1));
        world.close_down(0);
        other.join().unwrap();
        assert_eq!(world.last.load(Relaxed), 1);
    });
}

/// A worker arrives by itself, while another worker, which waits for it, counts it as arrived.
#[test]
fn a_worker_counts_once_however_often_it_arrives() {
    model(|| {
        let world = World::new(WORKERS);
        let other = start(&world, |world| assert!(!world.gate.arrive(1)));
        let is_last = world.gate.arrive(1);
        other.join().unwrap();
        assert!(!is_last && !world.gate.is_quiet());
        assert!(world.gate.arrive(0) && world.gate.is_quiet());
    });
}

/// Neither worker waits until the executor is quiet. A lost count would keep it from ever becoming
/// quiet.
#[test]
fn one_of_two_arrives_last() {
    model(|| {
        let world = World::new(WORKERS);
        let other = start(&world, |world| {
            let is_last = world.gate.arrive(1);
            world.last.fetch_add(usize::from(is_last), Relaxed);
        });
        let is_last = world.gate.arrive(0);
        world.last.fetch_add(usize::from(is_last), Relaxed);
        other.join().unwrap();
        assert_eq!(world.last.load(Relaxed), 1);
        assert!(world.gate.is_quiet());
    });
}

#[test]
fn one_of_two_begins_to_cancel() {
    model(|| {
        let world = World::new(WORKERS);
        let other = start(&world, |world| {
            let begins = world.gate.begin_to_cancel();
            world.last.fetch_add(usize::from(begins), Relaxed);
        });
        let begins = world.gate.begin_to_cancel();
        world.last.fetch_add(usize::from(begins), Relaxed);
        other.join().unwrap();
        assert_eq!(world.last.load(Relaxed), 1);
    });
}

/// Two threads close: the drop of the executor, say, and that of a worker which its owner drives.
#[test]
fn a_second_close_does_not_undo_the_end() {
    model(|| {
        let world = World::new(1);
        let other = start(&world, move |world| world.gate.close());
        world.gate.close();
        assert!(world.gate.arrive(0));
        other.join().unwrap();
        assert!(world.gate.is_quiet());
    });
}

/// Whoever waits second does not come back before the end either.
#[test]
fn two_that_wait_for_a_blocking_function_see_what_it_did() {
    model_bounded(2, || {
        let (calls, world) = (Arc::new(Calls::new()), World::new(1));
        let counted = calls.begin();
        let function = start(&world, move |world| {
            write(&world.polls[0]);
            drop(counted);
        });
        let wait = |world: &World, calls: &Calls| {
            assert_eq!(calls.wait(), 0);
            assert_eq!(read(&world.polls[0]), 1);
        };
        let others = calls.clone();
        let other = start(&world, move |world| wait(&world, &others));
        wait(&world, &calls);
        other.join().unwrap();
        function.join().unwrap();
    });
}
