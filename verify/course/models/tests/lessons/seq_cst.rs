//! Lesson 6: what `SeqCst` would add, and to what.

use axioms::{
    Model, Ordering,
    completion::{Cell, judge},
};
use lessons::{
    name_thread, spawn,
    sync::atomic::{self, AtomicBool},
};
use std::sync::Arc;

use crate::{
    exercise::{Verdict, demand, exercise, none_is, operations, the_model},
    handshake::both_miss,
};

#[test]
fn the_completion_allows_the_same_executions() {
    let executions = |ordering: Ordering| {
        let cell = Cell {
            completer: ordering,
            waiter: ordering,
        };
        let verdict = judge(cell, Model::Rc11);
        assert!(verdict.is_right());
        verdict.executions.len()
    };
    assert_eq!(executions(Ordering::AcqRel), executions(Ordering::SeqCst));
}

// The exercise: who comes first takes the prize, and the other gets nothing.

/// A flag for each thread. They are down at first.
type Flags = [AtomicBool; 2];

/// Returns whether this thread, number 0 or 1, has taken the prize.
type Take = fn(&Flags, usize) -> bool;

fn take(flags: &Flags, me: usize) -> bool {
    flags[me].store(true, atomic::Ordering::Release);
    !flags[1 - me].load(atomic::Ordering::Acquire)
}

fn flags() -> Arc<Flags> {
    Arc::new(["flag 0", "flag 1"].map(|name| AtomicBool::new(false).named(name)))
}

fn check(take: Take) {
    let ours = flags();
    let theirs = ours.clone();
    name_thread("thread 0");
    let other = spawn("thread 1", move || take(&theirs, 1));
    let mine = take(&ours, 0);
    assert!(!(mine && other.join().unwrap()), "both have taken it");
}

fn judge_repair(take: Take) -> Verdict {
    for me in [0, 1] {
        demand("a thread that comes alone must get the prize", move || {
            let flags = flags();
            assert!(take(&flags, me));
            assert!(!take(&flags, 1 - me), "both have taken it");
        })?;
    }
    let operations = operations("takes", move || {
        let flags = flags();
        let takes = spawn("takes", move || take(&flags, 1));
        takes.join().unwrap();
    })?;
    none_is(
        &["SeqCst"],
        &operations,
        "the exercise asks for a repair without SeqCst",
    )?;
    the_model(
        "both threads take the prize",
        |failure| failure.message().contains("both have taken it"),
        move || check(take),
    )
}

pub(crate) fn with_two_flags() {
    check(take);
}

#[test]
fn exercise_6() {
    exercise(6, || judge_repair(take));
}

#[test]
fn one_order_of_all_places_is_what_two_flags_need() {
    use atomic::Ordering::{Acquire, Release, SeqCst};
    assert!(both_miss([(Release, None, Acquire); 2]));
    assert!(!both_miss([(SeqCst, None, SeqCst); 2]));
}

#[path = "solutions/seq_cst.rs"]
mod solution;
