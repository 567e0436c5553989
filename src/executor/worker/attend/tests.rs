//! Whose timers a worker fires, and when, by counts.

use alloc::{sync::Arc, task::Wake};
use core::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    task::Waker,
};

use super::{Attended, BATCHES, LOOK_INTERVAL};
use crate::executor::{
    driver::clock,
    worker::{
        Worker,
        harness::{two_workers, wakes_of},
    },
};

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Arms timers of one of the three owners: the two workers, and all other threads.
fn arm(worker: &Worker, owner: usize, deadline: u64, wakes: &Arc<Wakes>) {
    let shared = worker.shared();
    let waker = Waker::from(wakes.clone());
    let armed = shared.driver.timers(owner).insert(deadline, waker);
    assert!(armed.is_ok());
    shared.driver.hurry(deadline, &shared.sleep, || {});
}

#[test]
fn with_nothing_to_run_a_worker_fires_what_is_due_anywhere_and_says_so() {
    let [worker, _other] = two_workers();
    let wakes = Arc::new(Wakes::default());
    assert_eq!(
        worker.attend(),
        Attended::FoundNothing,
        "the driver was never used"
    );
    arm(&worker, 0, clock::NEVER - 1, &wakes);
    assert_eq!(
        worker.attend(),
        Attended::FoundNothing,
        "the timer is not due"
    );
    for owner in 0..3 {
        arm(&worker, owner, 0, &wakes);
        assert_eq!(worker.attend(), Attended::WokeTasks);
        assert_eq!(wakes.0.load(Relaxed), owner + 1);
        assert_eq!(
            worker.attend(),
            Attended::FoundNothing,
            "the timer has fired"
        );
    }
}

#[test]
fn in_its_turn_a_worker_fires_its_own_and_those_of_the_others_one_after_the_other() {
    let [worker, _other] = two_workers();
    let (own, others) = (Arc::new(Wakes::default()), Arc::new(Wakes::default()));
    worker.attend_in_turn();
    for turn in 0..4 {
        arm(&worker, 0, 0, &own);
        arm(&worker, 1, 0, &others);
        arm(&worker, 2, 0, &others);
        let before = others.0.load(Relaxed);
        worker.attend_in_turn();
        assert_eq!(
            own.0.load(Relaxed),
            turn + 1,
            "its own timers are checked each time"
        );
        // The timers of each other owner are checked every three turns, and by then there are as
        // many as turns.
        let fired = others.0.load(Relaxed) - before;
        assert_eq!(fired, [0, 2, 3, 0][turn], "turn {turn}");
    }
}

#[test]
fn what_is_fired_at_once_is_bounded() {
    let [worker, _other] = two_workers();
    let wakes = Arc::new(Wakes::default());
    const BATCH: usize = 64;
    for _ in 0..(BATCHES + 1) * BATCH {
        arm(&worker, 1, 0, &wakes);
    }
    assert_eq!(worker.attend(), Attended::WokeTasks);
    assert_eq!(wakes.0.load(Relaxed), BATCHES * BATCH);
    assert_eq!(worker.attend(), Attended::WokeTasks);
    assert_eq!(wakes.0.load(Relaxed), (BATCHES + 1) * BATCH);
}

#[test]
fn in_its_turn_a_worker_asks_the_system_not_before_an_interval_has_passed() {
    let [worker, _other] = two_workers();
    arm(&worker, 0, clock::NEVER - 1, &Arc::default());
    let next_look = &worker.attendant.next_look;
    let before = clock::now();
    worker.attend_in_turn();
    let after = clock::now();
    let next = next_look.get();
    assert!((before + LOOK_INTERVAL..=after + LOOK_INTERVAL).contains(&next));
    next_look.set(clock::NEVER);
    worker.attend_in_turn();
    assert_eq!(next_look.get(), clock::NEVER, "it is too early for a look");
}

#[test]
fn the_driver_is_left_where_polls_are_long_and_where_there_is_no_reserve() {
    let [worker, _other] = two_workers();
    let driver = &worker.shared().driver;
    assert!(
        !worker.leaves_driver() && driver.reserve().is_none(),
        "the driver was never used"
    );
    arm(&worker, 0, clock::NEVER - 1, &Arc::default());
    assert!(worker.leaves_driver());
    let reserve = driver.reserve();
    assert!(
        reserve.is_some() && driver.reserve().is_none(),
        "there is one reserve at a time"
    );
    assert!(!worker.leaves_driver());
    worker.shared().set_poll_time(usize::MAX);
    assert!(worker.leaves_driver());
    worker.shared().set_poll_time(0);
    assert!(!worker.leaves_driver());
    drop(reserve);
    assert!(worker.leaves_driver());
}

#[test]
fn a_worker_with_a_deadline_wakes_another_where_it_would_leave_the_driver() {
    let [worker, _other] = two_workers();
    arm(&worker, 0, clock::NEVER - 1, &Arc::default());
    let hurry = || worker.as_current(|| worker.shared().hurry_driver(0, Some(&worker)));
    assert_eq!(wakes_of(&worker, hurry), 1);
    let _reserve = worker.shared().driver.reserve();
    assert_eq!(wakes_of(&worker, hurry), 0);
}
