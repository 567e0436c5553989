//! All graphs, including those in which a read reads from its own future. Each read is given a
//! value first, and the writes that could have written the value are found afterwards.

use std::collections::BTreeSet;

use crate::{
    Event, EventId, Program, Value,
    candidate::{self, Candidate},
    choices::choices,
    program::{Kind, Operand},
    trace::{Run, Trace},
};

/// For each location, the values that a read of it can find.
type Domain = Vec<BTreeSet<Value>>;

/// Returns every graph of `program` in which each read finds a value that some event writes.
pub(crate) fn guessed(program: &Program) -> Vec<Candidate> {
    guessed_within(program, usize::MAX).unwrap_or_default()
}

/// The same, or `None` if there are more than `most` ways to give each read a value.
pub(crate) fn guessed_within(program: &Program, most: usize) -> Option<Vec<Candidate>> {
    let threads = traces(program, most)?;
    let mut found = Vec::new();
    for choice in choices(threads.iter().map(Vec::len).collect()) {
        let runs = threads.iter().zip(choice);
        let runs: Vec<_> = runs.map(|(traces, chosen)| &traces[chosen]).collect();
        let graphs = reads_from(&candidate::events(program, &runs)).into_iter();
        found.extend(graphs.map(|rf| Candidate::new(program, &runs, rf)));
    }
    Some(found)
}

/// The runs of each thread, by thread, for every choice of the values that its reads find.
fn traces(program: &Program, most: usize) -> Option<Vec<Vec<Trace>>> {
    let mut domain = constants(program);
    let mut reads = program.steps();
    reads.retain(|step| step.kind.reads());
    let is_within = |domain: &Domain| {
        let places = reads.iter().filter_map(|read| read.location);
        let values = places.map(|location| domain[location.0].len());
        values.fold(1, usize::saturating_mul) <= most
    };
    // A value that has passed through every read has come as far as it can, unless it caused
    // itself.
    for _ in 0..reads.len() {
        let known = domain.clone();
        if !is_within(&known) {
            return None;
        }
        let found = runs(program, &known);
        for event in found.iter().flatten().flat_map(|trace| &trace.events) {
            if let (Some(location), Some(value)) = (event.location, event.written) {
                domain[location.0].insert(value);
            }
        }
        if domain == known {
            return Some(found);
        }
    }
    is_within(&domain).then(|| runs(program, &domain))
}

/// The initial value of each location, and the constants that are written to it.
fn constants(program: &Program) -> Domain {
    let initial = |location| BTreeSet::from([program.variable(location).initial]);
    let mut domain: Domain = program.locations().map(initial).collect();
    for step in program.steps() {
        let constant = match (step.kind, step.operand) {
            (Kind::FetchAdd | Kind::FetchSub, _) => None,
            (_, Some(Operand::Constant(value))) => Some(value),
            _ => None,
        };
        if let (Some(location), Some(value)) = (step.location, constant) {
            domain[location.0].insert(value);
        }
    }
    domain
}

fn runs(program: &Program, domain: &Domain) -> Vec<Vec<Trace>> {
    let threads = program.threads().iter().enumerate();
    let runs_of = |(number, thread)| {
        let mut done = Vec::new();
        finish(Run::new(number, thread), domain, &mut done);
        done
    };
    threads.map(runs_of).collect()
}

/// Continues to the end, once for each value that each read can find.
fn finish(mut run: Run<'_>, domain: &Domain, done: &mut Vec<Trace>) {
    while let Some(step) = run.next() {
        if !step.kind.reads() {
            run.take(step, None);
            continue;
        }
        let values = step.location.map(|location| &domain[location.0]);
        for &value in values.into_iter().flatten() {
            let mut told = run.clone();
            told.take(step, Some(value));
            finish(told, domain, done);
        }
        return;
    }
    done.push(run.trace);
}

/// Every choice of a write for each read, with the value that it found.
fn reads_from(events: &[Event]) -> Vec<Vec<(EventId, EventId)>> {
    let reads = (0..events.len()).filter(|&id| events[id].kind.reads());
    let reads: Vec<(EventId, Vec<EventId>)> =
        reads.map(|read| (read, sources(events, read))).collect();
    let edges = |choice: Vec<usize>| {
        let chosen = reads.iter().zip(choice);
        chosen
            .map(|((read, sources), chosen)| (sources[chosen], *read))
            .collect()
    };
    let sizes = reads.iter().map(|(_, sources)| sources.len());
    choices(sizes.collect()).map(edges).collect()
}

fn sources(events: &[Event], read: EventId) -> Vec<EventId> {
    let own = &events[read];
    let fits = |event: &Event| event.location == own.location && event.written == own.read;
    let all = 0..events.len();
    all.filter(|&write| write != read && fits(&events[write]))
        .collect()
}
