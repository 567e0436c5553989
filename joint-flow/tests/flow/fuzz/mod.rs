//! Random programs of the whole vocabulary, run in the simulation, against an interpreter.
//!
//! A [program] is a tree of expressions. [`real`] builds a future of each and records what happens:
//! which expression is polled, has ended with which output, is dropped, or is cancelled. [`model`]
//! interprets the same tree on one thread, without wakers, and must produce the same record. It
//! learns from the record what is free: which task runs next, and of more than three children of a
//! combinator which ones are polled. Whenever everything has settled, it polls whatever waits, and
//! fails if something can go on: a wake-up was lost.
//!
//! `JOINT_FLOW_PROGRAMS` sets the number of programs, and `JOINT_FLOW_FIRST` the first one.
//!
//! Of 176 changes of this package's source by hand (a deleted statement, another comparison, a
//! count that is off by one), the 3,000 programs of this test find 145. Of the others, 20,000
//! programs find 1, and 100,000 more find 2:
//! `JOINT_FLOW_PROGRAMS=20000 cargo test --release -p joint-flow --test flow random_programs`.
//! They miss a cancelled request for a lock that admits nobody. The rest change only memory or time
//! on one thread, or need what no program has: budgets that are used up, `keep_losers`, jitter,
//! outputs with destructors, polls after the end.

mod model;
mod program;
mod real;

use joint_sim::{Builder, Faults, Panics};

/// A line of the record. Expressions are known by their numbers, and tasks by their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Polled(usize),
    Ended(usize, Out),
    /// After its end.
    Dropped(usize),
    Cancelled(usize),
    /// A retry has waited, this many seconds.
    Waited(usize, u64),
}

/// The output of each expression.
type Out = Result<u8, u8>;

/// The first number of a task: the others are those of expressions.
const TASKS: usize = 10_000;

/// An output that depends on a list, and on its order.
fn folded(codes: impl IntoIterator<Item = u8>) -> u8 {
    let fold = |sum: u8, code: u8| sum.wrapping_mul(31).wrapping_add(code);
    codes.into_iter().fold(7, fold)
}

fn code(out: Out) -> u8 {
    out.unwrap_or_else(|error| error.wrapping_add(128))
}

/// For what has no value or no error in a list.
fn optional(value: Option<u8>) -> u8 {
    value.unwrap_or(251)
}

fn number(variable: &str, otherwise: u64) -> u64 {
    let set = std::env::var(variable);
    set.map_or(otherwise, |number| number.parse().expect("a number"))
}

fn run(seed: u64) -> usize {
    let program = program::program(seed);
    let faults = match seed % 4 {
        0 => Faults::none(),
        1 => Faults::none().spurious_polls(0.2),
        2 => Faults::none().other_wakers(0.2),
        _ => Faults::none().late_wakeups(0.2).spurious_polls(0.05),
    };
    let simulation = Builder::new(seed).faults(faults).panics(Panics::Detached);
    let ran = simulation.run(real::run(&program));
    let events = match ran {
        Ok(outcome) => outcome.output,
        Err(failure) => panic!("program {seed}: {failure}\n{program:#?}"),
    };
    if let Err(difference) = model::check(&program, &events) {
        panic!("program {seed}: {difference}\n{program:#?}");
    }
    events.len()
}

#[test]
fn random_programs_run_as_they_are_interpreted() {
    let (first, count) = (
        number("JOINT_FLOW_FIRST", 0),
        number("JOINT_FLOW_PROGRAMS", 3_000),
    );
    let events: usize = (first..first + count).map(run).sum();
    println!("{count} programs, {events} events");
}
