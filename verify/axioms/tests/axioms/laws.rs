//! Laws that hold for every program, checked on thousands of small random programs, which are the
//! same in each run.
//!
//! `joint-check` is the other judge of the same model: its tests compare it with the axioms on
//! programs made by chance as well.

use std::collections::BTreeSet;

use axioms::{Execution, Machine, Model, Ordering, Program, Value, explore, program::Kind};

use crate::generate::{KINDS, recipes};

/// How a program can end: what the registers hold by thread and number, and what the locations
/// hold.
type End = (Vec<Vec<Option<Value>>>, Vec<Value>);

fn ends(program: &Program, model: Model) -> BTreeSet<End> {
    ends_of(program, &explore(program, model))
}

fn ends_of(program: &Program, executions: &[Execution]) -> BTreeSet<End> {
    let end = |execution: &Execution| {
        let memory = program
            .locations()
            .map(|location| execution.last(location))
            .collect();
        (execution.registers().to_vec(), memory)
    };
    executions.iter().map(end).collect()
}

/// How many threads, and how many steps of each at most.
type Shapes = [(usize, usize); 2];

const SMALL: Shapes = [(2, 2), (2, 3)];
const LARGE: Shapes = [(2, 4), (3, 2)];

/// All that is atomic: accesses, and fences.
const ALL: &[Kind] = KINDS.split_at(2).1;
const ACCESSES: &[Kind] = ALL.split_at(5).0;
/// Loads and stores show what is weak, exchanges less so.
const MOSTLY_SIMPLE: [Kind; 7] = [
    Kind::Load,
    Kind::Load,
    Kind::Store,
    Kind::Store,
    Kind::Swap,
    Kind::FetchAdd,
    Kind::Fence,
];

#[test]
fn seq_cst_everywhere_leaves_only_interleavings() {
    for recipe in recipes(600, LARGE, ALL, &[Ordering::SeqCst]) {
        let program = recipe.program();
        let [turns, allowed] =
            [Model::Interleaving, Model::Rc11].map(|model| ends(&program, model));
        assert_eq!(allowed, turns, "{recipe:?}");
    }
}

/// RC11's theorem about fences, which those of C11 did not fulfil.
#[test]
fn seq_cst_fences_everywhere_leave_only_interleavings() {
    for recipe in recipes(400, LARGE, ACCESSES, &[Ordering::Relaxed]) {
        let fenced = recipe.with_fences_between().program();
        let turns = ends(&recipe.program(), Model::Interleaving);
        assert_eq!(ends(&fenced, Model::Rc11), turns, "{recipe:?}");
    }
}

/// That the translation to each machine is right: the theorem of RC11's paper, here tried and not
/// proven. And a machine is never stricter than a memory that takes turns.
#[test]
fn machines_lie_between_interleavings_and_the_language() {
    let simple = [Kind::Load, Kind::Store];
    let others = [Kind::Read, Kind::Write, Kind::CompareExchange];
    let kinds = [&MOSTLY_SIMPLE[..], &others].concat();
    let small = recipes(150, SMALL, &kinds, &Ordering::ALL);
    let simple = recipes(1000, SMALL, &simple, &Ordering::ALL);
    let mut weak = [0; 5];
    for recipe in small.into_iter().chain(simple) {
        let program = recipe.program();
        let [turns, allowed] =
            [Model::Interleaving, Model::Buffering].map(|model| ends(&program, model));
        for (machine, weak) in Machine::ALL.into_iter().zip(&mut weak) {
            let ends = ends_of(&program, &machine.explore(&program));
            assert!(ends.is_subset(&allowed), "{machine:?} {recipe:?}");
            assert!(turns.is_subset(&ends), "{machine:?} {recipe:?}");
            *weak += usize::from(ends != turns);
        }
    }
    assert!(
        weak.iter().all(|&weak| weak > 0),
        "programs with ends that no interleaving has: {weak:?}"
    );
}

/// Two ways to make graphs: grown event by event, and guessed and then filtered by the axiom
/// itself.
#[test]
fn graphs_that_grow_are_the_guessed_ones_without_cycles() {
    let kinds = [&MOSTLY_SIMPLE[..], &[Kind::CompareExchange]].concat();
    for recipe in recipes(300, SMALL, &kinds, &Ordering::ALL) {
        let program = recipe.program();
        let mut guessed = explore(&program, Model::Buffering);
        guessed.retain(Execution::is_causal);
        let grown = explore(&program, Model::Rc11);
        assert_eq!(grown.len(), guessed.len(), "{recipe:?}");
        assert!(
            grown.iter().all(|execution| guessed.contains(execution)),
            "{recipe:?}"
        );
    }
}

#[test]
fn a_timeline_has_each_event_once_and_reads_after_writes() {
    for recipe in recipes(150, LARGE, ALL, &Ordering::ALL) {
        for execution in explore(&recipe.program(), Model::Rc11) {
            let order = execution.timeline();
            let threads = execution
                .events()
                .iter()
                .filter(|event| event.thread.is_some())
                .count();
            assert_eq!(order.len(), threads, "{recipe:?}");
            let place = |id| order.iter().position(|&drawn| drawn == id);
            let edges = execution.edges();
            let mut pairs = edges.po.pairs().chain(edges.rf.pairs());
            assert!(pairs.all(|(a, b)| place(a) < place(b)), "{recipe:?}");
            let after = |(a, b)| place(a) < place(b) || place(a).is_none();
            let others = edges.mo.pairs().chain(edges.fr.pairs());
            assert!(
                !execution.is_interleaving() || others.into_iter().all(after),
                "{recipe:?}"
            );
        }
    }
}
