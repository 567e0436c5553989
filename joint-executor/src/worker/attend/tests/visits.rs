//! Which worker leaves the driver to which other worker, at times that the test sets.

use crate::{
    driver::clock,
    worker::{attend::SOON, harness::*},
};

#[test]
fn a_visitor_is_expected_again_unless_it_stayed_away() {
    let [worker, _other] = two_workers();
    let until = || worker.counters().visits_until.get();
    let start = clock::now() + 10 * SOON;
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
