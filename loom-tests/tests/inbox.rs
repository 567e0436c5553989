//! Models of the executor's queue for what comes from outside (`executor/inbox.rs`, `executor/injector.rs`), whose nodes are the
//! tasks themselves: every task is taken once, whole, and in the order in which its thread pushed it.
//!
//! A push looks at the top and then exchanges it. loom knows of a place's last access alone, so that the look hides an earlier
//! one of another thread from the exchange: whoever takes has to be a thread that comes after those who push, or else loom does
//! not try the two in the other order.
#![cfg(joint_loom)]

use std::{
    mem::ManuallyDrop,
    sync::{
        Arc, Mutex,
        atomic::{
            AtomicUsize,
            Ordering::{AcqRel, Relaxed, SeqCst},
        },
    },
};

use joint::{
    model::{Injector, Sleep, sites_seen},
    task::{self, Runnable},
};
use loom_tests::lab::thread;
use loom_tests::{Drops, assert_killed, model, model_bounded};

/// The numbers of the tasks that ran, in order.
type Ran = Arc<Mutex<Vec<usize>>>;
/// No atomic of the model: it makes no edges.
type Counter = Arc<AtomicUsize>;

struct World {
    /// Not dropped where a model fails: what it would touch may be what is broken.
    injector: ManuallyDrop<Injector>,
    drops: Drops,
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            injector: ManuallyDrop::new(Injector::new()),
            drops: Drops::default(),
        })
    }

    /// Pushes a task with a number, which has to be seen whole when it is run.
    fn push(&self, number: usize, ran: &Ran) {
        let (ran, value) = (ran.clone(), self.drops.value());
        let future = async move {
            value.look();
            ran.lock().unwrap().push(number);
        };
        self.injector.push(task::spawn_detached(future, |_| {
            unreachable!("never woken")
        }));
    }

    /// Takes once, up to `most`, and runs what it gets. Comes back with how many that were.
    fn take(&self, most: usize) -> usize {
        let mut taken = Vec::new();
        self.injector
            .take(most, |runnable| taken.push(ManuallyDrop::new(runnable)));
        let count = taken.len();
        for runnable in taken {
            ManuallyDrop::<Runnable>::into_inner(runnable).run();
        }
        count
    }

    /// Demands that nothing is left, and that so many tasks were dropped once.
    fn assert_over(self: Arc<Self>, tasks: usize) {
        assert!(self.injector.is_empty());
        let this = Arc::into_inner(self).expect("the threads have ended");
        drop(ManuallyDrop::into_inner(this.injector));
        this.drops.assert_all_of(tasks);
    }
}

/// Runs `f` on a thread of the model.
fn start(world: &Arc<World>, f: impl FnOnce(&World) + 'static) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || f(&world))
}

/// Demands that the tasks of each thread are in order: those below ten, and those from ten on.
#[track_caller]
fn assert_in_order(ran: &[usize]) {
    let of = |first: bool| ran.iter().filter(move |&&number| (number < 10) == first);
    assert!(of(true).is_sorted() && of(false).is_sorted(), "{ran:?}");
}

/// Two tasks from one thread and one from another, while a third takes. Preemption bound 3.
fn pushes_against_takes() {
    model_bounded(3, || {
        let world = World::new();
        let ran = Ran::default();
        let other = {
            let ran = ran.clone();
            start(&world, move |world| world.push(10, &ran))
        };
        let taken = Counter::default();
        let taker = {
            let taken = taken.clone();
            start(&world, move |world| {
                taken.fetch_add(world.take(1) + world.take(2), Relaxed);
            })
        };
        world.push(0, &ran);
        world.push(1, &ran);
        other.join().unwrap();
        taker.join().unwrap();
        let mut taken = taken.load(Relaxed);
        while !world.injector.is_empty() {
            taken += world.take(1);
        }
        assert_eq!(taken, 3);
        let ran = ran.lock().unwrap();
        assert_eq!(ran.len(), 3);
        assert_in_order(&ran);
        world.assert_over(3);
    });
}

/// Preemption bound 3.
#[test]
fn two_push_while_another_takes() {
    pushes_against_takes();
}

#[test]
fn one_pushes_while_another_takes() {
    model(|| {
        let world = World::new();
        let ran = Ran::default();
        let taker = start(&world, |world| {
            world.take(2);
            world.take(1);
        });
        world.push(0, &ran);
        world.push(1, &ran);
        taker.join().unwrap();
        while !world.injector.is_empty() {
            world.take(2);
        }
        assert_eq!(*ran.lock().unwrap(), [0, 1]);
        world.assert_over(2);
    });
}

/// Three tasks lie there, and two take at once: neither waits for the other, each gets them in order, and none gets what the
/// other has.
#[test]
fn two_take_at_once() {
    model(|| {
        let world = World::new();
        let ran = Ran::default();
        for number in 0..3 {
            world.push(number, &ran);
        }
        let other = start(&world, |world| {
            world.take(2);
        });
        world.take(2);
        other.join().unwrap();
        while !world.injector.is_empty() {
            world.take(3);
        }
        let mut ran = ran.lock().unwrap();
        ran.sort_unstable();
        assert_eq!(*ran, [0, 1, 2]);
        world.assert_over(3);
    });
}

/// Two take, one after the other, while a third pushes: what was pushed first is taken first, also from what the first taker has
/// left. Preemption bound 3.
#[test]
fn what_a_taker_leaves_stays_in_front() {
    model_bounded(3, || {
        let world = World::new();
        let ran = Ran::default();
        world.push(0, &ran);
        world.push(1, &ran);
        let taken = Counter::default();
        let taker = {
            let taken = taken.clone();
            start(&world, move |world| {
                world.take(1);
                taken.store(world.take(3), Relaxed);
            })
        };
        world.push(2, &ran);
        taker.join().unwrap();
        let taken = taken.load(Relaxed);
        while !world.injector.is_empty() {
            world.take(3);
        }
        assert!((1..=2).contains(&taken));
        assert_eq!(*ran.lock().unwrap(), [0, 1, 2]);
        world.assert_over(3);
    });
}

/// What is left in the queue when it goes is dropped with it, in whichever part it is.
#[test]
fn what_is_left_is_dropped() {
    model(|| {
        let world = World::new();
        let ran = Ran::default();
        world.push(0, &ran);
        world.push(1, &ran);
        assert_eq!(world.take(1), 1);
        let pusher = {
            let ran = ran.clone();
            start(&world, move |world| world.push(2, &ran))
        };
        pusher.join().unwrap();
        let this = Arc::into_inner(world).expect("the thread has ended");
        drop(ManuallyDrop::into_inner(this.injector));
        assert_eq!(*ran.lock().unwrap(), [0]);
        this.drops.assert_all_of(3);
    });
}

/// A worker looks for a task until it has one, by which it is then blocked.
fn search(world: &World, sleep: &Sleep, worker: usize) {
    sleep.search();
    while world.take(1) == 0 {
        let urgent = || !world.injector.is_empty() && sleep.is_quiet();
        let slept = sleep.sleep(worker, urgent, || !world.injector.is_empty());
        if !slept {
            // Somebody else is taking.
            thread::yield_now();
        }
    }
    sleep.found(|| !world.injector.is_empty());
}

/// The queue and the sleep protocol together: two tasks come from outside, and each of two workers is blocked by the one it takes,
/// with the rest in the hands or in the backlog of the one who was first. Preemption bound 2.
#[test]
fn two_tasks_from_outside_reach_two_workers() {
    model_bounded(2, || {
        let world = World::new();
        let ran = Ran::default();
        let sleep = Arc::new(Sleep::new(2));
        let workers = [0, 1].map(|worker| {
            let sleep = sleep.clone();
            start(&world, move |world| search(world, &sleep, worker))
        });
        for number in 0..2 {
            world.push(number, &ran);
            sleep.notify_from_outside(false);
        }
        for worker in workers {
            worker.join().unwrap();
        }
        assert_eq!(ran.lock().unwrap().len(), 2);
        world.assert_over(2);
    });
}

/// A worker that does not search takes one of two tasks, tells of the other, and is blocked. Another finds that one. Preemption bound 4.
#[test]
fn what_an_active_worker_leaves_is_found() {
    model_bounded(4, || {
        let world = World::new();
        let ran = Ran::default();
        world.push(0, &ran);
        world.push(1, &ran);
        let sleep = Arc::new(Sleep::new(2));
        let other = {
            let sleep = sleep.clone();
            start(&world, move |world| search(world, &sleep, 1))
        };
        let taken = world.take(1);
        if taken == 1 && !world.injector.is_empty() {
            sleep.notify(false);
        }
        other.join().unwrap();
        while !world.injector.is_empty() {
            world.take(1);
        }
        world.assert_over(2);
    });
}

#[test]
fn push_releases() {
    assert_killed("executor::inbox::push", Relaxed, pushes_against_takes);
}

#[test]
fn take_acquires() {
    assert_killed("executor::inbox::take", Relaxed, pushes_against_takes);
}

/// No site of the queue asks for more than `Relaxed` but the two above.
#[test]
fn no_site_is_left_out() {
    pushes_against_takes();
    for (site, asked) in sites_seen() {
        let is_killed = matches!(&*site, "executor::inbox::push" | "executor::inbox::take");
        let is_ours = site.starts_with("executor::");
        assert!(
            !is_ours || is_killed || asked == Relaxed,
            "no model kills `{site}`"
        );
        assert!(!is_ours || ![AcqRel, SeqCst].contains(&asked));
    }
}
