//! Load buffering and thin air: what the axiom that `po ∪ rf` has no cycle is for, and what it
//! costs.

use axioms::{
    Model,
    Ordering::{self, AcqRel, Acquire, Relaxed, Release},
    Program, Register, Value, explore,
};

use crate::holds;

fn allows(program: &Program, model: Model, values: &[(Register, Value)]) -> bool {
    explore(program, model).iter().any(|end| holds(end, values))
}

/// LB: each thread loads one location and then stores to the other. May both load what the other
/// stores later?
fn load_buffering(model: Model, load: Ordering, store: Ordering) -> bool {
    let mut program = Program::new("LB");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    let mut side = |from, to| {
        program.thread("side", |code| {
            let seen = code.load(from, load);
            code.store(to, 1, store);
            seen
        })
    };
    let both = [(side(x, y), 1), (side(y, x), 1)];
    allows(&program, model, &both)
}

#[test]
fn load_buffering_is_what_the_axiom_decides() {
    assert!(!load_buffering(Model::Rc11, Relaxed, Relaxed));
    assert!(load_buffering(Model::Buffering, Relaxed, Relaxed));
}

/// One acquire and no release, or the other way round, makes no edge.
#[test]
fn load_buffering_is_ruled_out_by_acquire_and_release_without_the_axiom() {
    assert!(load_buffering(Model::Buffering, Acquire, Relaxed));
    assert!(load_buffering(Model::Buffering, Relaxed, Release));
    assert!(!load_buffering(Model::Buffering, Acquire, Release));
}

#[test]
fn load_buffering_is_ruled_out_by_fences_without_the_axiom() {
    let weak = |ordering| {
        let mut program = Program::new("LB+fences");
        let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
        let mut side = |from, to| {
            program.thread("side", |code| {
                let seen = code.load(from, Relaxed);
                code.fence(ordering);
                code.store(to, 1, Relaxed);
                seen
            })
        };
        let both = [(side(x, y), 1), (side(y, x), 1)];
        allows(&program, Model::Buffering, &both)
    };
    assert!(weak(Acquire) && weak(Release));
    assert!(!weak(AcqRel));
}

/// LB with an exchange: a thread copies a slot and then frees it. Another one uses it again once it
/// sees that it is free, by a load or by an exchange of its own.
#[test]
fn what_is_copied_before_its_slot_is_freed_needs_acquire_and_release_without_the_axiom() {
    let too_new = |model, free, see: fn(&mut axioms::Code<'_>, _, _) -> Register, seen| {
        let mut program = Program::new("LB+exchange");
        let (slot, head) = (program.atomic("slot", 0), program.atomic("head", 0));
        let copy = program.thread("thief", |code| {
            let copy = code.load(slot, Relaxed);
            code.fetch_add(head, 1, free);
            copy
        });
        program.thread("owner", |code| {
            let freed = see(code, head, seen);
            code.when(freed, 1, |code| code.store(slot, 7, Relaxed));
        });
        allows(&program, model, &[(copy, 7)])
    };
    let load = |code: &mut axioms::Code<'_>, head, order| code.load(head, order);
    let add = |code: &mut axioms::Code<'_>, head, order| code.fetch_add(head, 16, order);
    for see in [load, add] {
        assert!(too_new(Model::Buffering, Release, see, Relaxed));
        assert!(too_new(Model::Buffering, Relaxed, see, Acquire));
        assert!(!too_new(Model::Buffering, Release, see, Acquire));
        assert!(!too_new(Model::Rc11, Relaxed, see, Relaxed));
    }
}

/// Without the axiom both branches can be taken because both are taken: out of thin air. The axiom
/// forbids this and load buffering alike, because their graphs are the same.
#[test]
fn a_branch_that_is_its_own_cause_needs_the_axiom() {
    let mut program = Program::new("LB+ctrls");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    let mut side = |from, to| {
        program.thread("side", |code| {
            let seen = code.load(from, Relaxed);
            code.when(seen, 1, |code| code.store(to, 1, Relaxed));
            seen
        })
    };
    let both = [(side(x, y), 1), (side(y, x), 1)];
    assert!(!allows(&program, Model::Rc11, &both));
    assert!(allows(&program, Model::Buffering, &both));
}

/// LB+datas: two threads copy. A value that some thread really writes can, without the axiom, come
/// from the copies alone.
#[test]
fn a_copy_of_a_copy_needs_the_axiom() {
    let mut program = Program::new("LB+datas");
    let (x, y, z) = (
        program.atomic("x", 0),
        program.atomic("y", 0),
        program.atomic("z", 0),
    );
    let mut copy = |from, to| {
        program.thread("copy", |code| {
            let seen = code.load(from, Relaxed);
            code.store(to, seen, Relaxed);
            seen
        })
    };
    let (a, b) = (copy(x, y), copy(y, x));
    let c = program.thread("late", |code| {
        let seen = code.load(z, Relaxed);
        code.when(seen, 1, |code| code.store(x, 42, Relaxed));
        seen
    });
    let never = [(a, 42), (b, 42), (c, 0)];
    assert!(!allows(&program, Model::Rc11, &never));
    assert!(allows(&program, Model::Buffering, &never));
}

#[test]
fn a_value_passed_on_twice_arrives_also_with_the_axiom() {
    let mut program = Program::new("two copies");
    let (x, y, z) = (
        program.atomic("x", 0),
        program.atomic("y", 0),
        program.atomic("z", 0),
    );
    program.thread("writer", |code| code.store(x, 7, Relaxed));
    for (from, to) in [(x, y), (y, z)] {
        program.thread("copy", |code| {
            let seen = code.load(from, Relaxed);
            code.store(to, seen, Relaxed);
        });
    }
    let seen = program.thread("reader", |code| code.load(z, Relaxed));
    assert!(allows(&program, Model::Rc11, &[(seen, 7)]));
}
