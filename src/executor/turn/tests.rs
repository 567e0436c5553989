//! What a worker takes next, and whether it tells the others, by counts of wake-ups and runs.

use alloc::vec::Vec;
use core::panic::Location;

use super::{INJECTOR_INTERVAL, RESCUE_INTERVAL};
use crate::executor::{
    registry::Lane,
    shared::WORTH_A_WAKE,
    task_builder::new_detached,
    tests::{task, two_workers, wakes_of},
    worker::Local,
    yield_now,
};

/// Whether a worker with this alone has something of its own, and something that is pinned.
fn has_alone(bring: impl FnOnce(&Local)) -> (bool, bool) {
    let [local, _other] = two_workers();
    bring(&local);
    (local.has_own(), local.has_pinned())
}

#[test]
fn one_task_in_any_queue_of_a_worker_is_its_own() {
    assert_eq!(has_alone(|_| {}), (false, false), "nothing");
    let queued = |lane| has_alone(|local| local.push(task(), lane));
    assert_eq!(queued(Lane::Normal), (true, false));
    assert_eq!(queued(Lane::High), (true, false));
    assert_eq!(queued(Lane::Pinned(0)), (true, true));
    assert_eq!(queued(Lane::Pinned(1)), (false, false), "of another");
    let injected = |lane| has_alone(|local| local.shared().inject(task(), lane));
    assert_eq!(injected(Lane::Normal), (false, false));
    assert_eq!(injected(Lane::High), (false, false));
    assert_eq!(injected(Lane::Pinned(0)), (true, true));
}

/// How many workers one wakes when it takes what is next, with this in the queues. It has runs until
/// the injector's turn before it, unless that `is_due`.
fn wakes_at_next(is_due: bool, own: &[Lane], injected: &[Lane]) -> u64 {
    let [local, _other] = two_workers();
    if !is_due {
        assert!(local.next().is_none(), "the first turn");
    }
    own.iter().for_each(|&lane| local.push(task(), lane));
    for &lane in injected {
        local.shared().inject(task(), lane);
    }
    wakes_of(&local, || assert!(local.next().is_some()))
}

const NORMAL: Lane = Lane::Normal;
const HIGH: Lane = Lane::High;
const PINNED: Lane = Lane::Pinned(0);

#[test]
fn who_takes_from_outside_wakes_another_for_what_it_leaves_or_brings_along() {
    for is_due in [true, false] {
        let wakes = |injected: &[Lane]| wakes_at_next(is_due, &[], injected);
        assert_eq!(wakes(&[NORMAL]), 0, "it is run at once");
        assert_eq!(wakes(&[NORMAL, NORMAL]), 1, "one is brought along");
        assert_eq!(wakes(&[HIGH, HIGH]), 1, "one is brought along");
        assert_eq!(wakes(&[HIGH, NORMAL]), 1, "one is left there, or both come");
    }
}

#[test]
fn who_takes_nothing_from_outside_in_its_turn_wakes_nobody() {
    assert_eq!(wakes_at_next(true, &[NORMAL], &[]), 0);
}

#[test]
fn who_brings_in_the_high_lane_in_its_turn_wakes_another_for_its_own_queue() {
    assert_eq!(wakes_at_next(true, &[NORMAL], &[HIGH]), 1);
}

#[test]
fn who_runs_a_pinned_task_in_its_turn_wakes_another_for_its_own_queue() {
    assert_eq!(wakes_at_next(true, &[NORMAL], &[PINNED]), 1);
    assert_eq!(wakes_at_next(true, &[], &[PINNED]), 0, "nothing is left");
}

/// In which of so many runs a busy worker takes over what is stuck behind another one's poll.
fn rescues(runs: u64, poll_time: usize) -> Vec<u64> {
    let [local, other] = two_workers();
    local.shared().set_poll_time(poll_time);
    local.lookout.set_stuck(other.index());
    let busy = async {
        loop {
            yield_now().await;
        }
    };
    local.push(new_detached(Location::caller(), busy), NORMAL);
    let takes_over = |_: &u64| {
        if other.normal.is_empty() {
            other.push(task(), NORMAL);
        }
        let before = local.counters().steals.get();
        local.run(local.next().expect("it is busy"));
        local.counters().steals.get() > before
    };
    (0..runs).filter(takes_over).collect()
}

#[test]
fn who_is_busy_looks_after_those_that_are_stuck_each_976_runs() {
    let interval = INJECTOR_INTERVAL * RESCUE_INTERVAL;
    assert_eq!(interval, 976, "so says the executor's documentation");
    let expected = [0, interval, 2 * interval];
    assert_eq!(rescues(2_000, WORTH_A_WAKE - 1), expected);
}

#[test]
fn who_is_busy_looks_after_those_that_are_stuck_each_61_runs_where_polls_are_long() {
    assert_eq!(rescues(130, WORTH_A_WAKE), [0, 61, 122]);
}
