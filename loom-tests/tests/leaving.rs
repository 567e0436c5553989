//! Models of how the workers of a closed executor arrive and leave (`joint-executor/src/gate.rs`).
//! Each worker has a mark that the others read once they may, so the model reports a missing edge
//! as a race. So has a function that the end waits for (`joint-executor/src/calls.rs`).

use joint_executor::model::{Calls, Gate};
use loom_tests::lab::thread;

use crate::prelude::*;

const WORKERS: usize = 2;

struct World {
    gate: Gate,
    /// Written by each worker in its last poll.
    polls: [Mark; WORKERS],
    /// Written by each worker after its last poll.
    leaves: [Mark; WORKERS],
    /// Not an atomic of the model, so it makes no edges.
    last: Counter,
}

impl World {
    fn new(workers: usize) -> Arc<Self> {
        Arc::new(Self {
            gate: Gate::new(workers),
            polls: [(); WORKERS].map(|()| Mark::named("poll")),
            leaves: [(); WORKERS].map(|()| Mark::named("leave")),
            last: Counter::new(0),
        })
    }

    fn close_down(&self, worker: usize) {
        self.polls[worker].write();
        self.gate.arrive(worker);
        while !self.gate.is_quiet() {
            thread::yield_now();
        }
        assert!(self.gate.is_closed());
        self.polls.iter().for_each(Mark::read);
        self.leaves[worker].write();
        if self.gate.leave() {
            self.leaves.iter().for_each(Mark::read);
            self.last.fetch_add(1, Relaxed);
        }
    }
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
            world.polls[0].write();
            drop(counted);
        });
        let wait = |world: &World, calls: &Calls| {
            assert_eq!(calls.wait(), 0);
            world.polls[0].read();
        };
        let others = calls.clone();
        let other = start(&world, move |world| wait(&world, &others));
        wait(&world, &calls);
        other.join().unwrap();
        function.join().unwrap();
    });
}
