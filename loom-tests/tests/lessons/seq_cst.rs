//! Lesson 6: what `SeqCst` would add, and to what.

use axioms::{
    Execution, Model, Ordering, Program,
    completion::{Cell, judge},
    explore,
};
use loom_tests::lab::{
    sync::atomic::{self, AtomicBool},
    thread,
};
use std::sync::Arc;

use crate::join::{fails, passes};

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

struct TwoFlags([AtomicBool; 2]);

impl TwoFlags {
    fn take(&self, me: usize) -> bool {
        self.0[me].store(true, atomic::Ordering::Release);
        !self.0[1 - me].load(atomic::Ordering::Acquire)
    }
}

struct OneWord(AtomicBool);

impl OneWord {
    fn take(&self, _me: usize) -> bool {
        !self.0.swap(true, atomic::Ordering::AcqRel)
    }
}

fn check<T: Send + Sync + 'static>(prize: T, take: fn(&T, usize) -> bool) {
    let prize = Arc::new(prize);
    let others = prize.clone();
    let other = thread::spawn(move || take(&others, 1));
    let mine = take(&prize, 0);
    assert!(!(mine && other.join().unwrap()), "both have taken it");
}

#[test]
fn exercise_6_fails() {
    let failure = fails(|| {
        let flags = [AtomicBool::new(false), AtomicBool::new(false)];
        check(TwoFlags(flags), TwoFlags::take);
    });
    assert!(failure.message().contains("both have taken it"));
}

struct TwoFlagsInOneOrder([AtomicBool; 2]);

impl TwoFlagsInOneOrder {
    fn take(&self, me: usize) -> bool {
        self.0[me].store(true, atomic::Ordering::SeqCst);
        !self.0[1 - me].load(atomic::Ordering::SeqCst)
    }
}

/// Whether both can take the prize, according to the second checker.
fn both_take_it(store: Ordering, load: Ordering) -> bool {
    let mut program = Program::new("two flags");
    let flags = [program.atomic("mine", 0), program.atomic("yours", 0)];
    let seen = [0, 1].map(|me| {
        program.thread(["I", "you"][me], |code| {
            code.store(flags[me], 1, store);
            code.load(flags[1 - me], load)
        })
    });
    let executions = explore(&program, Model::Rc11);
    let misses = |execution: &Execution| seen.iter().all(|&flag| execution.value(flag) == Some(0));
    executions.iter().any(misses)
}

#[test]
fn one_order_of_all_places_is_what_two_flags_need() {
    assert!(both_take_it(Ordering::Release, Ordering::Acquire));
    assert!(!both_take_it(Ordering::SeqCst, Ordering::SeqCst));
}

/// loom does not know the order of `SeqCst` loads and stores, so a correct program fails.
#[test]
fn loom_takes_seq_cst_accesses_for_weaker_ones() {
    fails(|| {
        let flags = [AtomicBool::new(false), AtomicBool::new(false)];
        check(TwoFlagsInOneOrder(flags), TwoFlagsInOneOrder::take);
    });
}

#[test]
fn exercise_6_solved() {
    passes(|| check(OneWord(AtomicBool::new(false)), OneWord::take));
}
