//! Two, three and four threads without fences: what acquire and release rule out, and what they do
//! not.

use axioms::{
    Ordering::{self, Acquire, Relaxed, Release},
    Program,
};

use crate::{allows, allows_values, races};

/// SB: each thread stores to one location and loads the other. May both load the old values?
pub(crate) fn store_buffering(store: Ordering, load: Ordering) -> bool {
    let mut program = Program::new("SB");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    let mut side = |own, other| {
        program.thread("side", |code| {
            code.store(own, 1, store);
            code.load(other, load)
        })
    };
    let (r1, r2) = (side(x, y), side(y, x));
    allows_values(&program, &[(r1, 0), (r2, 0)])
}

#[test]
fn store_buffering_is_allowed_short_of_seq_cst() {
    assert!(store_buffering(Relaxed, Relaxed));
    assert!(store_buffering(Release, Acquire));
}

/// MP: one thread stores the data and then the flag, another loads the flag and then the data. May
/// it see the flag alone?
fn message_passing(publish: Ordering, observe: Ordering) -> bool {
    let mut program = Program::new("MP");
    let (data, flag) = (program.atomic("data", 0), program.atomic("flag", 0));
    program.thread("writer", |code| {
        code.store(data, 1, Relaxed);
        code.store(flag, 1, publish);
    });
    let (seen, read) = program.thread("reader", |code| {
        (code.load(flag, observe), code.load(data, Relaxed))
    });
    allows_values(&program, &[(seen, 1), (read, 0)])
}

#[test]
fn message_passing_needs_both_release_and_acquire() {
    assert!(message_passing(Relaxed, Relaxed));
    assert!(message_passing(Release, Relaxed));
    assert!(message_passing(Relaxed, Acquire));
    assert!(!message_passing(Release, Acquire));
}

#[test]
fn plain_data_races_unless_the_message_is_passed() {
    for (publish, observe) in [(Relaxed, Relaxed), (Release, Relaxed), (Relaxed, Acquire)] {
        assert!(
            races(&plain_message(publish, observe)),
            "{publish}, {observe}"
        );
    }
    assert!(!races(&plain_message(Release, Acquire)));
}

pub(crate) fn plain_message(publish: Ordering, observe: Ordering) -> Program {
    let mut program = Program::new("MP+plain");
    let (data, flag) = (program.plain("data", 0), program.atomic("flag", 0));
    program.thread("writer", |code| {
        code.write(data, 1);
        code.store(flag, 1, publish);
    });
    program.thread("reader", |code| {
        let seen = code.load(flag, observe);
        code.when(seen, 1, |code| code.read(data));
    });
    program
}

#[test]
fn a_read_that_ignores_the_flag_races_in_spite_of_the_acquire() {
    let mut program = Program::new("MP without the branch");
    let (data, flag) = (program.plain("data", 0), program.atomic("flag", 0));
    program.thread("writer", |code| {
        code.write(data, 1);
        code.store(flag, 1, Release);
    });
    program.thread("reader", |code| (code.load(flag, Acquire), code.read(data)));
    assert!(races(&program));
}

/// S: message passing into a write, which may come before the first in modification order.
fn s(publish: Ordering, observe: Ordering) -> bool {
    let mut program = Program::new("S");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    program.thread("first", |code| {
        code.store(x, 2, Relaxed);
        code.store(y, 1, publish);
    });
    let seen = program.thread("second", |code| {
        let seen = code.load(y, observe);
        code.store(x, 1, Relaxed);
        seen
    });
    allows(&program, |end| {
        end.value(seen) == Some(1) && end.last(x) == 2
    })
}

#[test]
fn a_write_after_an_acquire_is_ordered_after_the_released_write() {
    assert!(s(Relaxed, Relaxed) && s(Release, Relaxed) && s(Relaxed, Acquire));
    assert!(!s(Release, Acquire));
}

/// WRC: a second thread passes on what it saw of the first. Does a third see it too?
fn write_to_read(first: (Ordering, Ordering), second: (Ordering, Ordering)) -> Program {
    let mut program = Program::new("WRC");
    let data = program.plain("data", 0);
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    program.thread("first", |code| {
        code.write(data, 1);
        code.store(x, 1, first.0);
    });
    program.thread("second", |code| {
        let seen = code.load(x, first.1);
        code.when(seen, 1, |code| code.store(y, 1, second.0));
    });
    program.thread("third", |code| {
        let seen = code.load(y, second.1);
        code.when(seen, 1, |code| code.read(data));
    });
    program
}

#[test]
fn causality_is_passed_on_if_each_link_is_a_release_and_an_acquire() {
    assert!(!races(&write_to_read(
        (Release, Acquire),
        (Release, Acquire)
    )));
    for weak in [(Relaxed, Acquire), (Release, Relaxed)] {
        assert!(races(&write_to_read(weak, (Release, Acquire))), "{weak:?}");
        assert!(races(&write_to_read((Release, Acquire), weak)), "{weak:?}");
    }
}

/// WRC on atomics alone: the first link may be relaxed, because coherence holds along
/// happens-before.
fn write_to_read_atomic(publish: Ordering, observe: Ordering) -> bool {
    let mut program = Program::new("WRC");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    program.thread("first", |code| code.store(x, 1, Relaxed));
    let a = program.thread("second", |code| {
        let seen = code.load(x, Relaxed);
        code.store(y, 1, publish);
        seen
    });
    let (b, c) = program.thread("third", |code| {
        (code.load(y, observe), code.load(x, Relaxed))
    });
    allows_values(&program, &[(a, 1), (b, 1), (c, 0)])
}

#[test]
fn a_value_read_before_a_release_is_visible_after_the_acquire() {
    assert!(write_to_read_atomic(Relaxed, Relaxed) && write_to_read_atomic(Release, Relaxed));
    assert!(!write_to_read_atomic(Release, Acquire));
}

/// ISA2: a message in two hops, over two flags.
fn two_hops(first: (Ordering, Ordering), second: (Ordering, Ordering)) -> bool {
    let mut program = Program::new("ISA2");
    let data = program.atomic("data", 0);
    let (y, z) = (program.atomic("y", 0), program.atomic("z", 0));
    program.thread("first", |code| {
        code.store(data, 1, Relaxed);
        code.store(y, 1, first.0);
    });
    let a = program.thread("second", |code| {
        let seen = code.load(y, first.1);
        code.store(z, 1, second.0);
        seen
    });
    let (b, c) = program.thread("third", |code| {
        (code.load(z, second.1), code.load(data, Relaxed))
    });
    allows_values(&program, &[(a, 1), (b, 1), (c, 0)])
}

#[test]
fn a_message_in_two_hops_needs_all_four_halves() {
    assert!(!two_hops((Release, Acquire), (Release, Acquire)));
    for weak in [(Relaxed, Acquire), (Release, Relaxed)] {
        assert!(two_hops(weak, (Release, Acquire)), "{weak:?}");
        assert!(two_hops((Release, Acquire), weak), "{weak:?}");
    }
}
