//! Checks that the pictures of the lessons are the current output of the checkers.
//!
//! `JOINT_LESSONS_WRITE=1 cargo test --release --test lessons pictures` regenerates them.

use std::{fs, path::Path, process::Command};

use axioms::{
    Model, Ordering,
    completion::{Cell, judge},
    text,
};
use loom_tests::lab::Counterexample;

use crate::{
    branch, exchange, handshake, join::fails, kernel, leaving, mutex, race, sentinels, seq_cst,
    worker,
};

/// The four halves: the picture, and the cell of the matrix that shows it.
const HALVES: [(&str, [&str; 3]); 4] = [
    ("completer-release", ["result", "acquire", "acq_rel"]),
    ("waiter-acquire", ["result", "acq_rel", "release"]),
    ("waiter-release", ["waker", "acq_rel", "acquire"]),
    ("completer-acquire", ["waker", "release", "acq_rel"]),
];

fn lab(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_lab")).args(words).output();
    let output = output.expect("the lab is built with its tests");
    String::from_utf8(output.stdout).expect("the lab writes UTF-8")
}

/// Removes line numbers, because the source may change without the picture changing.
fn without_lines(text: &str) -> String {
    let mut parts = text.split(".rs:");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(".rs");
        out.push_str(part.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    }
    out
}

fn compare(file: &str, text: &str) {
    let text: String = without_lines(text)
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    let path = Path::new("../docs/lessons/pictures").join(file);
    if std::env::var_os("JOINT_LESSONS_WRITE").is_some() {
        fs::write(&path, &text).expect("the pictures can be written");
    }
    let old = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        old == text,
        "{file} should be as follows (JOINT_LESSONS_WRITE=1 writes it)\n{text}"
    );
}

fn compare_failure(name: &str, failure: &Counterexample) {
    compare(&format!("{name}.txt"), &failure.text());
    compare(&format!("{name}.svg"), &failure.svg(name));
}

#[test]
fn pictures_of_the_halves() {
    for (name, [published, completer, waiter]) in HALVES {
        let said = lab(&["cell", published, completer, waiter]);
        let parts: Vec<_> = said.split('\u{1e}').collect();
        compare(&format!("{name}.txt"), parts[3]);
        compare(&format!("{name}.svg"), parts[4]);
    }
}

#[test]
fn pictures_of_the_matrix() {
    let said = lab(&["matrix"]);
    let (matrix, _) = said.split_once("\n4 of 25 right").expect("four are right");
    compare("matrix.txt", matrix);
}

#[test]
fn pictures_of_the_second_checker() {
    let cell = Cell {
        completer: Ordering::AcqRel,
        waiter: Ordering::Release,
    };
    let verdict = judge(cell, Model::Rc11);
    let finding = &verdict.findings[0];
    let execution = &verdict.executions[finding.witness];
    compare(
        "axioms-waiter-acquire.txt",
        &text::lanes(&verdict.protocol.program, execution),
    );
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
