//! Models of the queue for tasks that other threads push (`joint-executor/src/inbox.rs`), whose
//! nodes are the tasks themselves. Every task is taken once, whole, and in the order in which its
//! thread pushed it. A taker that meets a push in progress neither waits for it nor loses the tasks
//! behind it.

use std::sync::{Mutex, atomic::AtomicUsize};

use joint_executor::model::Sleep;
use loom_tests::lab::thread;

use crate::prelude::*;

/// The numbers of the tasks that ran, in order.
type Ran = Arc<Mutex<Vec<usize>>>;
/// Not an atomic of the model, so it makes no edges.
type Counter = Arc<AtomicUsize>;

struct World {
    /// Not dropped if a model fails, because the drop could touch what is broken.
    inbox: ManuallyDrop<Inbox>,
    sleep: Sleep,
    drops: Drops,
    ran: Ran,
}

impl World {
    fn new() -> Arc<Self> {
        Self::with_workers(2)
    }

    fn with_workers(workers: usize) -> Arc<Self> {
        Arc::new(Self {
            inbox: ManuallyDrop::new(Inbox::new()),
            sleep: Sleep::new(workers),
            drops: Drops::default(),
            ran: Ran::default(),
        })
    }

    /// Pushes a task with a number, which must be seen whole when the task runs.
    fn push(&self, number: usize) {
        let (ran, value) = (self.ran.clone(), self.drops.value());
        let future = async move {
            value.look();
            ran.lock().unwrap().push(number);
        };
        self.inbox.push(task::spawn_detached(future, |_| {
            unreachable!("never woken")
        }));
    }

    /// Takes once, up to `most` tasks, runs them, and returns how many there were.
    fn take(&self, most: usize) -> usize {
        let mut taken = Vec::new();
        self.inbox
            .take(most, |runnable| taken.push(ManuallyDrop::new(runnable)));
        let count = taken.len();
        for runnable in taken {
            ManuallyDrop::<Runnable>::into_inner(runnable).run();
        }
        count
    }

    fn take_rest(&self) {
        while !self.inbox.is_empty() {
            self.take(3);
        }
    }

    fn ran(&self) -> Vec<usize> {
        self.ran.lock().unwrap().clone()
    }

    fn sorted(&self) -> Vec<usize> {
        let mut ran = self.ran();
        ran.sort_unstable();
        ran
    }

    /// Demands that nothing is left, and that `tasks` tasks were dropped, each once.
    fn assert_over(self: Arc<Self>, tasks: usize) {
        assert!(self.inbox.is_empty());
        let this = Arc::into_inner(self).expect("the threads have ended");
        drop(ManuallyDrop::into_inner(this.inbox));
        this.drops.assert_all_of(tasks);
    }
}

/// Demands that the tasks of each thread are in order: those below ten, and those from ten on.
#[track_caller]
fn assert_in_order(ran: &[usize]) {
    let of = |first: bool| ran.iter().filter(move |&&number| (number < 10) == first);
    assert!(of(true).is_sorted() && of(false).is_sorted(), "{ran:?}");
}

#[test]
fn one_pushes_while_another_takes() {
    model(|| {
        let world = World::new();
        let taker = start(&world, |world| {
            world.take(2);
            world.take(1);
        });
        world.push(0);
        world.push(1);
        taker.join().unwrap();
        world.take_rest();
        assert_eq!(world.ran(), [0, 1]);
        world.assert_over(2);
    });
}

#[test]
fn two_take_at_once() {
    model(|| {
        let world = World::new();
        for number in 0..3 {
            world.push(number);
        }
        let other = start(&world, |world| world.take(2));
        world.take(2);
        other.join().unwrap();
        world.take_rest();
        assert_eq!(world.sorted(), [0, 1, 2]);
        world.assert_over(3);
    });
}

#[test]
fn tasks_that_a_taker_leaves_stay_in_front() {
    model_bounded(3, || {
        let world = World::new();
        world.push(0);
        world.push(1);
        let taker = start(&world, |world| {
            world.take(1);
            world.take(3)
        });
        world.push(2);
        let taken = taker.join().unwrap();
        world.take_rest();
        // Only one task if the push of 2 was in progress, and possibly none.
        assert!(taken <= 2);
        assert_eq!(world.ran(), [0, 1, 2]);
        world.assert_over(3);
    });
}

#[test]
fn two_takers_against_one_pusher() {
    model_bounded(3, || {
        let world = World::new();
        let taker = start(&world, |world| world.take(1));
        let pusher = start(&world, move |world| {
            world.push(0);
            world.push(1);
        });
        world.take(2);
        pusher.join().unwrap();
        taker.join().unwrap();
        take_until_empty(&world);
        assert_eq!(world.sorted(), [0, 1]);
        world.assert_over(2);
    });
}

#[test]
fn tasks_left_in_an_inbox_are_dropped_with_it() {
    model(|| {
        let world = World::new();
        world.push(0);
        world.push(1);
        assert_eq!(world.take(1), 1);
        let pusher = start(&world, move |world| world.push(2));
        pusher.join().unwrap();
        let this = Arc::into_inner(world).expect("the thread has ended");
        drop(ManuallyDrop::into_inner(this.inbox));
        assert_eq!(*this.ran.lock().unwrap(), [0]);
        this.drops.assert_all_of(3);
    });
}

/// A worker searches until it has a task, and is then blocked by it.
fn search(world: &World, worker: usize) {
    let sleep = &world.sleep;
    sleep.begin(worker);
    sleep.search();
    while world.take(1) == 0 {
        let urgent = || !world.inbox.is_empty() && sleep.is_quiet();
        let slept = sleep.sleep(worker, urgent, || !world.inbox.is_empty());
        if !slept {
            // Another thread is taking.
            thread::yield_now();
        }
    }
    sleep.found(|| !world.inbox.is_empty());
}

/// Takes alone until the queue looks empty, as a worker does that is about to sleep.
fn take_until_empty(world: &World) {
    let mut fruitless = false;
    while !world.inbox.is_empty() {
        let taken = world.take(1);
        assert!(
            taken > 0 || !fruitless,
            "it keeps looking for a push in progress"
        );
        fruitless = taken == 0;
    }
}

/// Two pushes are in progress while a third thread looks. To that thread the queue is empty as long
/// as there is a gap, and it does not look twice for nothing.
#[test]
fn a_gap_is_not_waited_for() {
    model_bounded(3, || {
        let world = World::new();
        world.push(0);
        let other = start(&world, move |world| world.push(10));
        let taker = start(&world, |world| take_until_empty(&world));
        world.push(1);
        other.join().unwrap();
        taker.join().unwrap();
        take_until_empty(&world);
        let ran = world.ran();
        assert_eq!(ran.len(), 3);
        assert_in_order(&ran);
        world.assert_over(3);
    });
}

/// Two threads push a task each. A worker that sleeps whenever the queue looks empty to it runs
/// both, because the push that closes the gap wakes it.
fn pushes_against_sleep(notify: fn(&Sleep)) {
    model_bounded(2, move || {
        let world = World::with_workers(1);
        let worker = start(&world, |world| {
            let sleep = &world.sleep;
            sleep.begin(0);
            sleep.search();
            let mut left = 2;
            while left > 0 {
                left -= world.take(2);
                if left > 0 {
                    let has_work = || !world.inbox.is_empty();
                    sleep.sleep(0, has_work, has_work);
                }
            }
        });
        let other = start(&world, move |world| {
            world.push(10);
            notify(&world.sleep);
        });
        world.push(0);
        notify(&world.sleep);
        other.join().unwrap();
        worker.join().unwrap();
        assert_eq!(world.ran().len(), 2);
        world.assert_over(2);
    });
}

/// An active worker reaches the last task, meets the push of another task behind it, and is blocked
/// in a long poll with or without the task. The push relies on the other worker, which saw the
/// queue as if it had been emptied, and which must not go to sleep.
#[test]
fn a_gap_that_an_active_worker_meets_hides_nothing() {
    model_bounded(2, || {
        let world = World::new();
        world.push(0);
        let other = start(&world, |world| search(&world, 1));
        let active = start(&world, |world| {
            if world.take(1) == 1 && !world.inbox.is_empty() {
                world.sleep.notify();
            }
        });
        world.push(1);
        world.sleep.notify_from_outside();
        active.join().unwrap();
        other.join().unwrap();
        world.take_rest();
        world.assert_over(2);
    });
}

/// The number of operations on shared memory that it takes to take the first task, after so many
/// pushes.
fn operations_after(burst: usize) -> usize {
    thread_local! {
        static BEGUN: Cell<usize> = const { Cell::new(0) };
    }
    let counted = Counter::default();
    let count = counted.clone();
    set_observer(Some(|_| BEGUN.set(BEGUN.get() + 1)));
    model(move || {
        let world = World::new();
        (0..burst).for_each(|number| world.push(number));
        BEGUN.set(0);
        world.inbox.take(1, |runnable| {
            count.store(BEGUN.get(), Relaxed);
            drop(runnable);
        });
        count.fetch_max(BEGUN.get(), Relaxed);
        while world.take(burst) > 0 {}
    });
    set_observer(None);
    counted.load(Relaxed)
}

models! {
    no_worker_sleeps_while_a_task_lies_behind_a_gap: pushes_against_sleep(|sleep| sleep.notify_from_outside());
    the_pinned_worker_does_not_sleep_while_its_task_lies_behind_a_gap: pushes_against_sleep(|sleep| sleep.wake_worker(0));
    taking_the_first_task_costs_the_same_after_any_burst: assert_eq!(operations_after(3), operations_after(60));
}
