//! Outcomes that only `SeqCst` rules out, and those that not even it does.

use axioms::{
    Model,
    Ordering::{self, Acquire, Relaxed, Release, SeqCst},
    Program, explore,
};

use crate::{allows, allows_values, shapes::store_buffering};

#[test]
fn store_buffering_needs_all_four_accesses_seq_cst() {
    assert!(!store_buffering(SeqCst, SeqCst));
    assert!(
        store_buffering(SeqCst, Acquire),
        "the loads take part, or nothing is won"
    );
    assert!(store_buffering(SeqCst, Relaxed));
    assert!(store_buffering(Release, SeqCst), "and so do the stores");
}

/// Two exchanges instead of the stores order nothing between two locations, though x86 runs them as
/// full fences.
#[test]
fn store_buffering_with_exchanges_needs_seq_cst_too() {
    let weak = |ordering, load| {
        let mut program = Program::new("SB+swaps");
        let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
        let mut side = |own, other| {
            program.thread("side", |code| {
                code.swap(own, 1, ordering);
                code.load(other, load)
            })
        };
        let (r1, r2) = (side(x, y), side(y, x));
        allows_values(&program, &[(r1, 0), (r2, 0)])
    };
    assert!(weak(Ordering::AcqRel, Acquire));
    assert!(!weak(SeqCst, SeqCst));
}

/// IRIW: two threads load two locations, which two others store to, in opposite orders. May they
/// disagree about which store came first?
fn independent_reads(store: Ordering, load: Ordering) -> bool {
    let mut program = Program::new("IRIW");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    for location in [x, y] {
        program.thread("writer", |code| code.store(location, 1, store));
    }
    let mut reader = |first, second| {
        program.thread("reader", |code| {
            (code.load(first, load), code.load(second, load))
        })
    };
    let ((a, b), (c, d)) = (reader(x, y), reader(y, x));
    allows_values(&program, &[(a, 1), (b, 0), (c, 1), (d, 0)])
}

#[test]
fn readers_may_disagree_about_independent_writes_short_of_seq_cst() {
    assert!(independent_reads(Relaxed, Relaxed));
    assert!(
        independent_reads(Release, Acquire),
        "acquire and release know no order of all writes"
    );
    assert!(independent_reads(SeqCst, Acquire));
    assert!(!independent_reads(SeqCst, SeqCst));
}

/// 2+2W: each thread writes both locations, in opposite orders. May each location keep what was
/// written to it first?
fn two_writes_each(store: Ordering) -> bool {
    let mut program = Program::new("2+2W");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    for (first, second) in [(x, y), (y, x)] {
        program.thread("writer", |code| {
            code.store(first, 1, store);
            code.store(second, 2, store);
        });
    }
    allows(&program, |end| end.last(x) == 1 && end.last(y) == 1)
}

#[test]
fn two_writes_each_are_ordered_by_seq_cst_alone() {
    assert!(two_writes_each(Relaxed) && two_writes_each(Release));
    assert!(!two_writes_each(SeqCst));
}

/// R: a write that loses against another thread's, and a read that misses that thread's first.
fn r(store: Ordering, load: Ordering) -> bool {
    let mut program = Program::new("R");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    program.thread("first", |code| {
        code.store(x, 1, store);
        code.store(y, 1, store);
    });
    let seen = program.thread("second", |code| {
        code.store(y, 2, store);
        code.load(x, load)
    });
    allows(&program, |end| {
        end.last(y) == 2 && end.value(seen) == Some(0)
    })
}

#[test]
fn a_write_and_a_read_are_ordered_by_seq_cst_alone() {
    assert!(r(Relaxed, Relaxed) && r(Release, Acquire));
    assert!(!r(SeqCst, SeqCst));
}

/// RWC: a reader that has seen one thread's write, and another writer that has not, miss each
/// other.
fn read_to_write(store: Ordering, load: Ordering) -> bool {
    let mut program = Program::new("RWC");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    program.thread("first", |code| code.store(x, 1, store));
    let (a, b) = program.thread("second", |code| (code.load(x, load), code.load(y, load)));
    let c = program.thread("third", |code| {
        code.store(y, 1, store);
        code.load(x, load)
    });
    allows_values(&program, &[(a, 1), (b, 0), (c, 0)])
}

#[test]
fn read_to_write_causality_needs_seq_cst() {
    assert!(read_to_write(Relaxed, Relaxed) && read_to_write(Release, Acquire));
    assert!(!read_to_write(SeqCst, SeqCst));
}

/// Z6.U (RC11): forbidden by C11 as it was, observable on POWER, so allowed by RC11. The exchange
/// is `SeqCst` as well, but what was released to it is not, and happens-before alone orders no
/// `SeqCst` events of two locations.
#[test]
fn happens_before_through_weaker_accesses_does_not_order_seq_cst_ones() {
    let mut program = Program::new("Z6.U");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    program.thread("first", |code| {
        code.store(x, 1, SeqCst);
        code.store(y, 1, Release);
    });
    let (b, c) = program.thread("second", |code| {
        (code.fetch_add(y, 1, SeqCst), code.load(y, Relaxed))
    });
    let a = program.thread("third", |code| {
        code.store(y, 3, SeqCst);
        code.load(x, SeqCst)
    });
    let weak = [(b, 1), (c, 3), (a, 0)];
    assert!(allows_values(&program, &weak));
    let turns = explore(&program, Model::Interleaving);
    assert!(
        !turns.iter().any(|end| crate::holds(end, &weak)),
        "no interleaving explains it"
    );
}

/// Here the path from one `SeqCst` event to the other begins and ends with program order to another
/// location. RC11 keeps that.
#[test]
fn happens_before_between_other_locations_does_order_seq_cst_accesses() {
    let mut program = Program::new("SB+ra hop");
    let (x, y, z) = (
        program.atomic("x", 0),
        program.atomic("y", 0),
        program.atomic("z", 0),
    );
    program.thread("first", |code| {
        code.store(x, 1, SeqCst);
        code.store(z, 1, Release);
    });
    let (seen, a) = program.thread("second", |code| {
        (code.load(z, Acquire), code.load(y, SeqCst))
    });
    let b = program.thread("third", |code| {
        code.store(y, 1, SeqCst);
        code.load(x, SeqCst)
    });
    assert!(!allows_values(&program, &[(seen, 1), (a, 0), (b, 0)]));
}
