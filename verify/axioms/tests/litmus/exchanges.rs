//! Exchanges: atomicity, and release sequences as C++20 has them.

use axioms::{
    Code, Location,
    Ordering::{self, AcqRel, Acquire, Relaxed, Release},
    Program,
};

use crate::{allows, allows_values, races};

#[test]
fn two_additions_read_distinct_values() {
    let mut program = Program::new("2 additions");
    let x = program.atomic("x", 0);
    let mut add = || program.thread("adder", |code| code.fetch_add(x, 1, Relaxed));
    let (a, b) = (add(), add());
    assert!(allows_values(&program, &[(a, 0), (b, 1)]));
    assert!(allows_values(&program, &[(a, 1), (b, 0)]));
    assert!(!allows(&program, |end| end.value(a) == end.value(b)));
    assert!(!allows(&program, |end| end.last(x) != 2), "nothing is lost");
}

#[test]
fn a_load_and_a_store_are_no_addition() {
    let mut program = Program::new("2 lost updates");
    let x = program.atomic("x", 0);
    for _ in 0..2 {
        program.thread("loser", |code| {
            let seen = code.load(x, Relaxed);
            code.branch(
                seen,
                0,
                |code| code.store(x, 1, Relaxed),
                |code| code.store(x, 2, Relaxed),
            );
        });
    }
    assert!(allows(&program, |end| end.last(x) == 1) && allows(&program, |end| end.last(x) == 2));
}

#[test]
fn an_exchange_and_a_store_never_come_between_an_exchange_and_what_it_read() {
    let mut program = Program::new("swap against store");
    let x = program.atomic("x", 0);
    let old = program.thread("swapper", |code| code.swap(x, 1, Relaxed));
    program.thread("writer", |code| code.store(x, 2, Relaxed));
    assert!(allows(&program, |end| end.value(old) == Some(0)
        && end.last(x) == 2));
    assert!(allows(&program, |end| end.value(old) == Some(2)
        && end.last(x) == 1));
    assert!(!allows(&program, |end| end.value(old) == Some(0)
        && end.last(x) == 1));
}

#[test]
fn three_swaps_hand_each_value_on_once() {
    let mut program = Program::new("3 swaps");
    let x = program.atomic("x", 0);
    let mut swap = |value| program.thread("swapper", |code| code.swap(x, value, Relaxed));
    let all = [swap(1), swap(2), swap(3)];
    let ends = axioms::explore(&program, axioms::Model::Rc11);
    assert_eq!(ends.len(), 6, "one for each order of three");
    for end in ends {
        let mut values: Vec<_> = all.iter().map(|&register| end.value(register)).collect();
        values.push(Some(end.last(x)));
        values.sort_unstable();
        assert_eq!(values, [Some(0), Some(1), Some(2), Some(3)]);
    }
}

/// An operation of a thread on a location.
type Part<'p> = &'p dyn Fn(&mut Code<'_>, Location);

/// A thread publishes data by `x = 1`, others do something with `x`, and the reader takes the data
/// if it acquires 5 from `x`.
fn sequence(others: &[Part<'_>], own: Part<'_>) -> Program {
    let mut program = Program::new("release sequence");
    let (data, x) = (program.plain("data", 0), program.atomic("x", 0));
    program.thread("writer", |code| {
        code.write(data, 1);
        code.store(x, 1, Release);
        own(code, x);
    });
    for other in others {
        program.thread("other", |code| other(code, x));
    }
    program.thread("reader", |code| {
        let seen = code.load(x, Acquire);
        code.when(seen, 5, |code| code.read(data));
    });
    program
}

fn nothing(_: &mut Code<'_>, _: Location) {}

/// Swaps 5 in if 1 was there: here by an addition, which makes 5 of 1 alone.
fn add_4(code: &mut Code<'_>, x: Location) {
    code.fetch_add(x, 4, Relaxed);
}

#[test]
fn an_exchange_of_any_thread_and_any_ordering_continues_a_release_sequence() {
    assert!(!races(&sequence(&[&add_4], &nothing)));
    let add_2 = |code: &mut Code<'_>, x| {
        code.fetch_add(x, 2, Relaxed);
    };
    assert!(
        !races(&sequence(&[&add_2, &add_2], &nothing)),
        "and so does one after the other"
    );
}

#[test]
fn a_store_of_another_thread_breaks_a_release_sequence() {
    let store = |code: &mut Code<'_>, x| {
        let seen = code.load(x, Relaxed);
        code.when(seen, 1, |code| code.store(x, 5, Relaxed));
    };
    assert!(races(&sequence(&[&store], &nothing)));
}

/// Up to C++17 it continued one. C++20 follows *P0982R1: Weaken Release Sequences*.
#[test]
fn a_relaxed_store_of_the_same_thread_breaks_a_release_sequence_since_cpp20() {
    assert!(races(&sequence(&[], &|code, x| code.store(x, 5, Relaxed))));
    assert!(!races(&sequence(&[], &|code, x| code.store(x, 5, Release))));
}

#[test]
fn an_exchange_after_a_break_does_not_mend_a_release_sequence() {
    let store = |code: &mut Code<'_>, x| {
        let seen = code.load(x, Relaxed);
        code.when(seen, 1, |code| code.store(x, 2, Relaxed));
    };
    let add_3 = |code: &mut Code<'_>, x| {
        code.fetch_add(x, 3, Relaxed);
    };
    assert!(races(&sequence(&[&store, &add_3], &nothing)));
}

/// Message passing through exchanges on both sides, as the completion does it.
fn swaps(publish: Ordering, observe: Ordering) -> bool {
    let mut program = Program::new("MP+swaps");
    let (data, flag) = (program.plain("data", 0), program.atomic("flag", 0));
    program.thread("writer", |code| {
        code.write(data, 1);
        code.swap(flag, 1, publish);
    });
    program.thread("reader", |code| {
        let seen = code.swap(flag, 2, observe);
        code.when(seen, 1, |code| code.read(data));
    });
    races(&program)
}

#[test]
fn each_half_of_an_exchange_does_its_own_part() {
    for publish in Ordering::ALL {
        for observe in Ordering::ALL {
            let passes = matches!(publish, Release | AcqRel | Ordering::SeqCst)
                && matches!(observe, Acquire | AcqRel | Ordering::SeqCst);
            assert_eq!(swaps(publish, observe), !passes, "{publish}, {observe}");
        }
    }
}
