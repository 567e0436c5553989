//! Checks that the pictures of the lessons are the current output of the checkers. `lab_matrix` has
//! those of the matrix.

use axioms::{
    Model, Ordering,
    completion::{Cell, judge},
    text,
};
use lessons::Counterexample;

use crate::{
    branch, compare::compare, exchange, handshake, join::fails, kernel, leaving, mutex, race,
    sentinels, seq_cst, worker,
};

fn compare_failure(name: &str, failure: &Counterexample) {
    compare(&format!("{name}.txt"), &failure.text());
    compare(&format!("{name}.svg"), &failure.svg(name));
}

#[test]
fn pictures_of_the_second_checker() {
    for (name, completer, waiter) in [
        ("waiter", Ordering::AcqRel, Ordering::Release),
        ("completer", Ordering::Release, Ordering::AcqRel),
    ] {
        let verdict = judge(Cell { completer, waiter }, Model::Rc11);
        let finding = &verdict.findings[0];
        let execution = &verdict.executions[finding.witness];
        compare(
            &format!("axioms-{name}-acquire.txt"),
            &text::lanes(&verdict.protocol.program, execution),
        );
    }
}

#[test]
fn pictures_of_the_exercises() {
    compare_failure("race", &fails(race::the_race));
    compare_failure("under-the-lock", &fails(mutex::under_the_lock));
    compare_failure("load-and-store", &fails(sentinels::load_and_store));
    compare_failure("forgotten", &fails(exchange::forgets));
    compare_failure("two-flags", &fails(seq_cst::with_two_flags));
    compare_failure("missed-push", &worker::missed());
}

#[test]
fn pictures_of_the_branch() {
    compare_failure("branch", &fails(branch::the_branch));
}

#[test]
fn pictures_of_the_handshake() {
    compare_failure("handshake", &fails(handshake::without_fences));
}

#[test]
fn pictures_of_leaving() {
    compare_failure("leaving", &fails(leaving::with_the_hook));
    compare_failure("kernel", &fails(kernel::cancelled_and_freed));
}
