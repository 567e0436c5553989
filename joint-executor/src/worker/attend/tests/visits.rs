//! Which worker leaves the driver to which other worker, at times that the test sets.

use crate::{
    driver::clock,
    worker::{
        attend::{SOON, is_visited_beside},
        harness::*,
    },
};

#[test]
fn a_visitor_is_expected_again_unless_it_stayed_away() {
    let [worker, _other] = two_workers();
    let until = || worker.counters().visits_until.get();
    let start = 10 * SOON;
    worker.attendant.visit(&worker, start);
    assert_eq!(until(), 0, "the first visit");
    worker.attendant.visit(&worker, start + SOON);
    assert_eq!(until(), start + 2 * SOON);
    worker.attendant.visit(&worker, start + 2 * SOON);
    assert_eq!(until(), start + 3 * SOON);
    worker.attendant.visit(&worker, start + 3 * SOON + 1);
    assert_eq!(until(), 0, "it was away for too long");
}

/// However long it was parked there.
#[test]
fn a_keeper_that_leaves_is_expected_again_if_it_was_before() {
    let [worker, _other] = two_workers();
    let until = &worker.counters().visits_until;
    let rise = || {
        worker
            .attendant
            .attend_as_keeper(&worker.running(), Vec::new())
    };
    rise();
    assert_eq!(until.get(), 0);
    until.set(1);
    let now = clock::now();
    rise();
    assert!(until.get() >= now + SOON);
    assert!(worker.attendant.last_visit.get() >= now);
}

#[test]
fn only_the_visits_of_others_count_and_for_how_long_one_may_say() {
    let [worker, other] = two_workers();
    let is_visited =
        |ago| is_visited_beside(worker.shared(), worker.index(), Duration::from_nanos(ago));
    assert!(!is_visited(u64::MAX));
    worker.counters().visits_until.set(clock::NEVER);
    assert!(!is_visited(u64::MAX), "its own");
    let now = clock::now() + 1;
    other.counters().visits_until.set(now);
    while clock::now() <= now {}
    assert!(!is_visited(0) && is_visited(u64::MAX));
    other.counters().visits_until.set(clock::NEVER);
    assert!(is_visited(0));
}
