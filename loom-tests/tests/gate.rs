//! Models of an executor's shutdown (`joint-executor/src/gate.rs`). If a task is pushed while the
//! last worker leaves, somebody disposes of it, however late it arrives, and holds nothing
//! meanwhile, not even a lock of the thread that pushes.

use std::sync::Mutex as Plain;

use joint_executor::model::{Gate, Sleep};
use loom_tests::{
    join_all,
    lab::{
        sync::{
            Mutex,
            atomic::{AtomicBool, AtomicUsize},
        },
        thread,
    },
};

use crate::prelude::*;

/// Where a task is pushed from, and so which fence the push has.
#[derive(Clone, Copy)]
enum From {
    Outside,
    /// Pinned to a worker.
    Pinned,
}

struct World {
    /// Whether threads can be started for what was pushed too late.
    has_threads: bool,
    gate: Gate,
    sleep: Sleep,
    /// Not dropped if a model fails, because the drop could touch what is broken.
    queue: ManuallyDrop<Inbox>,
    /// Not an atomic of the model, so it makes no edges.
    disposed: Counter,
    /// The mark of the last worker for pushes that are too late.
    left: AtomicUsize,
    /// Whether the task was dropped that another one waits for.
    told: AtomicBool,
    /// A lock that is held around a wake-up, and that the drop of the future takes.
    lock: Mutex<()>,
    /// The threads for what was pushed too late.
    late: Plain<Vec<thread::JoinHandle<()>>>,
}

impl World {
    fn new() -> Arc<Self> {
        Self::with_threads(true)
    }

    fn with_threads(has_threads: bool) -> Arc<Self> {
        Arc::new(Self {
            has_threads,
            gate: Gate::new(1),
            sleep: Sleep::new(1),
            queue: ManuallyDrop::new(Inbox::new()),
            disposed: Counter::new(0),
            left: AtomicUsize::new(0),
            told: AtomicBool::new(false),
            lock: Mutex::new(()),
            late: Plain::default(),
        })
    }

    /// As `Shared::inject`.
    fn inject(self: &Arc<Self>, from: From, then: Then) {
        let dropped = Dropped(self.clone(), then);
        let future = async move { drop(dropped) };
        let runnable = task::spawn_detached(future, |_| unreachable!("never woken"));
        self.queue.push(runnable);
        match from {
            From::Outside => self.sleep.notify_from_outside(),
            From::Pinned => self.sleep.wake_worker(0),
        }
        if self.gate.is_too_late() {
            assert_eq!(
                self.left.load(Relaxed),
                1,
                "the push is too late, and did not see what the last worker left"
            );
            let start = || {
                if self.has_threads {
                    let late = start(self, |world| world.dispose());
                    self.late.lock().unwrap().push(late);
                }
                self.has_threads
            };
            Gate::dispose_elsewhere(|| self.queue.is_drained(), start, || self.dispose());
        }
    }

    fn dispose(&self) {
        let dispose_one = || {
            let mut taken = None;
            self.queue.take(1, |runnable| taken = Some(runnable));
            taken.map(drop).is_some()
        };
        Gate::dispose(dispose_one, || self.queue.is_drained());
    }

    /// As the last worker in `Shared::leave`.
    fn terminate(&self) {
        self.left.store(1, Relaxed);
        self.gate.terminate();
        self.dispose();
    }

    fn assert_over(&self, tasks: usize) {
        // In the order of their starts, not of the pushes, which a run of the same execution in
        // another order changes.
        let next = || {
            let mut late = self.late.lock().unwrap();
            let id = |at: &usize| format!("{:?}", late[*at].thread().id());
            let first = (0..late.len()).min_by_key(id)?;
            Some(late.swap_remove(first))
        };
        while let Some(late) = next() {
            late.join().unwrap();
        }
        assert!(self.queue.is_empty(), "a task was left behind");
        assert_eq!(self.disposed.load(Relaxed), tasks);
    }
}

#[derive(Clone, Copy)]
enum Then {
    Nothing,
    Locks,
    Pushes,
    /// Waits for the drop of the task that tells.
    Waits,
    Tells,
}

struct Dropped(Arc<World>, Then);

impl Drop for Dropped {
    fn drop(&mut self) {
        let Self(world, then) = self;
        world.disposed.fetch_add(1, Relaxed);
        match *then {
            Then::Nothing => {}
            Then::Locks => drop(world.lock.lock().unwrap()),
            Then::Pushes => world.inject(From::Outside, Then::Nothing),
            Then::Waits => {
                while !world.told.load(Relaxed) {
                    thread::yield_now();
                }
            }
            Then::Tells => world.told.store(true, Relaxed),
        }
    }
}

fn push_against_terminate(from: From) {
    model_bounded(3, move || {
        let world = World::new();
        let pusher = start(&world, move |world| {
            let _locked = world.lock.lock().unwrap();
            world.inject(from, Then::Locks);
        });
        world.terminate();
        pusher.join().unwrap();
        world.assert_over(1);
    });
}

fn two_late_pushes(then: Then, own: Then) {
    model_bounded(2, move || {
        let world = World::new();
        world.terminate();
        let other = start(&world, move |world| world.inject(From::Outside, then));
        world.inject(From::Outside, own);
        other.join().unwrap();
        world.assert_over(2);
    });
}

#[test]
fn two_pushes_against_the_last_worker() {
    model_bounded(2, || {
        let world = World::with_threads(false);
        let others = [From::Outside, From::Pinned]
            .map(|from| start(&world, move |world| world.inject(from, Then::Nothing)));
        world.terminate();
        join_all(others);
        world.assert_over(2);
    });
}

#[test]
fn a_task_pushed_by_a_discarded_task_is_discarded_too() {
    model_bounded(3, || {
        let world = World::new();
        world.terminate();
        world.inject(From::Outside, Then::Pushes);
        world.assert_over(2);
    });
}

models! {
    a_push_from_outside_against_the_last_worker: push_against_terminate(From::Outside);
    a_pinned_push_against_the_last_worker: push_against_terminate(From::Pinned);
    late_pushes_leave_nothing_to_each_other: two_late_pushes(Then::Nothing, Then::Nothing);
    the_drop_of_a_late_task_may_wait_for_that_of_another: two_late_pushes(Then::Waits, Then::Tells);
}
