//! The 25 cells of the completion: what the explorer finds, against the rule that says which halves
//! are needed for what.

use axioms::{
    Machine, Model,
    Ordering::AcqRel,
    completion::{Broken, Cell, Protocol, Verdict, broken_on, judge},
    explore, text,
};

fn verdicts(model: Model) -> impl Iterator<Item = Verdict> {
    Cell::all().map(move |cell| judge(cell, model))
}

fn broken(verdict: &Verdict) -> Vec<Broken> {
    verdict
        .findings
        .iter()
        .map(|finding| finding.broken)
        .collect()
}

/// The result goes from the completer's release to the waiter's acquire, the waker the other way.
fn expected(cell: Cell) -> Vec<Broken> {
    unless(cell, cell.completer.acquires())
}

/// What breaks if the completer's look at the waker is in order or not.
fn unless(Cell { completer, waiter }: Cell, is_acquired: bool) -> Vec<Broken> {
    let result = completer.releases() && waiter.acquires();
    let waker = waiter.releases() && is_acquired;
    let broken = [(Broken::Result, result), (Broken::Waker, waker)];
    let broken = broken.into_iter().filter(|&(_, published)| !published);
    broken.map(|(broken, _)| broken).collect()
}

/// Load buffering plays no part in it: the exchanges of one word cannot be each other's cause.
#[test]
fn each_half_is_needed_for_its_edge_and_nothing_else_is() {
    for verdict in [Model::Rc11, Model::Buffering]
        .into_iter()
        .flat_map(verdicts)
    {
        assert_eq!(broken(&verdict), expected(verdict.cell), "{}", verdict.cell);
    }
}

#[test]
fn an_edge_that_is_there_is_drawn_at_its_later_end() {
    let protocol = Protocol::new(Cell {
        completer: AcqRel,
        waiter: AcqRel,
    });
    let executions = explore(&protocol.program, Model::Rc11);
    assert_eq!(executions.len(), 2);
    for execution in &executions {
        let drawn = text::lanes(&protocol.program, execution);
        assert!(
            drawn.contains("<- reads from 2, synchronizes with 2\n")
                || drawn.contains("<- reads from 3, synchronizes with 3\n"),
            "{drawn}"
        );
        assert!(!drawn.contains("data race"), "{drawn}");
    }
}

/// The waker's address is what the exchange returned, so no machine but Alpha needs the completer's
/// acquire. The result needs both halves.
fn expected_on(machine: Machine, cell: Cell) -> Vec<Broken> {
    match machine {
        Machine::X86 => Vec::new(),
        Machine::Alpha => expected(cell),
        _ => unless(cell, true),
    }
}

#[test]
fn alpha_shows_each_missing_half_and_x86_hides_all() {
    for cell in Cell::all() {
        let protocol = Protocol::new(cell);
        for machine in Machine::ALL {
            let broken = broken_on(&protocol, machine);
            assert_eq!(broken, expected_on(machine, cell), "{machine:?}, {cell}");
        }
    }
}
