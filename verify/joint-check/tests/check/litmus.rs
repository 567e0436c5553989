//! The checker against `axioms`, program by program: the same executions, each once, the same ends,
//! and the same programs that race.

#[allow(dead_code, reason = "the machines of the laws are not used here")]
#[path = "../../../axioms/tests/axioms/generate.rs"]
mod generate;
#[allow(dead_code, reason = "the ends are not used here")]
#[path = "../../../axioms/tests/axioms/notation.rs"]
mod notation;

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};

use axioms::{
    Model, Ordering, Program, Value, explore,
    program::{Instruction, Kind, Operand, Step},
};
use generate::recipes;
use joint_check::{
    cell::UnsafeCell,
    model::{Builder, Count, last_count},
    sync::atomic::{AtomicU32, Ordering as Order, fence},
    thread,
};
use notation::Litmus;

/// How a program can end: what the registers hold by thread and number, and what the atomic
/// locations hold.
type End = (Vec<Vec<Option<Value>>>, Vec<Value>);

enum Place {
    Atomic(AtomicU32),
    Plain(UnsafeCell<Value>),
}

// SAFETY: all threads of a model are on one thread of the system, and the checker looks for races.
unsafe impl Send for Place {}
// SAFETY: as for `Send`.
unsafe impl Sync for Place {}

fn order(ordering: Option<Ordering>) -> Order {
    match ordering.expect("an atomic step has an ordering") {
        Ordering::Relaxed => Order::Relaxed,
        Ordering::Acquire => Order::Acquire,
        Ordering::Release => Order::Release,
        Ordering::AcqRel => Order::AcqRel,
        Ordering::SeqCst => Order::SeqCst,
    }
}

fn take(step: &Step, places: &[Place], registers: &mut [Option<Value>]) {
    let value = |operand| match operand {
        Operand::Constant(value) => value,
        Operand::Register(register) => registers[register.index()].expect("it is filled"),
    };
    let operand = step.operand.map_or(0, value);
    let place = |program_place: Option<axioms::Location>| {
        let number = program_place.expect("an access has a place");
        &places[index(number)]
    };
    let read = match step.kind {
        Kind::Fence => {
            fence(order(step.ordering));
            None
        }
        _ => match place(step.location) {
            Place::Atomic(atomic) => {
                let order = order(step.ordering);
                match step.kind {
                    Kind::Load => Some(atomic.load(order)),
                    Kind::Swap => Some(atomic.swap(operand, order)),
                    Kind::FetchAdd => Some(atomic.fetch_add(operand, order)),
                    Kind::CompareExchange => {
                        let (expected, failure) = step.compared.expect("it compares");
                        let failure = self::order(Some(failure));
                        let done =
                            atomic.compare_exchange(value(expected), operand, order, failure);
                        Some(done.unwrap_or_else(|found| found))
                    }
                    _ => {
                        atomic.store(operand, order);
                        None
                    }
                }
            }
            // SAFETY: the model ends before a race comes to this.
            Place::Plain(cell) if step.kind.reads() => Some(cell.with(|value| unsafe { *value })),
            Place::Plain(cell) => {
                // SAFETY: as above.
                cell.with_mut(|value| unsafe { *value = operand });
                None
            }
        },
    };
    if let Some(into) = step.into {
        registers[into.index()] = read;
    }
}

fn index(location: axioms::Location) -> usize {
    // The locations are numbered in the order in which they were declared.
    let name = format!("{location:?}");
    let digits = name.trim_matches(|c: char| !c.is_ascii_digit());
    digits.parse().expect("a location has a number")
}

fn interpret(code: &[Instruction], places: &[Place], registers: &mut [Option<Value>]) {
    for instruction in code {
        match instruction {
            Instruction::Step(step) => take(step, places, registers),
            Instruction::Branch {
                on,
                equals,
                then,
                otherwise,
            } => {
                let taken = registers[on.index()] == Some(*equals);
                interpret(if taken { then } else { otherwise }, places, registers);
            }
        }
    }
}

/// Runs a program in the checker.
fn check(program: &Program, merges: bool) -> (BTreeSet<End>, Count) {
    let ends = Arc::new(Mutex::new(BTreeSet::new()));
    let found = ends.clone();
    let program = program.clone();
    let mut builder = Builder::new();
    builder.finds_duplicates = true;
    builder.merges = merges;
    builder.check(move || {
        let make = |location| {
            let variable = program.variable(location);
            let value = variable.initial;
            if variable.is_atomic {
                Place::Atomic(AtomicU32::new(value))
            } else {
                Place::Plain(UnsafeCell::new(value))
            }
        };
        let places: Arc<Vec<_>> = Arc::new(program.locations().map(make).collect());
        let start = |one: &axioms::program::Thread| {
            let (one, places) = (one.clone(), places.clone());
            thread::spawn(move || {
                let mut registers = vec![None; one.registers];
                interpret(&one.code, &places, &mut registers);
                registers
            })
        };
        let threads: Vec<_> = program.threads().iter().map(start).collect();
        let registers = threads
            .into_iter()
            .map(|thread| thread.join().expect("it ends"));
        let registers = registers.collect();
        let last = places.iter().filter_map(|place| match place {
            Place::Atomic(atomic) => Some(atomic.load(Order::Relaxed)),
            Place::Plain(_) => None,
        });
        let end = (registers, last.collect());
        found.lock().expect("no panic before").insert(end);
    });
    let ends = ends.lock().expect("no panic before").clone();
    (ends, last_count())
}

fn expected(program: &Program) -> (BTreeSet<End>, u64) {
    let executions = explore(program, Model::Rc11);
    let end = |execution: &axioms::Execution| {
        let atomic = program
            .locations()
            .filter(|&at| program.variable(at).is_atomic);
        let last = atomic.map(|location| execution.last(location)).collect();
        (execution.registers().to_vec(), last)
    };
    (
        executions.iter().map(end).collect(),
        executions.len() as u64,
    )
}

/// Returns how many executions are merged.
#[track_caller]
fn assert_same(name: &str, program: &Program) -> u64 {
    let mut merged = 0;
    let (expected_ends, executions) = expected(program);
    for merges in [false, true] {
        let (ends, count) = check(program, merges);
        assert_eq!(ends, expected_ends, "{name}: {program:#?}");
        let is_right = match merges {
            false => count.complete == executions,
            true => count.complete <= executions,
        };
        merged = executions - count.complete;
        assert!(is_right, "{name}: {count:?} of {executions}: {program:#?}");
        assert_eq!(
            (count.duplicates, count.blocked, count.dead),
            (0, 0, 0),
            "{name}: {program:#?}"
        );
    }
    merged
}

const ATOMIC: [Kind; 8] = [
    Kind::Load,
    Kind::Load,
    Kind::Store,
    Kind::Store,
    Kind::Swap,
    Kind::FetchAdd,
    Kind::CompareExchange,
    Kind::Fence,
];

/// Random programs: how many, how many threads with how many steps, and of what.
type Family<'f> = (usize, [(usize, usize); 2], &'f [Kind], &'f [Ordering]);

#[test]
fn random_programs_have_the_executions_of_the_axioms() {
    use Kind::{FetchAdd, Load, Swap};
    use Ordering::{AcqRel, Relaxed, SeqCst};
    let families: [Family<'_>; 5] = [
        (500, [(2, 4), (3, 2)], &ATOMIC, &Ordering::ALL),
        (120, [(3, 3), (2, 5)], &ATOMIC, &Ordering::ALL),
        (300, [(2, 4), (3, 2)], &ATOMIC, &[SeqCst, Relaxed]),
        (100, [(2, 4), (3, 2)], &ATOMIC, &[SeqCst]),
        (300, [(3, 3), (2, 4)], &[Swap, FetchAdd, Load], &[AcqRel]),
    ];
    for (count, shapes, kinds, orderings) in families {
        for recipe in recipes(count, shapes, kinds, orderings) {
            assert_same("by chance", &recipe.program());
        }
    }
}

#[test]
fn the_programs_that_race_are_those_of_the_axioms() {
    let kinds = [Kind::Load, Kind::Store, Kind::Swap, Kind::Read, Kind::Write];
    let mut racy = 0;
    for recipe in recipes(400, [(2, 3), (3, 2)], &kinds, &Ordering::ALL) {
        let program = recipe.program();
        let races = explore(&program, Model::Rc11)
            .iter()
            .any(|end| !end.races().is_empty());
        let checked = catch_unwind(AssertUnwindSafe(|| check(&program, true)));
        assert_eq!(checked.is_err(), races, "{program:#?}");
        racy += usize::from(races);
    }
    assert!((50..350).contains(&racy), "{racy} of 400 race");
}

/// Exchanges that often write what they have read.
#[test]
fn exchanges_that_change_nothing_lose_no_end() {
    use Kind::{CompareExchange, Load, Swap};
    use Ordering::{AcqRel, Acquire, Relaxed};
    let kinds = [Swap, Swap, CompareExchange, Load];
    let orderings = [Relaxed, Acquire, AcqRel];
    let all = recipes(300, [(3, 2), (2, 4)], &kinds, &orderings);
    let merged: u64 = all
        .iter()
        .map(|recipe| assert_same("by chance", &recipe.program()))
        .sum();
    assert!(merged > 100, "{merged}");
}

/// The classic shapes, with an ordering for writes and one for reads.
const SHAPES: [(&str, &str); 13] = [
    ("SB", "x=1.$1; a=y.$2 | y=1.$1; b=x.$2"),
    ("SB+fences", "x=1.$1; F.sc; a=y.$2 | y=1.$1; F.sc; b=x.$2"),
    ("MP", "x=1.$1; y=1.$1 | a=y.$2; b=x.$2"),
    ("LB", "a=x.$2; y=1.$1 | b=y.$2; x=1.$1"),
    ("2+2W", "x=1.$1; y=2.$1 | y=1.$1; x=2.$1"),
    ("IRIW", "x=1.$1 | y=1.$1 | a=x.$2; b=y.$2 | c=y.$2; d=x.$2"),
    (
        "IRIW+fences",
        "x=1.$1 | y=1.$1 | a=x.$2; F.sc; b=y.$2 | c=y.$2; F.sc; d=x.$2",
    ),
    (
        "IRIW of SeqCst loads",
        "x=1.$1 | y=1.$1 | a=x.sc; b=y.sc | c=y.sc; d=x.$2",
    ),
    (
        "SB+ra hop",
        "x=1.$1; x=2.rel | a=x.acq; b=y.$2 | y=1.$1; c=x.$2",
    ),
    ("CoRR", "x=1.$1 | x=2.$1 | a=x.$2; b=x.$2 | c=x.$2; d=x.$2"),
    (
        "chain",
        "y=1.$1; a=x+1.$1; b=y.$2 | c=x+1.$1; d=x+1.$1 | e=x+1.$1; y=2.$1",
    ),
    ("WRC", "x=1.$1 | a=x.$2; y=1.$1 | b=y.$2; c=x.$2"),
    ("R", "x=1.$1; F.sc; y=1.$1 | y=2.$1; F.sc; a=x.$2"),
];

#[test]
fn classic_shapes_have_the_executions_of_the_axioms() {
    for (name, text) in SHAPES {
        for write in ["rlx", "rel", "sc"] {
            for read in ["rlx", "acq", "sc"] {
                assert_same(name, Litmus::new(text, &[write, read]).program());
            }
        }
    }
}
