//! Programs that make no sense are rejected where they are written; and the remaining facts about
//! an execution.

use std::panic;

use axioms::{
    Code, Model,
    Ordering::{Acquire, Relaxed, Release},
    Program, explore,
};

use crate::notation::Litmus;

/// Returns the panic message when a thread with an atomic and a plain location is written like this
/// and explored.
fn refused(write: impl Fn(&mut Code<'_>, axioms::Location, axioms::Location)) -> String {
    let panicked = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        let mut program = Program::new("refused");
        let (x, a) = (program.atomic("x", 0), program.plain("a", 0));
        program.thread("thread", |code| write(code, x, a));
        explore(&program, Model::Rc11)
    }));
    let payload = panicked.expect_err("it is refused");
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| {
        payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
    })
    .unwrap_or_default()
}

#[test]
fn an_ordering_that_an_operation_has_not_is_refused() {
    assert!(
        refused(|code, x, _| {
            code.load(x, Release);
        })
        .contains("not release")
    );
    assert!(refused(|code, x, _| code.store(x, 1, Acquire)).contains("not acquire"));
    assert!(refused(|code, _, _| code.fence(Relaxed)).contains("orders nothing"));
}

#[test]
fn mixed_atomic_and_plain_accesses_of_a_location_are_rejected() {
    assert!(
        refused(|code, x, _| {
            code.read(x);
        })
        .contains("x: accesses are all")
    );
    assert!(
        refused(|code, _, a| {
            code.swap(a, 1, Relaxed);
        })
        .contains("a: accesses are all")
    );
}

#[test]
fn a_register_that_nothing_has_filled_is_refused() {
    let unfilled = refused(|code, x, _| {
        let seen = code.load(x, Relaxed);
        let never = code.when(seen, 1, |code| code.load(x, Relaxed));
        code.store(x, never, Relaxed);
    });
    assert!(unfilled.contains("where it has been filled"), "{unfilled}");
}

#[test]
fn more_events_than_a_row_of_bits_holds_are_refused() {
    let many = refused(|code, x, _| (0..70).for_each(|_| code.store(x, 1, Relaxed)));
    assert!(many.contains("more than 64 events"), "{many}");
}

#[test]
fn a_program_without_threads_has_one_execution() {
    let mut program = Program::new("empty");
    let x = program.atomic("x", 7);
    let all = explore(&program, Model::Rc11);
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].last(x), all[0].writes(x).len()), (7, 1));
    assert!(all[0].is_interleaving() && all[0].timeline().is_empty());
}

#[test]
fn both_branches_run_where_the_register_says_so() {
    let mut program = Program::new("branches");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    program.thread("other", |code| code.store(x, 1, Relaxed));
    let (seen, then, otherwise) = program.thread("thread", |code| {
        let seen = code.load(x, Relaxed);
        let load = |code: &mut Code<'_>| code.load(y, Relaxed);
        let (then, otherwise) = code.branch(seen, 1, load, load);
        (seen, then, otherwise)
    });
    let all = explore(&program, Model::Rc11);
    assert_eq!(all.len(), 2);
    for end in all {
        let is_one = end.value(seen) == Some(1);
        assert_eq!(
            (end.value(then).is_some(), end.value(otherwise).is_some()),
            (is_one, !is_one)
        );
    }
}

/// Two writers race, too, exactly once. An initial value never races.
#[test]
fn two_plain_writes_race_once() {
    let mut program = Program::new("two writers");
    let a = program.plain("a", 0);
    for value in [1, 2] {
        program.thread("writer", |code| code.write(a, value));
    }
    let all = explore(&program, Model::Rc11);
    assert_eq!(all.len(), 2, "one for each order");
    for end in all {
        let [race] = end.races() else {
            panic!("{:?}", end.races())
        };
        assert_eq!((race.location, race.write, race.other), (a, 1, 2));
        assert_eq!(
            end.missing_edges(race),
            [],
            "neither has seen anything of the other"
        );
    }
}

/// Which halves of its edge a message over relaxed accesses lacks: release, acquire.
fn lacks(text: &str) -> Option<[bool; 2]> {
    let program = Litmus::new("halves", text, &[]).program;
    let all = explore(&program, Model::Rc11);
    let racy = all.iter().find(|end| !end.races().is_empty())?;
    let [missing] = racy.missing_edges(&racy.races()[0])[..] else {
        panic!("one edge")
    };
    Some([missing.lacks_release, missing.lacks_acquire])
}

#[test]
fn a_fence_counts_as_a_half_between_the_two_accesses_only() {
    for (text, halves) in [
        ("D=1; x=1 | a=x; if a=1: b=D", Some([true, true])),
        ("D=1; F.rel; x=1 | a=x; if a=1: b=D", Some([false, true])),
        ("D=1; x=1 | a=x; F.acq; if a=1: b=D", Some([true, false])),
        (
            "D=1; F.acq; x=1 | a=x; F.rel; if a=1: b=D",
            Some([true, true]),
        ),
        ("D=1; F.rel; x=1 | a=x; F.acq; if a=1: b=D", None),
        // It orders what is before it, and not the write of the race.
        (
            "F.rel; D=1; x=1 | a=x.acq; if a=1: b=D",
            Some([true, false]),
        ),
    ] {
        assert_eq!(lacks(text), halves, "{text}");
    }
}
