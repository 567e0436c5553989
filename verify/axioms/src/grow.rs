//! The graphs in which no read reads from its own future. They grow by one event at a time, and
//! each read finds its write in the graph so far.

use std::collections::BTreeSet;

use crate::{
    EventId, Program, Value,
    candidate::Candidate,
    program::Step,
    trace::{Run, Trace},
};

/// A write: the initial value of a location, by its number, or an event of a thread.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Write {
    Initial(usize),
    Event { thread: usize, place: usize },
}

/// For each event of each thread, the write that it has read from. The rest of a graph follows from
/// this.
type Sources = Vec<Vec<Option<Write>>>;

/// Every graph of `program` without a cycle in program order and reads-from, each once. Returns
/// nothing if more than `most` graphs lead to them.
pub(crate) fn grown_within(program: &Program, most: usize) -> Option<Vec<Candidate>> {
    let threads = program.threads().iter().enumerate();
    let runs: Vec<Run<'_>> = threads
        .map(|(number, thread)| Run::new(number, thread))
        .collect();
    let sources = vec![Vec::new(); runs.len()];
    let mut left = vec![Graph {
        program,
        runs,
        sources,
    }];
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    while let Some(graph) = left.pop() {
        if !seen.insert(graph.sources.clone()) {
            continue;
        }
        if seen.len() > most {
            return None;
        }
        match graph.next() {
            Next::Done => found.push(graph),
            Next::Grows(graphs) => left.extend(graphs),
        }
    }
    // Sorted by what the threads did, whichever thread ran first.
    found.sort_by(|a, b| a.sources.cmp(&b.sources));
    Some(found.iter().map(Graph::candidate).collect())
}

#[derive(Clone)]
struct Graph<'p> {
    program: &'p Program,
    runs: Vec<Run<'p>>,
    sources: Sources,
}

enum Next<'p> {
    Done,
    Grows(Vec<Graph<'p>>),
}

impl<'p> Graph<'p> {
    /// A step that reads nothing runs first, because it excludes no choice. Then the read of each
    /// thread runs next, with each write.
    fn next(&self) -> Next<'p> {
        let mut grown = Vec::new();
        let mut is_done = true;
        for thread in 0..self.runs.len() {
            let mut at_step = self.clone();
            let Some(step) = at_step.runs[thread].next() else {
                continue;
            };
            is_done = false;
            if !step.kind.reads() {
                at_step.take(thread, step, None);
                return Next::Grows(vec![at_step]);
            }
            for (write, value) in self.sources_for(thread, step) {
                let mut graph = at_step.clone();
                graph.take(thread, step, Some((write, value)));
                grown.push(graph);
            }
        }
        if is_done {
            Next::Done
        } else {
            Next::Grows(grown)
        }
    }

    fn take(&mut self, thread: usize, step: &Step, found: Option<(Write, Value)>) {
        self.runs[thread].take(step, found.map(|(_, value)| value));
        self.sources[thread].push(found.map(|(write, _)| write));
    }

    /// The writes that a step of this thread can read, with their values. An exchange reads none
    /// that another has read: only one of them could come right after it, so no order would be
    /// found later.
    fn sources_for(&self, thread: usize, step: &Step) -> Vec<(Write, Value)> {
        let initial = step.location.map(|location| {
            (
                Write::Initial(location.0),
                self.program.variable(location).initial,
            )
        });
        let writes = self.runs.iter().enumerate().flat_map(|(thread, run)| {
            let events = run.trace.events.iter().enumerate();
            events.filter_map(move |(place, event)| {
                let here = event.location == step.location;
                let value = event.written.filter(|_| here)?;
                Some((Write::Event { thread, place }, value))
            })
        });
        let run = &self.runs[thread];
        let free = |&(write, value): &(Write, Value)| {
            let (kind, _) = run.outcome(step, Some(value));
            !(kind.is_exchange() && self.is_exchanged(write))
        };
        initial.into_iter().chain(writes).filter(free).collect()
    }

    fn is_exchanged(&self, write: Write) -> bool {
        let mut read = self
            .runs
            .iter()
            .zip(&self.sources)
            .flat_map(|(run, sources)| run.trace.events.iter().zip(sources));
        read.any(|(event, source)| event.kind.is_exchange() && *source == Some(write))
    }

    fn candidate(&self) -> Candidate {
        let runs: Vec<&Trace> = self.runs.iter().map(|run| &run.trace).collect();
        let first = &|thread: usize| -> EventId {
            let before = runs[..thread].iter().map(|run| run.events.len());
            self.program.locations().count() + before.sum::<usize>()
        };
        let number = |write| match write {
            Write::Initial(location) => location,
            Write::Event { thread, place } => first(thread) + place,
        };
        let rf = self
            .sources
            .iter()
            .enumerate()
            .flat_map(|(thread, sources)| {
                let reads = (first(thread)..).zip(sources);
                reads.filter_map(|(read, source)| Some((number((*source)?), read)))
            });
        Candidate::new(self.program, &runs, rf)
    }
}
