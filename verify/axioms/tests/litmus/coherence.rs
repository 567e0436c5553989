//! One location alone behaves like one memory, however weak the accesses.

use axioms::{Ordering::Relaxed, Program, Register};

use crate::{allows, allows_values};

#[test]
fn corr_two_reads_of_one_thread_see_one_order() {
    let mut program = Program::new("CoRR");
    let x = program.atomic("x", 0);
    program.thread("writer", |code| code.store(x, 1, Relaxed));
    let (a, b) = program.thread("reader", |code| {
        (code.load(x, Relaxed), code.load(x, Relaxed))
    });
    assert!(allows_values(&program, &[(a, 0), (b, 1)]));
    assert!(!allows_values(&program, &[(a, 1), (b, 0)]));
}

#[test]
fn corr_two_readers_see_one_order() {
    let mut program = Program::new("CoRR2");
    let x = program.atomic("x", 0);
    for value in [1, 2] {
        program.thread("writer", |code| code.store(x, value, Relaxed));
    }
    let mut reader = || {
        program.thread("reader", |code| {
            (code.load(x, Relaxed), code.load(x, Relaxed))
        })
    };
    let ((a, b), (c, d)) = (reader(), reader());
    assert!(allows_values(&program, &[(a, 1), (b, 2), (c, 1), (d, 2)]));
    assert!(!allows_values(&program, &[(a, 1), (b, 2), (c, 2), (d, 1)]));
}

#[test]
fn coww_the_last_write_of_a_thread_stays() {
    let mut program = Program::new("CoWW");
    let x = program.atomic("x", 0);
    program.thread("writer", |code| {
        code.store(x, 1, Relaxed);
        code.store(x, 2, Relaxed);
    });
    assert!(allows(&program, |end| end.last(x) == 2));
    assert!(!allows(&program, |end| end.last(x) == 1));
}

#[test]
fn corw1_a_read_does_not_see_its_own_threads_later_write() {
    let mut program = Program::new("CoRW1");
    let x = program.atomic("x", 0);
    let seen = program.thread("thread", |code| {
        let seen = code.load(x, Relaxed);
        code.store(x, 1, Relaxed);
        seen
    });
    assert!(!allows_values(&program, &[(seen, 1)]));
}

/// One thread stores 1 to `x`; the other does what `first` and then `second` say, one of which
/// stores 2.
fn against_one_store(
    write: impl FnOnce(&mut axioms::Code<'_>, axioms::Location) -> Register,
) -> (Program, axioms::Location, Register) {
    let mut program = Program::new("Co");
    let x = program.atomic("x", 0);
    program.thread("other", |code| code.store(x, 1, Relaxed));
    let seen = program.thread("thread", |code| write(code, x));
    (program, x, seen)
}

#[test]
fn corw2_a_write_is_ordered_after_the_write_that_its_thread_has_read() {
    let (program, x, seen) = against_one_store(|code, x| {
        let seen = code.load(x, Relaxed);
        code.store(x, 2, Relaxed);
        seen
    });
    assert!(allows(&program, |end| end.value(seen) == Some(1)
        && end.last(x) == 2));
    assert!(!allows(&program, |end| end.value(seen) == Some(1)
        && end.last(x) == 1));
}

#[test]
fn cowr_a_read_does_not_see_what_came_before_its_own_threads_write() {
    let (program, x, seen) = against_one_store(|code, x| {
        code.store(x, 2, Relaxed);
        code.load(x, Relaxed)
    });
    assert!(!allows_values(&program, &[(seen, 0)]));
    assert!(allows(&program, |end| end.value(seen) == Some(1)
        && end.last(x) == 1));
    assert!(!allows(&program, |end| end.value(seen) == Some(1)
        && end.last(x) == 2));
}
