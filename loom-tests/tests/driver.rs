//! Models of a worker that parks in the driver (`joint-executor/src/driver/keeper.rs`, `sleep.rs`):
//! what wakes it, and what it must not miss. A deadline has either passed or never passes. If a
//! model ends with a worker asleep, that is a deadlock, which loom reports.

use loom::sync::atomic::{AtomicBool, AtomicUsize};
use loom_tests::{Flag, join_all};

use crate::prelude::*;

/// A deadline that has passed by the time it is armed.
const PAST: u64 = 0;
/// A century away, by the clock of the driver.
const FUTURE: u64 = 3_000_000_000_000_000_000;

struct World {
    driven: Driven,
    queue: AtomicUsize,
    closed: AtomicBool,
}

impl World {
    fn new(workers: usize) -> Arc<Self> {
        Arc::new(Self {
            driven: Driven::new(workers),
            queue: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
        })
    }

    fn inject(&self) {
        self.queue.fetch_add(1, Release);
        self.driven.sleep.notify_from_outside();
    }

    /// Pushes to a queue that only worker 0 takes from.
    fn pin(&self) {
        self.queue.fetch_add(1, Release);
        self.driven.sleep.wake_worker(0);
    }

    fn close(&self) {
        self.closed.store(true, Relaxed);
        self.driven.sleep.wake_all();
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    fn has_work(&self) -> bool {
        self.queue.load(Relaxed) > 0
    }

    fn take(&self) -> bool {
        let tasks = self.queue.load(Relaxed);
        let rest = tasks.saturating_sub(1);
        tasks > 0 && { &self.queue }
            .compare_exchange(tasks, rest, Acquire, Relaxed)
            .is_ok()
    }

    /// As `Local::look_out`, until `is_over`.
    fn search(&self, worker: usize, is_over: impl Fn(&Self) -> bool) {
        self.driven.sleep.begin(worker);
        self.driven.sleep.search();
        while !is_over(self) {
            let urgent = || self.is_closed() || self.has_work();
            self.driven.park(worker, urgent, || self.has_work());
        }
        self.driven.sleep.found(|| self.has_work());
    }
}

/// A worker with nothing to do parks, in the driver or elsewhere, until its waker reports an event
/// that another thread causes. `before` prepares the world.
fn against_rest(before: fn(&Driven), come: fn(&Driven, &Arc<Wakes>)) {
    model_bounded(3, move || {
        let world = World::new(1);
        before(&world.driven);
        let wakes = Wakes::new();
        let worker = start(&world, {
            let wakes = wakes.clone();
            move |world| world.search(0, |_| wakes.count() == 1)
        });
        come(&world.driven, &wakes);
        worker.join().unwrap();
    });
}

fn unused(_: &Driven) {}

fn far_deadline(driven: &Driven) {
    driven.arm(FUTURE, Wakes::new().waker());
}

fn given_up(driven: &Driven) {
    far_deadline(driven);
    driven.arm_and_give_up(PAST);
}

fn reactor(driven: &Driven) {
    driven.make_reactor();
}

fn deadline(driven: &Driven, wakes: &Arc<Wakes>) {
    driven.arm(PAST, wakes.waker());
}

fn first_descriptor(driven: &Driven, wakes: &Arc<Wakes>) {
    driven.make_reactor();
    driven.tell(wakes.waker());
}

/// Worker 0 has begun to sleep until a deadline. Worker 1 is active. It arms some earlier
/// deadlines, and is then blocked in its poll.
fn deadlines_of_a_worker(deadlines: usize) {
    model_bounded(3, move || {
        let world = World::new(2);
        far_deadline(&world.driven);
        let wakes = Wakes::new();
        let worker = start(&world, {
            let wakes = wakes.clone();
            move |world| world.search(0, |_| wakes.count() == deadlines)
        });
        for _ in 0..deadlines {
            world.driven.arm_as(1, PAST, wakes.waker());
        }
        worker.join().unwrap();
    });
}

/// The keeper wakes up for a deadline of one worker. Another worker's deadline need not wake it,
/// because it sees that deadline before it sleeps again.
#[test]
fn a_deadline_reaches_a_keeper_that_wakes_up_anyway() {
    model_bounded(3, || {
        let world = World::new(3);
        let wakes = Wakes::new();
        far_deadline(&world.driven);
        world.driven.arm_as(1, PAST, wakes.waker());
        let keeper = start(&world, {
            let wakes = wakes.clone();
            move |world| world.search(0, |_| wakes.count() == 2)
        });
        // No earlier than the time until which the keeper sleeps, for which no 0 is written.
        world.driven.arm_as(2, PAST + 1, wakes.waker());
        keeper.join().unwrap();
    });
}

/// A task from outside, and the shutdown, against a worker that parks in the driver.
fn push_and_close(before: fn(&Driven)) {
    model_bounded(3, move || {
        let world = World::new(1);
        before(&world.driven);
        let worker = start(&world, |world| {
            world.search(0, World::take);
            world.search(0, World::is_closed);
        });
        world.inject();
        world.close();
        worker.join().unwrap();
    });
}

/// A worker is woken by a bell that may not exist yet. Then the first descriptor creates the
/// reactor, in which the worker may be about to park.
fn wake_while_the_reactor_is_made(wake: fn(&World), is_over: fn(&World) -> bool) {
    model_bounded(2, move || {
        let world = World::new(1);
        far_deadline(&world.driven);
        let worker = start(&world, move |world| world.search(0, is_over));
        let maker = start(&world, |world| world.driven.make_reactor());
        wake(&world);
        maker.join().unwrap();
        worker.join().unwrap();
    });
}

/// A thread that wakes the keeper is stopped before one of its operations. Another one that needs
/// the keeper does not wait for it. Preemption bound 1, besides the stop. With 2, loom unparks the
/// keeper while it is blocked in the timers' lock, which loom does not allow.
fn beside_a_stopped_waker(before: fn(&Driven), stops: fn(&World), needs: fn(&World, &Arc<Wakes>)) {
    each_step(1, move |stopped| {
        let world = World::new(1);
        before(&world.driven);
        let wakes = Wakes::new();
        let worker = start(&world, {
            let wakes = wakes.clone();
            move |world| {
                world.search(0, |world| {
                    // What the stopped thread has pushed is in the way.
                    while world.take() {}
                    wakes.count() == 1 || world.is_closed()
                });
            }
        });
        let own = world.clone();
        let stopped = stopped.start(move || stops(&own));
        needs(&world, &wakes);
        worker.join().unwrap();
        stopped.join();
    });
}

#[test]
fn a_deadline_and_the_end_reach_a_claimed_keeper() {
    type Needs = fn(&World, &Arc<Wakes>);
    let needs: [Needs; 2] = [
        |world, wakes| deadline(&world.driven, wakes),
        |world, _| world.close(),
    ];
    for needs in needs {
        for before in [far_deadline, reactor] {
            for stops in [World::inject, World::pin] {
                beside_a_stopped_waker(before, stops, needs);
            }
        }
    }
}

/// The reactor is made while a thread that has claimed the keeper is stopped. Another one that
/// needs the keeper rings it. Preemption bound 1, besides the stop.
#[test]
fn a_claimed_keeper_is_rung_while_the_reactor_is_made() {
    for needs in [World::close, World::inject, World::pin] {
        each_step(1, move |stopped| {
            let world = World::new(1);
            far_deadline(&world.driven);
            let is_over = |world: &World| world.is_closed() || world.take();
            let worker = start(&world, move |world| world.search(0, is_over));
            let maker = start(&world, |world| world.driven.make_reactor());
            let own = world.clone();
            let stopped = stopped.start(move || own.driven.sleep.wake_worker(0));
            needs(&world);
            worker.join().unwrap();
            maker.join().unwrap();
            stopped.join();
        });
    }
}

/// Of two workers, one parks in the driver and the other outside it. One event keeps each of them
/// busy: a task from outside, or a deadline. The worker that wakes up first for the deadline has to
/// leave the task to the other, or come back for it.
fn two_workers(before: fn(&Driven)) {
    model_bounded(2, move || {
        let world = World::new(2);
        before(&world.driven);
        let due = Flag::new();
        let workers = [0, 1].map(|i| {
            let due = due.clone();
            start(&world, move |world| {
                let is_over = |world: &World| due.is_up() && !world.has_work();
                world.search(i, |world| {
                    world.take();
                    is_over(world) || world.is_closed()
                });
                world.close();
            })
        });
        world.inject();
        world.driven.arm(PAST, due.into());
        join_all(workers);
    });
}

/// Starts worker 1 at some point of what worker 0 does. It takes the driver over as
/// [`Driven::take_over`] says.
fn against_take_over(
    driven: &Arc<Driven>,
    visited: bool,
    does: impl FnOnce(&Driven, &mut dyn FnMut()),
) {
    let mut other = None;
    does(driven, &mut || {
        other = Some(start(driven, move |driven| driven.take_over(1, visited)));
    });
    other.expect("it was started").join().unwrap();
}

/// A keeper that leaves relies on a lookout that is about to sleep, or wakes it.
fn leaving_against_going_to_sleep() {
    model(|| {
        let driven = Arc::new(Driven::new(2));
        driven.arm_as(0, PAST, Wakes::new().waker());
        against_take_over(&driven, false, |driven, start| {
            driven.keep_and_leave(0, start)
        });
    });
}

/// A worker that visits the driver says nothing when it goes, and may then be away for long.
fn visit_against_going_to_sleep() {
    model(|| {
        let driven = Arc::new(Driven::new(2));
        driven.make_reactor();
        against_take_over(&driven, true, |driven, start| driven.visit(start));
    });
}

/// A keeper that has left the driver visits it.
fn leaving_and_a_visit_against_going_to_sleep() {
    model_bounded(2, || {
        let driven = Arc::new(Driven::new(2));
        driven.make_reactor();
        driven.arm_as(0, PAST, Wakes::new().waker());
        against_take_over(&driven, true, |driven, start| {
            driven.keep_and_leave(0, start);
            driven.visit(|| ());
        });
    });
}

models! {
    the_first_deadline_reaches_a_worker_that_is_about_to_park_outside_the_driver: against_rest(unused, deadline);
    an_earlier_deadline_reaches_the_keeper: against_rest(far_deadline, deadline);
    an_earlier_deadline_reaches_the_keeper_in_the_reactor: against_rest(reactor, deadline);
    /// No sooner than the earliest deadline, unless the keeper has removed that already.
    a_deadline_after_one_that_was_given_up_reaches_the_keeper: against_rest(given_up, deadline);
    the_first_descriptor_reaches_a_worker_about_to_park_outside_the_driver: against_rest(unused, first_descriptor);
    the_first_descriptor_reaches_a_keeper_that_sleeps_until_a_deadline: against_rest(far_deadline, first_descriptor);
    an_earlier_deadline_of_a_busy_worker_reaches_the_keeper: deadlines_of_a_worker(1);
    /// The second deadline is announced while the keeper may be awake for the first.
    two_deadlines_of_a_busy_worker_reach_the_keeper: deadlines_of_a_worker(2);
    a_push_and_the_end_reach_the_keeper: push_and_close(far_deadline);
    a_push_and_the_end_reach_the_keeper_in_the_reactor: push_and_close(reactor);
    the_end_while_the_reactor_is_made_reaches_the_keeper: wake_while_the_reactor_is_made(World::close, World::is_closed);
    a_task_and_a_deadline_reach_two_workers: two_workers(far_deadline);
    a_pinned_push_while_the_reactor_is_made_reaches_the_keeper: wake_while_the_reactor_is_made(World::pin, World::take);
    a_keeper_that_leaves_leaves_somebody_behind: leaving_against_going_to_sleep();
    a_worker_that_misses_a_visited_driver_takes_it_over: visit_against_going_to_sleep();
    a_keeper_that_leaves_and_visits_the_driver_leaves_somebody_behind: leaving_and_a_visit_against_going_to_sleep();
}
