//! Models of an executor's shutdown (`executor/src/gate.rs`). Its queue is a count of tasks.
//! If a task is pushed while the last worker leaves, somebody disposes of it, however late it
//! arrives.
#![cfg(joint_loom)]

use std::sync::{
    Arc,
    atomic::{
        AtomicUsize as Counter,
        Ordering::{self, AcqRel, Acquire, Relaxed, Release},
    },
};

use joint_executor::model::{Gate, Sleep};
use joint_switch::model::sites_seen;
use loom_tests::lab::{sync::atomic::AtomicUsize, thread};
use loom_tests::{assert_killed, model, model_bounded};

/// Where a task is pushed from, and so which fence the push has.
#[derive(Clone, Copy)]
enum From {
    Outside,
    /// Pinned to a worker.
    Pinned,
}

struct World {
    gate: Gate,
    sleep: Sleep,
    queue: AtomicUsize,
    /// Touched after a push, and before the disposer releases its lock. loom releases a lock in one
    /// step with the operation before it, so this operation lets the push run in between. Relaxed,
    /// so that it makes no edges.
    gap: AtomicUsize,
    /// Not an atomic of the model, so it makes no edges.
    disposed: Counter,
    /// What the last worker leaves for pushes that are too late.
    left: AtomicUsize,
    /// How many tasks push another task when they are disposed of.
    chained: Counter,
}

impl World {
    fn new(chained: usize) -> Arc<Self> {
        Arc::new(Self {
            gate: Gate::new(1),
            sleep: Sleep::new(1),
            queue: AtomicUsize::new(0),
            gap: AtomicUsize::new(0),
            disposed: Counter::new(0),
            left: AtomicUsize::new(0),
            chained: Counter::new(chained),
        })
    }

    /// As `Shared::inject`.
    fn inject(&self, from: From) {
        self.queue.fetch_add(1, Release);
        self.gap.fetch_add(1, Relaxed);
        match from {
            From::Outside => self.sleep.notify_from_outside(),
            From::Pinned => self.sleep.wake_worker(0),
        }
        let late = || {
            assert_eq!(
                self.left.load(Relaxed),
                1,
                "the push is too late, and did not see what the last worker left"
            );
            self.discard();
        };
        self.gate.pushed(late, || self.is_empty());
    }

    fn is_empty(&self) -> bool {
        self.queue.load(Relaxed) == 0
    }

    fn discard(&self) {
        if self.is_empty() {
            return;
        }
        let tasks = self.queue.swap(0, AcqRel);
        self.disposed.fetch_add(tasks, Relaxed);
        let mut chained = self.chained.load(Relaxed).min(tasks);
        while chained > 0 {
            chained -= 1;
            self.chained.fetch_sub(1, Relaxed);
            self.inject(From::Outside);
        }
        self.gap.fetch_add(1, Relaxed);
    }

    /// As the last worker in `Shared::leave`.
    fn terminate(&self) {
        self.left.store(1, Relaxed);
        self.gate.terminate(|| self.discard(), || self.is_empty());
    }

    fn assert_over(&self, tasks: usize) {
        assert_eq!(self.queue.load(Acquire), 0, "a task was left behind");
        assert_eq!(self.disposed.load(Relaxed), tasks);
    }
}

/// Runs `f` on a thread of the model.
fn start(world: &Arc<World>, f: impl FnOnce(&World) + 'static) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || f(&world))
}

fn push_against_terminate(from: From) {
    model(move || {
        let world = World::new(0);
        let pusher = start(&world, move |world| world.inject(from));
        world.terminate();
        pusher.join().unwrap();
        world.assert_over(1);
    });
}

#[test]
fn a_push_from_outside_against_the_last_worker() {
    push_against_terminate(From::Outside);
}

#[test]
fn a_pinned_push_against_the_last_worker() {
    push_against_terminate(From::Pinned);
}

/// Two threads push at once, one of them when it is too late already: each disposes of its task, or
/// leaves it to the other. Preemption bound 4.
fn two_late_pushes() {
    model_bounded(4, || {
        let world = World::new(0);
        world.terminate();
        let other = start(&world, |world| world.inject(From::Outside));
        world.inject(From::Outside);
        other.join().unwrap();
        world.assert_over(2);
    });
}

/// Preemption bound 4.
#[test]
fn late_pushes_leave_nothing_to_each_other() {
    two_late_pushes();
}

/// Two threads push while the last worker leaves. Preemption bound 3.
#[test]
fn two_pushes_against_the_last_worker() {
    model_bounded(3, || {
        let world = World::new(0);
        let others = [From::Outside, From::Pinned]
            .map(|from| start(&world, move |world| world.inject(from)));
        world.terminate();
        for other in others {
            other.join().unwrap();
        }
        world.assert_over(2);
    });
}

/// A task that is disposed of wakes another one. It is pushed to the queue, which is checked once
/// more.
#[test]
fn a_task_pushed_by_a_discarded_task_is_discarded_too() {
    model(|| {
        let world = World::new(1);
        let pusher = start(&world, |world| world.inject(From::Outside));
        world.terminate();
        pusher.join().unwrap();
        world.assert_over(2);
    });
}

macro_rules! killed {
    ($($name:ident: $site:literal -> $ordering:ident by $model:expr;)*) => {$(
        #[test]
        fn $name() {
            assert_killed($site, Ordering::$ordering, || $model);
        }
    )*};
}

killed! {
    dispose_fence_is_seq_cst: "executor::gate::dispose_fence" -> AcqRel by push_against_terminate(From::Outside);
    dispose_fence_is_there: "executor::gate::dispose_fence" -> Relaxed by push_against_terminate(From::Outside);
    dispose_fence_is_there_for_the_lock: "executor::gate::dispose_fence" -> Relaxed by two_late_pushes();
    terminate_releases: "executor::gate::terminate" -> Relaxed by push_against_terminate(From::Outside);
    late_look_acquires: "executor::gate::late_look" -> Relaxed by push_against_terminate(From::Outside);
    outside_fence_is_seq_cst: "executor::sleep::outside_fence" -> AcqRel by push_against_terminate(From::Outside);
    outside_fence_is_there: "executor::sleep::outside_fence" -> Relaxed by push_against_terminate(From::Outside);
    worker_fence_is_seq_cst: "executor::sleep::worker_fence" -> AcqRel by push_against_terminate(From::Pinned);
    worker_fence_is_there: "executor::sleep::worker_fence" -> Relaxed by push_against_terminate(From::Pinned);
}

/// Each site of the gate either asks for `Relaxed` or is weakened above.
#[test]
fn no_site_is_left_out() {
    two_late_pushes();
    for (site, asked) in sites_seen() {
        let killed = ["dispose_fence", "terminate", "late_look"];
        let is_killed = killed
            .iter()
            .any(|name| site.ends_with(&format!("::{name}")));
        let is_ours = site.starts_with("executor::gate::");
        assert!(
            !is_ours || is_killed || asked == Relaxed,
            "no model kills `{site}`"
        );
    }
}
