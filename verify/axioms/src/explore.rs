//! The exploration: every graph, and those of them that the model allows.

use crate::{
    Execution, Model, Program, candidate::Candidate, choices::choices, execution::Edges, grow,
    guess, model, orders, program::Thread, race,
};

/// The largest number of events in an execution, including one for each location's initial value.
pub const MOST_EVENTS: usize = 64;

/// Returns every execution of `program` that `model` allows, each once, always in the same order.
///
/// Without the axiom against thin air, a value may be its own cause, so a read could find any
/// value. The exploration tries only those that the program writes to the location as constants,
/// and what additions make of them.
///
/// The work grows with the number of graphs, and so exponentially with the number of steps. Without
/// that axiom it also grows with the number of values for each read. Litmus tests take
/// milliseconds.
///
/// # Panics
/// If an execution has more than [`MOST_EVENTS`] events.
///
/// ```
/// use axioms::{Model, explore, language::parse};
///
/// let buffering = parse(
///     "atomic x, y
///     thread { a = x.load(Relaxed); y.store(1, Relaxed) }
///     thread { b = y.load(Relaxed); x.store(1, Relaxed) }
///     never a == 1 && b == 1",
/// )
/// .unwrap();
/// let both = |model| {
///     let all = explore(&buffering.program, model);
///     all.iter().any(|end| buffering.never[0].is_broken_by(end))
/// };
/// assert!(!both(Model::Rc11));
/// assert!(both(Model::Buffering));
/// ```
pub fn explore(program: &Program, model: Model) -> Vec<Execution> {
    let graphs = match model {
        Model::Interleaving | Model::Rc11 => {
            grow::grown_within(program, usize::MAX).unwrap_or_default()
        }
        Model::Buffering => guess::guessed(program),
    };
    all_executions(program, model, &graphs)
}

/// What [`Model::Rc11`] allows, or `None` if more than `most` executions or `graphs` are found.
pub(crate) fn rc11_within(program: &Program, graphs: usize, most: usize) -> Option<Vec<Execution>> {
    if orders_at_most(program) > most as f64 {
        return None;
    }
    let mut found = Vec::new();
    for graph in grow::grown_within(program, graphs)? {
        let all = coherent(program, &graph, false).into_iter();
        found.extend(all.filter(|one| Model::Rc11.allows(&one.events, &one.edges)));
        if found.len() > most {
            return None;
        }
    }
    Some(found)
}

/// The ways to order the writes of each location, if each branch is taken.
fn orders_at_most(program: &Program) -> f64 {
    let writes = |location, thread: &Thread| {
        let steps = thread.steps().into_iter();
        let writes = steps.filter(|step| step.location == Some(location) && step.kind.writes());
        writes.count()
    };
    let of_location = |location| {
        let (mut orders, mut before) = (1.0, 0);
        for thread in program.threads() {
            for own in 1..=writes(location, thread) {
                before += 1;
                orders *= before as f64 / own as f64;
            }
        }
        orders
    };
    program.locations().map(of_location).product()
}

/// What [`Model::Buffering`] allows, or `None` if there are more than `most` ways to give each read
/// a value, or too many to order the writes of these.
pub(crate) fn buffering_within(program: &Program, most: usize) -> Option<Vec<Execution>> {
    let graphs = guess::guessed_within(program, most)?;
    if graphs.len() as f64 * orders_at_most(program) > 10.0 * most as f64 {
        return None;
    }
    Some(all_executions(program, Model::Buffering, &graphs))
}

/// The executions of the graphs that `model` allows.
fn all_executions(program: &Program, model: Model, graphs: &[Candidate]) -> Vec<Execution> {
    let coherent = graphs
        .iter()
        .flat_map(|graph| coherent(program, graph, false));
    coherent
        .filter(|one| model.allows(&one.events, &one.edges))
        .collect()
}

/// The executions of one graph in which exchanges are atomic: every choice of orders for the writes
/// of the locations that is coherent with happens-before. On a machine only the order of each
/// thread by itself counts, which none breaks.
pub(crate) fn coherent(program: &Program, graph: &Candidate, on_machine: bool) -> Vec<Execution> {
    let Candidate {
        events,
        po,
        rf,
        registers,
    } = graph;
    let sw = model::synchronizes_with(events, po, rf);
    let hb = model::happens_before(events, po, &sw);
    let in_threads = on_machine.then(|| model::happens_before(events, po, po));
    let before = in_threads.as_ref().unwrap_or(&hb);
    if !before.is_irreflexive() {
        return Vec::new();
    }
    let orders = |location| orders::orders(graph, location, before);
    let all: Vec<_> = program.locations().map(orders).collect();
    let races = race::races(events, &hb);
    let execution = |choice: Vec<usize>| {
        let chosen = all
            .iter()
            .zip(choice)
            .map(|(orders, chosen)| orders[chosen].clone());
        let orders: Vec<_> = chosen.collect();
        let (mo, fr) = orders::edges(&orders, rf, events.len());
        let (po, rf, sw, hb) = (po.clone(), rf.clone(), sw.clone(), hb.clone());
        let edges = Edges {
            po,
            rf,
            mo,
            fr,
            sw,
            hb,
        };
        Execution {
            events: events.clone(),
            edges,
            orders,
            registers: registers.clone(),
            races: races.clone(),
        }
    };
    choices(all.iter().map(Vec::len).collect())
        .map(execution)
        .collect()
}
