//! Checks that the pictures of the lessons are the current output of the checkers. The program
//! `lab` of the models has those of the matrix.

use axioms::{
    Execution, Model, Ordering,
    completion::{Cell, judge},
    explore,
    language::{Typed, parse},
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

/// The program of the rule of exchanges with another text in one place, and what it must never do.
fn broken_chain(from: &str, to: &str) -> (Typed, Option<Execution>) {
    let text = include_str!("../../../lessons/pictures/chain-program.txt");
    assert!(text.contains(from));
    let typed = parse(&text.replace(from, to)).unwrap();
    let all = explore(&typed.program, Model::Rc11);
    let is_broken = |one: &Execution| typed.never[0].is_broken_by(one);
    let broken = all.into_iter().find(is_broken);
    (typed, broken)
}

#[test]
fn the_rule_of_exchanges_needs_what_the_lesson_says() {
    // It stores 2 only after it has seen 1, so that `first` comes before both.
    let store = "old = word.load(Relaxed)\nif old == 1 {\nword.store(2, Relaxed)\n}";
    let between = "word.fetch_add(1, Relaxed)";
    assert!(broken_chain(between, between).1.is_none());
    for (from, to) in [("word.fetch_add(1, Release)", between), (between, store)] {
        assert!(broken_chain(from, to).1.is_some(), "{to}");
    }
    let (typed, broken) = broken_chain("Acquire", "Relaxed");
    let lanes = text::lanes(&typed.program, &broken.unwrap());
    compare("axioms-chain.txt", &lanes);
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
