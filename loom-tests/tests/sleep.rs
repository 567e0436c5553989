//! Models of the executor's sleep protocol (`executor/sleep.rs`), with queues of their own: a queue is a count of tasks, to be
//! looked at by plain loads, as a work-stealing queue is.
//!
//! A worker takes one task and is then blocked by it for ever. So a task that is left in a queue while its worker sleeps is a
//! deadlock, which the model reports.
#![cfg(joint_loom)]

use std::sync::{
    Arc,
    atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release},
};

use joint::model::Sleep;
use loom::{
    sync::atomic::{AtomicBool, AtomicUsize},
    thread,
};
use loom_tests::{assert_killed, model, model_bounded};

/// As many tasks as a push has put there and nobody has taken yet.
struct Queue(AtomicUsize);

impl Queue {
    fn new(tasks: usize) -> Self {
        Self(AtomicUsize::new(tasks))
    }

    fn is_empty(&self) -> bool {
        self.0.load(Acquire) == 0
    }

    fn push(&self) {
        self.0.fetch_add(1, Release);
    }

    /// Takes up to `most` tasks, and says how many.
    fn take(&self, most: usize) -> usize {
        let mut tasks = self.0.load(Acquire);
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

/// Which of its looks a worker forgets, to show that it must not.
#[derive(Clone, Copy, PartialEq)]
enum Forget {
    Nothing,
    /// S3, before it sleeps.
    LookAsSleeper,
    /// F3, as the last to search.
    LookAsFinder,
    /// To tell of what is left of a batch that it took without having searched.
    Rest,
}

struct World {
    sleep: Sleep,
    injector: Queue,
    /// One for each worker.
    queues: Vec<Queue>,
    closed: AtomicBool,
    forget: Forget,
}

impl World {
    fn new(workers: usize, injected: usize, forget: Forget) -> Arc<Self> {
        Arc::new(Self {
            sleep: Sleep::new(workers),
            injector: Queue::new(injected),
            queues: (0..workers).map(|_| Queue::new(0)).collect(),
            closed: AtomicBool::new(false),
            forget,
        })
    }

    fn inject(&self) {
        self.injector.push();
        self.sleep.notify();
    }

    fn has_work(&self) -> bool {
        !self.injector.is_empty() || self.queues.iter().any(|queue| !queue.is_empty())
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    fn close(&self) {
        self.closed.store(true, Relaxed);
        self.sleep.wake_all();
    }

    /// Takes a task out of the injector, and up to `batch - 1` more over into the worker's own queue.
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
        self.take_injected(worker, batch) || { others }.any(|i| self.queues[i].take(1) == 1)
    }

    /// As `Local::search` in `executor/worker.rs`. True: a task was found; false: closed.
    fn search(&self, worker: usize, batch: usize) -> bool {
        self.sleep.search();
        let found = loop {
            if self.look_round(worker, batch) {
                break true;
            }
            if self.is_closed() {
                break false;
            }
            let sleeper_looks = self.forget != Forget::LookAsSleeper;
            self.sleep.sleep(worker, || {
                sleeper_looks && (self.has_work() || self.is_closed())
            });
        };
        let finder_looks = self.forget != Forget::LookAsFinder;
        self.sleep.found(|| finder_looks && self.has_work());
        found
    }
}

/// Runs `f` on a thread of the model.
fn start(world: &Arc<World>, f: impl FnOnce(&World) + 'static) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || f(&world))
}

fn push_against_sleep(forget: Forget) {
    model(move || {
        let world = World::new(1, 0, forget);
        let worker = start(&world, |world| assert!(world.search(0, 1)));
        world.inject();
        worker.join().unwrap();
    });
}

#[test]
fn a_push_wakes_the_worker_that_goes_to_sleep() {
    push_against_sleep(Forget::Nothing);
}

/// One task lies there, another is pushed: two workers, each blocked by the task it takes, must run both.
fn found_against_push(forget: Forget) {
    model_bounded(3, move || {
        let world = World::new(2, 1, forget);
        let other = start(&world, |world| assert!(world.search(1, 1)));
        let pusher = start(&world, |world| world.inject());
        assert!(world.search(0, 1));
        other.join().unwrap();
        pusher.join().unwrap();
    });
}

/// Preemption bound 3.
#[test]
fn the_last_to_search_leaves_no_task_that_a_push_left_to_it() {
    found_against_push(Forget::Nothing);
}

/// Two workers, one task, and whoever runs it closes: each must end. Preemption bound 3.
#[test]
fn a_push_reaches_one_of_two_workers() {
    model_bounded(3, || {
        let world = World::new(2, 0, Forget::Nothing);
        let work = |worker| {
            move |world: &World| {
                if world.search(worker, 1) {
                    world.close();
                }
            }
        };
        let workers = [start(&world, work(0)), start(&world, work(1))];
        world.inject();
        for worker in workers {
            worker.join().unwrap();
        }
        assert!(world.is_closed() && !world.has_work());
    });
}

fn close_against_sleep(forget: Forget) {
    model(move || {
        let world = World::new(1, 0, forget);
        let worker = start(&world, |world| assert!(!world.search(0, 1)));
        world.close();
        worker.join().unwrap();
    });
}

#[test]
fn a_close_wakes_the_worker_that_goes_to_sleep() {
    close_against_sleep(Forget::Nothing);
}

/// Two workers sleep until there is a close, which whoever was woken sees at its first look, a relaxed one.
fn close_wakes_all() {
    model_bounded(3, || {
        let world = World::new(2, 0, Forget::Nothing);
        let work = |worker| {
            move |world: &World| {
                world.sleep.search();
                world.sleep.sleep(worker, || world.is_closed());
                assert!(world.is_closed());
                world.sleep.found(|| false);
            }
        };
        let workers = [start(&world, work(0)), start(&world, work(1))];
        world.close();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

/// Preemption bound 3.
#[test]
fn a_close_wakes_all_workers_and_they_see_it() {
    close_wakes_all();
}

/// A searcher moves a batch into its own queue, and is blocked by the first task of it.
fn batch_against_sleep() {
    model(|| {
        let world = World::new(2, 2, Forget::Nothing);
        let other = start(&world, |world| assert!(world.search(1, 2)));
        assert!(world.search(0, 2));
        other.join().unwrap();
    });
}

#[test]
fn the_rest_of_a_searchers_batch_is_found() {
    batch_against_sleep();
}

/// Three workers, three tasks: the first moves a batch of two, the second finds the third task, and is the last to search.
/// Preemption bound 2.
fn batch_against_found() {
    model_bounded(2, || {
        let world = World::new(3, 3, Forget::Nothing);
        let others = [1, 2].map(|i| start(&world, move |world| assert!(world.search(i, 1))));
        assert!(world.search(0, 2));
        for worker in others {
            worker.join().unwrap();
        }
    });
}

#[test]
fn the_last_to_search_sees_the_rest_of_another_searchers_batch() {
    batch_against_found();
}

/// A worker that does not search takes a batch from the injector, and is blocked by the first task of it.
fn batch_without_search(forget: Forget) {
    model(move || {
        let world = World::new(2, 2, forget);
        let other = start(&world, |world| {
            // Whether it takes one of the tasks out of the injector or out of the queue.
            assert!(world.search(1, 1));
        });
        let taken = world.take_injected(0, 2);
        if taken && !world.queues[0].is_empty() && world.forget != Forget::Rest {
            world.sleep.notify();
        }
        other.join().unwrap();
    });
}

#[test]
fn the_rest_of_a_batch_taken_without_a_search_is_found() {
    batch_without_search(Forget::Nothing);
}

/// Preemption bound 3.
#[test]
fn a_pop_and_a_steal_take_each_task_once() {
    model_bounded(3, || {
        let world = World::new(2, 0, Forget::Nothing);
        let ran = Arc::new(AtomicUsize::new(0));
        let thief = {
            let ran = ran.clone();
            start(&world, move |world| {
                if world.search(1, 1) {
                    ran.fetch_add(1, Relaxed);
                }
            })
        };
        for _ in 0..2 {
            world.queues[0].push();
            world.sleep.notify();
        }
        while world.queues[0].take(1) == 1 {
            ran.fetch_add(1, Relaxed);
        }
        world.close();
        thief.join().unwrap();
        assert_eq!(ran.load(Relaxed), 2);
        assert!(!world.has_work());
    });
}

/// Two pushes wake at most twice, and the close once: no signal is made up, and none is lost to a worker that rose by itself.
/// Preemption bound 3.
#[test]
fn a_worker_is_woken_no_more_often_than_somebody_wakes() {
    model_bounded(3, || {
        let world = World::new(1, 0, Forget::Nothing);
        let worker = start(&world, |world| {
            let mut woken = 0;
            let mut ran = 0;
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
                let slept = world.sleep.sleep(0, || world.has_work() || is_over());
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

macro_rules! killed {
    ($($name:ident: $site:ident -> $ordering:ident by $model:expr;)*) => {$(
        #[test]
        fn $name() {
            assert_killed(concat!("executor::sleep::", stringify!($site)), Ordering::$ordering, || $model);
        }
    )*};
}

killed! {
    push_fence_is_seq_cst: push_fence -> AcqRel by push_against_sleep(Forget::Nothing);
    push_fence_is_there: push_fence -> Relaxed by push_against_sleep(Forget::Nothing);
    sleep_fence_is_seq_cst: sleep_fence -> AcqRel by push_against_sleep(Forget::Nothing);
    sleep_fence_is_there: sleep_fence -> Relaxed by push_against_sleep(Forget::Nothing);
    found_fence_is_seq_cst: found_fence -> AcqRel by found_against_push(Forget::Nothing);
    found_fence_is_there: found_fence -> Relaxed by found_against_push(Forget::Nothing);
    found_releases_to_a_sleeper: found -> Relaxed by batch_against_sleep();
    found_releases_to_a_finder: found -> Relaxed by batch_against_found();
    slept_acquires: slept -> Relaxed by close_wakes_all();
    signal_releases: signal -> Relaxed by close_wakes_all();
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_sleeper_must_look_again() {
    push_against_sleep(Forget::LookAsSleeper);
}

#[test]
#[should_panic(expected = "deadlock")]
fn the_last_finder_must_look_again() {
    found_against_push(Forget::LookAsFinder);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_close_needs_the_sleepers_look() {
    close_against_sleep(Forget::LookAsSleeper);
}

#[test]
#[should_panic(expected = "deadlock")]
fn who_takes_a_batch_without_a_search_must_tell() {
    batch_without_search(Forget::Rest);
}
