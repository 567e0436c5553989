//! The thefts of a searching worker, at times that the test sets.

use alloc::boxed::Box;
use std::sync::mpsc;

use super::*;
use crate::{
    hooks::Hooks,
    worker::harness::{task, two_workers, two_workers_with, wakes_of},
};

const LONG: Duration = Duration::from_secs(10);

/// Sets what the first worker has seen of the second.
fn set_seen(worker: &Worker, since: Instant, polls: u64, is_busy: bool) {
    worker.lookout.seen[1].set(Seen {
        polls,
        since,
        patience: PATIENCE,
        is_busy,
        waits: false,
    });
}

impl Lookout {
    /// Makes it seem that a worker has been in one poll for [`STUCK`].
    pub(in crate::worker) fn set_stuck(&self, worker: usize) {
        let seen = &self.seen[worker];
        let since = before(Instant::now(), STUCK);
        seen.set(Seen {
            since,
            ..seen.get()
        });
    }
}

fn before(now: Instant, time: Duration) -> Instant {
    now.checked_sub(time)
        .expect("the system has been running for longer")
}

#[test]
fn the_numbers_are_those_of_marsaglia() {
    let lookout = Lookout::new(0, 1);
    lookout.random.set(1);
    let numbers = [(); 4].map(|()| lookout.random());
    assert_eq!(numbers, [270_369, 67_634_689, 2_647_435_461, 307_599_695]);
}

#[test]
fn a_lookout_tells_progressing_neighbours_from_stuck_ones() {
    let [worker, other] = two_workers();
    let view = || {
        let view = worker.view();
        (view.makes_progress, view.all_stuck)
    };
    set_seen(&worker, before(Instant::now(), LONG), 0, false);
    worker.counters().polls.set(1);
    assert_eq!(view(), (false, true), "its own count does not matter");
    other.counters().polls.set(1);
    assert_eq!(view(), (true, false));
    // An interval that lasts longer than the test.
    set_seen(&worker, Instant::now() + LONG, 1, false);
    assert_eq!(view(), (false, false), "not seen for long enough");
    other.counters().polls.set(2);
    assert_eq!(worker.look_round().err(), Some(true));
    assert_eq!(worker.look_round().err(), Some(false));
}

/// A worker between two polls has the task that has yielded in its queue, and takes it right after.
#[test]
fn a_task_that_is_alone_waits_if_it_is_seen_in_two_looks_of_one_poll() {
    let [worker, other] = two_workers();
    let waits = || {
        worker.view();
        worker.lookout.seen[1].get().waits
    };
    other.counters().polls.set(1);
    assert!(!waits(), "nothing is queued");
    other.queues.push_beyond(task());
    assert!(!waits(), "it may have yielded");
    assert!(waits());
    other.counters().polls.set(2);
    assert!(!waits(), "it may have run, and have yielded again");
    assert!(waits());
    assert!(other.queues.pop().is_some());
    assert!(!waits());
    for polls in 3..5 {
        other.counters().polls.set(polls);
        (0..2).for_each(|_| other.queues.push_beyond(task()));
        assert!(waits(), "there are two");
    }
}

/// How long a poll seems to take after the second worker has made 10 in 10 seconds.
fn time_seen(was_busy: bool, is_busy: bool, time: Duration) -> Duration {
    let [worker, other] = two_workers();
    if is_busy {
        other.running().push(task(), crate::registry::Lane::Normal);
    }
    set_seen(&worker, before(Instant::now(), time), 5, was_busy);
    other.counters().polls.set(15);
    assert!(worker.view().makes_progress);
    let seen = worker.lookout.seen[1].get();
    assert_eq!((seen.polls, seen.is_busy), (15, is_busy));
    Duration::from_nanos(worker.shared().poll_time() as u64)
}

#[test]
fn poll_time_is_measured_only_of_workers_that_stayed_busy() {
    let time = time_seen(true, true, LONG);
    assert!(time >= LONG / 10 && time < LONG / 5, "{time:?}");
    assert_eq!(time_seen(false, true, LONG), Duration::ZERO);
    assert_eq!(time_seen(true, false, LONG), Duration::ZERO);
}

#[test]
fn a_worker_measures_its_own_poll_time() {
    let [worker, _other] = two_workers();
    let time = || Duration::from_nanos(worker.shared().poll_time() as u64);
    worker.judge(LONG, 10);
    assert_eq!(time(), LONG / 10);
    worker.lookout.began.set((before(Instant::now(), LONG), 0));
    worker.judge_own_polls();
    assert_eq!(time(), LONG / 10, "it has run no task");
    (0..5).for_each(|_| worker.running().run(task()));
    worker.lookout.began.set((before(Instant::now(), LONG), 1));
    worker.judge_own_polls();
    assert!(time() >= LONG / 4 && time() < LONG / 2, "{:?}", time());
}

#[test]
fn a_long_poll_loses_one_task_at_a_time_and_a_stuck_one_half_its_queue() {
    let [worker, other] = two_workers();
    let now = Instant::now() + LONG;
    // How many of 8 tasks are taken from a worker that has been in a poll for `stuck_for`.
    let stolen = |stuck_for| {
        while other.queues.lengths()[0] < 8 {
            other.queues.push_beyond(task());
        }
        let view = View {
            now,
            makes_progress: false,
            all_stuck: false,
        };
        let seen = worker.lookout.seen[1].get();
        let since = now - stuck_for;
        worker.lookout.seen[1].set(Seen { since, ..seen });
        let first = worker.steal_patiently(&view);
        let more = worker.queues.lengths()[0];
        while worker.queues.pop().is_some() {}
        let taken = usize::from(first.is_some()) + more;
        assert_eq!(other.queues.lengths()[0], 8 - taken);
        taken
    };
    let short = Duration::from_nanos(1);
    let patience = || worker.lookout.seen[1].get().patience;
    assert_eq!(stolen(PATIENCE - short), 0);
    assert_eq!((stolen(PATIENCE), patience()), (1, 2 * PATIENCE));
    assert_eq!(stolen(2 * PATIENCE - short), 0);
    assert_eq!((stolen(2 * PATIENCE), patience()), (1, 4 * PATIENCE));
    assert_eq!(stolen(STUCK), 4);
    worker.shared().set_poll_time(WORTH_A_STEAL - 1);
    assert_eq!(stolen(PATIENCE), 0);
    worker.shared().set_poll_time(2 * WORTH_A_STEAL);
    assert_eq!(stolen(short), 0, "none is seen to wait");
    let seen = &worker.lookout.seen[1];
    seen.set(Seen {
        waits: true,
        ..seen.get()
    });
    assert_eq!(stolen(short), 4);
    assert_eq!(worker.counters().steals.get(), 4);
}

#[test]
fn a_stuck_worker_is_found_in_a_look_round() {
    let [worker, other] = two_workers();
    other.queues.push_beyond(task());
    set_seen(&worker, Instant::now() + LONG, 0, false);
    assert!(worker.look_round().is_err(), "not seen for long enough");
    worker.lookout.set_stuck(1);
    assert!(matches!(worker.look_round(), Ok(Found::Task(_, Some(_)))));
}

#[test]
fn on_steal_receives_the_tasks_that_a_busy_worker_has_stolen() {
    let (sender, steals) = mpsc::channel();
    let mut hooks = Hooks::default();
    hooks.on_steal = Some(Box::new(move |steal| sender.send(*steal).expect("kept")));
    let [worker, other] = two_workers_with(hooks);
    worker.running().rescue();
    (0..4).for_each(|_| other.queues.push_beyond(task()));
    worker.lookout.set_stuck(1);
    worker.running().rescue();
    let steal = StealInfo {
        thief: 0,
        victim: 1,
        tasks: 2,
    };
    assert_eq!(steals.try_iter().collect::<Vec<_>>(), [steal]);
}

#[test]
fn a_worker_that_steals_from_a_stuck_one_wakes_another_worker() {
    let [worker, other] = two_workers();
    let wakes_and_steals = || {
        worker.lookout.set_stuck(1);
        let wakes = wakes_of(&worker, || worker.running().rescue());
        (wakes, worker.counters().steals.get())
    };
    assert_eq!(wakes_and_steals(), (0, 0), "its queue is empty");
    other.queues.push_beyond(task());
    assert_eq!(wakes_and_steals(), (1, 1));
}

#[test]
fn a_lookout_leaves_injected_tasks_to_active_workers_with_short_polls() {
    // Whether the task is taken.
    let taken = |poll_time, all_stuck, is_quiet| {
        let [worker, _other] = two_workers();
        let shared = worker.shared();
        shared.set_poll_time(poll_time);
        if is_quiet {
            (0..2).for_each(|_| shared.sleep.search());
        }
        shared.inject(task(), crate::registry::Lane::Normal);
        let view = View {
            now: Instant::now(),
            makes_progress: false,
            all_stuck,
        };
        worker.look_for_task(&view).is_some()
    };
    assert!(!taken(WORTH_A_STEAL - 1, false, false));
    assert!(taken(WORTH_A_STEAL, false, false));
    assert!(taken(0, true, false));
    assert!(taken(0, false, true));
}
