//! Models of the sleep protocol (`joint-executor/src/sleep.rs`), with queues of their own: a queue
//! is a count of tasks, which plain loads look at. `sleep_queues.rs` has models with the real
//! queues of a worker.
//!
//! A worker takes one task and is then blocked by it forever. If a task stays in a queue while its
//! worker sleeps, that is therefore a deadlock, which the model reports.

use std::{sync::atomic::Ordering::AcqRel, task::Wake};

use joint_executor::model::Sleep;
use joint_switch::model::Weakened;
use loom_tests::{
    join_all,
    lab::{
        sync::atomic::{AtomicBool, AtomicUsize},
        thread,
    },
};

use crate::prelude::*;

/// The number of tasks that were pushed and not yet taken.
struct Queue(AtomicUsize);

impl Queue {
    fn new(tasks: usize) -> Self {
        Self(AtomicUsize::new(tasks))
    }

    fn is_empty(&self) -> bool {
        self.0.load(Relaxed) == 0
    }

    fn push(&self) {
        self.0.fetch_add(1, Release);
    }

    /// Takes up to `most` tasks, and returns how many.
    fn take(&self, most: usize) -> usize {
        let mut tasks = self.0.load(Relaxed);
        loop {
            let taken = tasks.min(most);
            if taken == 0 {
                return 0;
            }
            match self
                .0
                .compare_exchange(tasks, tasks - taken, AcqRel, Acquire)
            {
                Ok(_) => return taken,
                Err(now) => tasks = now,
            }
        }
    }
}

struct World {
    sleep: Sleep,
    injector: Queue,
    /// One for each worker, from which all may take.
    queues: Vec<Queue>,
    /// One for each worker, from which it alone takes.
    inboxes: Vec<Queue>,
    closed: AtomicBool,
}

impl World {
    /// All workers are active.
    fn new(workers: usize, injected: usize) -> Arc<Self> {
        let queues = || (0..workers).map(|_| Queue::new(0)).collect();
        Arc::new(Self {
            sleep: Sleep::new(workers),
            injector: Queue::new(injected),
            queues: queues(),
            inboxes: queues(),
            closed: AtomicBool::new(false),
        })
    }

    /// As `Shared::inject` for a task that any worker may run.
    fn inject(&self) {
        self.injector.push();
        self.sleep.notify_from_outside();
    }

    /// As `Shared::inject` for a task that is pinned to a worker.
    fn inject_pinned(&self, worker: usize) {
        self.inboxes[worker].push();
        self.sleep.wake_worker(worker);
    }

    /// As `Local::push` of an active worker.
    fn push(&self, worker: usize) {
        self.queues[worker].push();
        self.sleep.notify();
    }

    fn has_work(&self) -> bool {
        !self.injector.is_empty() || self.queues.iter().any(|queue| !queue.is_empty())
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// As `Shared::close`, but does not unpark the workers that are not parked.
    fn close(&self) {
        self.closed.store(true, Relaxed);
        self.sleep.wake_all();
    }

    /// Takes a task out of the injector, and moves up to `batch - 1` more into the worker's own
    /// queue.
    ///
    /// In between they are in neither queue, as with a real batch.
    fn take_injected(&self, worker: usize, batch: usize) -> bool {
        let taken = self.injector.take(batch);
        for _ in 1..taken {
            self.queues[worker].push();
        }
        taken > 0
    }

    fn look_round(&self, worker: usize, batch: usize) -> bool {
        let others = (0..self.queues.len()).filter(|&i| i != worker);
        self.inboxes[worker].take(1) == 1 || self.take_injected(worker, batch) || { others }
            .any(|i| self.queues[i].take(1) == 1)
    }

    /// Returns whether something keeps a worker from resting, as in `Local::look_out`.
    fn urgent(&self, worker: usize) -> bool {
        !self.inboxes[worker].is_empty()
            || self.is_closed()
            || !self.injector.is_empty() && self.sleep.is_quiet()
    }

    fn park(&self, worker: usize) {
        let urgent = || self.urgent(worker);
        self.sleep.sleep(worker, urgent, || self.has_work());
    }

    /// As `Local::look_out`. Returns true if a task was found, and false if the executor is closed.
    fn search(&self, worker: usize, batch: usize) -> bool {
        self.search_by(worker, batch, |_| self.park(worker))
    }

    /// As [`search`](World::search), but `park` decides how to park. It is told how often this
    /// worker has rested before.
    fn search_by(&self, worker: usize, batch: usize, park: impl Fn(usize)) -> bool {
        self.sleep.begin(worker);
        self.sleep.search();
        let mut parks = 0;
        let found = loop {
            if self.look_round(worker, batch) {
                break true;
            }
            if self.is_closed() {
                break false;
            }
            park(parks);
            parks += 1;
        };
        self.sleep.found(|| self.has_work());
        found
    }

    /// As [`search`](World::search), but watches instead of sleeping, so long that it has to be
    /// woken.
    fn search_and_watch_forever(&self, worker: usize) -> bool {
        self.search_by(worker, 1, |_| {
            self.sleep
                .watch(worker, Duration::MAX, || self.urgent(worker));
        })
    }

    fn search_and_watch(&self, worker: usize, batch: usize) -> bool {
        self.search_by(worker, batch, |parks| {
            if parks == 0 {
                self.sleep
                    .watch(worker, Duration::ZERO, || self.urgent(worker));
            } else {
                self.park(worker);
            }
        })
    }
}

/// How the owner of a worker that is away drives it again.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    Parks,
    ComesBack,
}

/// The waker of an owner's thread, with a relaxed flag: it passes nothing on but the wake-up.
struct Woken(AtomicBool, thread::Thread);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
        self.1.unpark();
    }
}

impl World {
    /// As [`search`](World::search), for a worker whose thread does something else meanwhile.
    fn search_away(&self, worker: usize, owner: Owner) -> bool {
        self.search_by(worker, 1, |parks| {
            let urgent = || self.urgent(worker);
            let woken = Arc::new(Woken(AtomicBool::new(false), thread::current()));
            let waker = Waker::from(woken.clone());
            if self
                .sleep
                .go_away(worker, waker, urgent, || self.has_work())
            {
                if owner == Owner::Parks || parks > 0 {
                    while !woken.0.load(Relaxed) {
                        thread::park();
                    }
                }
                self.sleep.come_back(worker);
            }
        })
    }
}

/// Whoever wakes: another thread, worker 1 or the end.
type Waking = fn(&World);

/// How worker 0 parks when it finds nothing. Returns whether it has found a task, or else the end.
type Parks = fn(&World) -> bool;

fn sleeps(world: &World) -> bool {
    world.search(0, 1)
}

fn watches(world: &World) -> bool {
    world.search_and_watch_forever(0)
}

fn injects(world: &World) {
    world.inject();
}

fn injects_pinned(world: &World) {
    world.inject_pinned(0);
}

fn pushes(world: &World) {
    world.push(1);
}

fn watches_before_it_sleeps(world: &World) -> bool {
    world.search_and_watch(0, 1)
}

fn asks_for_help(world: &World) {
    world.queues[1].push();
    world.sleep.notify_for_hands();
}

/// Worker 0 is about to park. A second worker is blocked by the task that it runs.
fn woken(workers: usize, parks: Parks, wakes: Waking) {
    model(move || {
        let world = World::new(workers, 0);
        let worker = start(&world, move |world| {
            assert_eq!(parks(&world), !world.is_closed())
        });
        wakes(&world);
        worker.join().unwrap();
    });
}

/// Both workers are active. One starts to watch and the other goes to sleep, and the worker that
/// runs the one task closes the executor. The task is not left to a watcher while no worker is
/// active.
#[test]
fn a_push_from_outside_against_the_last_that_is_active() {
    model_bounded(2, || {
        let world = World::new(2, 0);
        let watcher = start(&world, |world| {
            if world.search_and_watch_forever(0) {
                world.close();
            }
        });
        let sleeper = start(&world, |world| {
            if world.search(1, 1) {
                world.close();
            }
        });
        world.inject();
        watcher.join().unwrap();
        sleeper.join().unwrap();
    });
}

/// One task is queued, and another is pushed from outside. Two workers, each blocked by the task
/// that it takes, must run both.
fn found_against_outside() {
    model_bounded(3, move || {
        let world = World::new(2, 1);
        let other = start(&world, |world| assert!(world.search(1, 1)));
        let pusher = start(&world, |world| world.inject());
        assert!(world.search(0, 1));
        other.join().unwrap();
        pusher.join().unwrap();
    });
}

/// One task is queued, and worker 0, which is blocked by the task that it runs, pushes another. The
/// two other workers must run both.
fn found_against_push() {
    model_bounded(3, move || {
        let world = World::new(3, 1);
        let others = [1, 2].map(|i| start(&world, move |world| assert!(world.search(i, 1))));
        world.push(0);
        join_all(others);
    });
}

/// Worker 0 has pushed two tasks and is blocked by the task that it runs. Of the two other workers,
/// one watches before it sleeps. Each task blocks one of them.
#[test]
fn two_tasks_of_a_worker_reach_two_others() {
    model_bounded(2, || {
        let world = World::new(3, 0);
        let workers = [
            start(&world, |world| assert!(world.search(1, 1))),
            start(&world, |world| assert!(world.search_and_watch(2, 1))),
        ];
        world.push(0);
        world.push(0);
        join_all(workers);
    });
}

/// A worker pushes two tasks. The first blocks the second worker, which may have been woken for it,
/// and the owner of the third one is told of the other.
#[test]
fn the_second_of_two_tasks_wakes_the_owner_that_is_away() {
    model_bounded(3, || {
        let world = World::new(3, 0);
        let wakes = Wakes::new();
        world.sleep.search();
        assert!((world.sleep).go_away(2, wakes.waker(), || false, || false));
        let worker = start(&world, |world| assert!(world.search(1, 1)));
        world.push(0);
        world.push(0);
        worker.join().unwrap();
        assert_eq!(wakes.count(), 1);
    });
}

/// A worker pushes without any fence, and goes to sleep. The other worker, while no third one is
/// active, has no fence that would pair with the first worker's light fence. It sees the push
/// because both go through the word and the lock.
fn push_whose_worker_sleeps_afterwards(finds_other_work: bool) {
    model_bounded(3, move || {
        let _no_fence = Weakened::new("executor::sleep::push_fence", Relaxed);
        let world = World::new(2, usize::from(finds_other_work));
        let pusher = start(&world, |world| {
            world.push(0);
            world.sleep.begin(0);
            world.sleep.search();
            // It cannot take the task that it has pushed unless it is told to, as if the injector's
            // lock were held.
            world
                .sleep
                .sleep(0, || world.is_closed(), || world.has_work());
            world.sleep.found(|| false);
            world.close();
        });
        let other = start(&world, move |world| {
            world.sleep.begin(1);
            world.sleep.search();
            if finds_other_work {
                // A task from nowhere: the worker looks at no queue.
                assert_eq!(world.injector.take(1), 1);
                world.sleep.found(|| world.has_work());
            } else {
                world.park(1);
                world.sleep.found(|| false);
                world.close();
            }
        });
        other.join().unwrap();
        pusher.join().unwrap();
    });
}

/// A worker begins, and blocks unless it sees what has changed.
#[test]
fn a_worker_that_begins_is_unparked_or_sees_why() {
    model(|| {
        let world = World::new(1, 0);
        let worker = start(&world, |world| {
            world.sleep.begin(0);
            while !world.is_closed() {
                thread::park();
            }
        });
        world.closed.store(true, Relaxed);
        world.sleep.unpark_all();
        worker.join().unwrap();
    });
}

#[derive(Clone, Copy)]
enum Park {
    Sleeps,
    Watches,
}

/// A worker pushes without any fence, as far as its processor is concerned, and wakes a worker that
/// it sees parked. That one sees the push, though the pusher is stopped before it unparks it.
fn push_without_a_fence(park: Park) {
    each_step(2, move |stopped| {
        let _no_fence = Weakened::new("executor::sleep::push_fence", Relaxed);
        let world = World::new(2, 0);
        let worker = start(&world, move |world| {
            let sleep = &world.sleep;
            sleep.begin(1);
            sleep.search();
            let woken = match park {
                Park::Sleeps => sleep.sleep(1, || world.is_closed(), || false),
                Park::Watches => sleep.watch(1, Duration::ZERO, || false),
            };
            assert!(!woken || world.has_work() || world.is_closed());
            sleep.found(|| false);
        });
        let pusher = stopped.start({
            let world = world.clone();
            move || {
                world.queues[0].push();
                world.sleep.notify_for_hands();
            }
        });
        world.close();
        worker.join().unwrap();
        pusher.join();
    });
}

#[test]
fn a_worker_sees_what_it_was_woken_for() {
    for park in [Park::Sleeps, Park::Watches] {
        push_without_a_fence(park);
    }
}

/// A thread that wakes worker 0 is stopped before one of its operations. Another one that wakes it
/// does not wait for it: worker 0 wakes up.
fn beside_a_stopped_waker(workers: usize, stops: Waking, wakes: Waking, park: Parks) {
    each_step(1, move |stopped| {
        let world = World::new(workers, 0);
        let worker = start(&world, move |world| _ = park(&world));
        let own = world.clone();
        let stopped = stopped.start(move || stops(&own));
        wakes(&world);
        worker.join().unwrap();
        stopped.join();
    });
}

#[test]
fn a_worker_wakes_up_whoever_else_has_claimed_it_and_stopped() {
    for wakes in [injects, injects_pinned, World::close] {
        for stops in [injects, injects_pinned, World::close] {
            beside_a_stopped_waker(1, stops, wakes, sleeps);
            beside_a_stopped_waker(1, stops, wakes, watches);
        }
    }
    for [stops, wakes] in [
        [pushes, injects],
        [injects, pushes],
        [injects_pinned, pushes],
    ] {
        beside_a_stopped_waker(2, stops, wakes, sleeps);
    }
}

/// A worker is away, and its owner drives it again only once the waker is woken.
fn push_against_away(owner: Owner, push: fn(&World)) {
    model_bounded(3, move || {
        let world = World::new(2, 0);
        let worker = start(&world, move |world| assert!(world.search_away(0, owner)));
        push(&world);
        worker.join().unwrap();
    });
}

#[test]
fn a_push_wakes_the_owner_of_a_worker_that_goes_away() {
    for owner in [Owner::Parks, Owner::ComesBack] {
        push_against_away(owner, |world| world.push(1));
        push_against_away(owner, |world| world.inject());
        push_against_away(owner, |world| world.inject_pinned(0));
        // The second finds the worker claimed.
        push_against_away(owner, |world| {
            world.inject();
            world.inject();
        });
    }
}

/// A worker that is away is woken for the end.
#[test]
fn the_end_wakes_the_owner_of_a_worker_that_goes_away() {
    for owner in [Owner::Parks, Owner::ComesBack] {
        model_bounded(3, move || {
            let world = World::new(1, 0);
            let worker = start(&world, move |world| assert!(!world.search_away(0, owner)));
            world.close();
            worker.join().unwrap();
        });
    }
}

/// A searcher moves a batch into its own queue, and is blocked by the batch's first task.
#[test]
fn the_rest_of_a_searchers_batch_is_found() {
    model(|| {
        let world = World::new(2, 2);
        let other = start(&world, |world| assert!(world.search(1, 2)));
        assert!(world.search(0, 2));
        other.join().unwrap();
    });
}

/// Two pushes wake at most twice, and the close wakes once: no signal is made up, and none is lost
/// to a worker that rose by itself.
#[test]
fn a_worker_is_woken_no_more_often_than_somebody_wakes() {
    model_bounded(1, || {
        let world = World::new(1, 0);
        let worker = start(&world, |world| {
            let mut woken = 0;
            let mut ran = 0;
            world.sleep.begin(0);
            world.sleep.search();
            loop {
                if world.injector.take(1) == 1 {
                    ran += 1;
                    continue;
                }
                let is_over = || ran == 2 && world.is_closed();
                if is_over() {
                    break;
                }
                let slept = world.sleep.sleep(0, is_over, || world.has_work());
                woken += usize::from(slept);
            }
            world.sleep.found(|| world.has_work());
            assert!(woken <= 3, "woken {woken} times");
        });
        let pusher = start(&world, |world| world.inject());
        world.inject();
        pusher.join().unwrap();
        world.close();
        worker.join().unwrap();
    });
}

models! {
    /// The other worker either looks again and finds the task, or sleeps as the last lookout.
    a_push_of_a_worker_is_found_by_a_watcher:
        woken(2, watches_before_it_sleeps, pushes);
    a_push_that_asks_for_help_gets_it_from_a_watcher_or_a_searcher:
        woken(2, watches_before_it_sleeps, asks_for_help);
    a_push_from_another_thread_wakes_a_worker_about_to_sleep: woken(1, sleeps, injects);
    a_push_from_another_thread_wakes_a_worker_about_to_watch: woken(1, watches, injects);
    a_push_of_a_worker_wakes_another_about_to_sleep: woken(2, sleeps, pushes);
    the_last_lookout_leaves_no_task_that_came_from_outside: found_against_outside();
    the_last_lookout_leaves_no_task_that_a_worker_left_to_it: found_against_push();
    a_close_wakes_a_worker_about_to_sleep: woken(1, sleeps, World::close);
    a_close_wakes_a_worker_about_to_watch: woken(1, watches, World::close);
    a_pinned_task_wakes_its_worker_about_to_sleep: woken(1, sleeps, injects_pinned);
    a_pinned_task_wakes_its_worker_about_to_sleep_as_the_last_lookout: woken(2, sleeps, injects_pinned);
    a_pinned_task_wakes_its_worker_about_to_watch: woken(2, watches, injects_pinned);
    the_next_worker_to_sleep_sees_a_push_of_a_sleeping_worker: push_whose_worker_sleeps_afterwards(false);
    the_last_finder_sees_a_push_of_a_sleeping_worker: push_whose_worker_sleeps_afterwards(true);
}
