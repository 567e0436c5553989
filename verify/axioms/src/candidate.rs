//! A graph that could be an execution: one run of each thread, and the write that each read reads
//! from.

use crate::{
    Event, EventId, Location, MOST_EVENTS, Program, Relation, Value, execution::Needs,
    program::Kind, trace::Trace,
};

/// A graph without modification order.
pub(crate) struct Candidate {
    pub(crate) events: Vec<Event>,
    pub(crate) po: Relation,
    pub(crate) rf: Relation,
    pub(crate) registers: Vec<Vec<Option<Value>>>,
}

impl Candidate {
    /// Puts the runs together. `rf` says which event wrote the value that each read found.
    pub(crate) fn new(
        program: &Program,
        runs: &[&Trace],
        rf: impl IntoIterator<Item = (EventId, EventId)>,
    ) -> Self {
        let events = events(program, runs);
        let po = Relation::of(events.len(), |a, b| {
            a < b && events[a].thread.is_some() && events[a].thread == events[b].thread
        });
        let mut reads = Relation::empty(events.len());
        rf.into_iter()
            .for_each(|(write, read)| reads.insert(write, read));
        let registers = runs.iter().map(|run| run.registers.clone()).collect();
        Self {
            events,
            po,
            rf: reads,
            registers,
        }
    }
}

/// The initial values of the locations, and then the events of each thread, thread by thread.
pub(crate) fn events(program: &Program, runs: &[&Trace]) -> Vec<Event> {
    let initial = program
        .locations()
        .map(|location| initial(program, location));
    let done = runs.iter().flat_map(|run| run.events.iter().cloned());
    let events: Vec<Event> = initial.chain(done).collect();
    assert!(
        events.len() <= MOST_EVENTS,
        "more than {MOST_EVENTS} events"
    );
    events
}

fn initial(program: &Program, location: Location) -> Event {
    Event {
        thread: None,
        step: 0,
        kind: Kind::Initial,
        location: Some(location),
        ordering: None,
        read: None,
        written: Some(program.variable(location).initial),
        needs: Needs::default(),
    }
}
