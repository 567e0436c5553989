//! One execution: its events, the edges between them, and the values that are left.

use crate::{Location, Ordering, Race, Register, Relation, Value, program::Kind};

/// The number of an event in its execution. The initial values of the locations come first, and
/// then the events thread by thread.
pub type EventId = usize;

/// The event of one instruction.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Event {
    /// The number of its thread, or `None` if it is the initial value of a location.
    pub thread: Option<usize>,
    /// The number of its step in the text of its thread.
    pub step: usize,
    /// Its kind.
    pub kind: Kind,
    /// The location, or `None` if it is a fence.
    pub location: Option<Location>,
    /// The ordering, or `None` if it is not atomic.
    pub ordering: Option<Ordering>,
    /// The value that it read.
    pub read: Option<Value>,
    /// The value that it wrote.
    pub written: Option<Value>,
    /// The reads of its thread on which it depends.
    pub needs: Needs,
}

/// The reads on which an event depends, by the numbers of their steps. The language does not order
/// these dependencies, but machines order some of them.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Needs {
    /// The read that gave the address.
    pub address: Option<usize>,
    /// The reads that gave the value that is written or added, or compared before that.
    pub data: Vec<usize>,
    /// The reads that decided the branches before it, wherever those branches ended.
    pub control: Vec<usize>,
}

impl Event {
    /// Whether it is a fence.
    pub fn is_fence(&self) -> bool {
        self.kind == Kind::Fence
    }

    pub(crate) fn acquires(&self) -> bool {
        self.ordering.is_some_and(Ordering::acquires)
    }

    pub(crate) fn releases(&self) -> bool {
        self.ordering.is_some_and(Ordering::releases)
    }

    pub(crate) fn is_sc(&self) -> bool {
        self.ordering == Some(Ordering::SeqCst)
    }
}

/// One execution that the model allows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Execution {
    pub(crate) events: Vec<Event>,
    pub(crate) edges: Edges,
    /// The writes of each location in modification order, by location.
    pub(crate) orders: Vec<Vec<EventId>>,
    /// The values of the registers in the end, by thread and number.
    pub(crate) registers: Vec<Vec<Option<Value>>>,
    pub(crate) races: Vec<Race>,
}

/// The edges of an execution, by their names in the literature.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Edges {
    /// Program order, also called sequenced-before: earlier to later in one thread.
    pub po: Relation,
    /// Reads-from: from a write to the reads that read what it wrote.
    pub rf: Relation,
    /// Modification order: from earlier to later writes of one location. The last one stays.
    pub mo: Relation,
    /// From-read, also called reads-before: from a read to the writes after the one that it read
    /// from.
    pub fr: Relation,
    /// Synchronizes-with: from a release to an acquire of another thread that saw it.
    pub sw: Relation,
    /// Happens-before: paths of program order and synchronizes-with, after the initial values of
    /// the locations.
    pub hb: Relation,
}

impl Execution {
    /// Returns all events by number: the initial values of the locations, then thread by thread.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns the edges between the events.
    pub fn edges(&self) -> &Edges {
        &self.edges
    }

    /// Returns the events of a thread in program order: its lane in a drawing.
    pub fn lane(&self, thread: usize) -> impl Iterator<Item = EventId> + '_ {
        (0..self.events.len()).filter(move |&id| self.events[id].thread == Some(thread))
    }

    /// Returns the write that an event read from.
    pub fn source(&self, reader: EventId) -> Option<EventId> {
        (0..self.events.len()).find(|&writer| self.edges.rf.has(writer, reader))
    }

    /// Returns whether an event read from a write other than the last one of its location, in
    /// modification order. The write of an exchange itself does not count.
    pub fn is_stale(&self, reader: EventId) -> bool {
        self.edges.fr.pairs().any(|(read, _)| read == reader)
    }

    /// Returns the final value of a register, or `None` if its branch was not taken.
    pub fn value(&self, register: Register) -> Option<Value> {
        self.registers[register.thread()][register.index()]
    }

    /// Returns the final values of the registers, by thread and number.
    pub fn registers(&self) -> &[Vec<Option<Value>>] {
        &self.registers
    }

    /// Returns the writes of a location in modification order.
    pub fn writes(&self, location: Location) -> &[EventId] {
        &self.orders[location.0]
    }

    /// Returns the final value of a location.
    pub fn last(&self, location: Location) -> Value {
        let last = self.orders[location.0].last();
        last.and_then(|&id| self.events[id].written)
            .expect("a location has a value at first")
    }

    /// Returns the data races. A program with a data race has no meaning.
    pub fn races(&self) -> &[Race] {
        &self.races
    }

    /// Returns whether some interleaving of the threads, step by step on one memory, explains
    /// everything that was read and the final values.
    pub fn is_interleaving(&self) -> bool {
        let Edges { po, rf, mo, fr, .. } = &self.edges;
        Relation::union(&[po, rf, mo, fr]).is_acyclic()
    }

    /// Returns whether no read reads what its own thread causes later: RC11's axiom against values
    /// out of thin air.
    pub fn is_causal(&self) -> bool {
        Relation::union(&[&self.edges.po, &self.edges.rf]).is_acyclic()
    }

    /// Returns the events of the threads in an order in which to draw them, from the top. If one
    /// order explains everything, it is that one. Otherwise reads come after the writes that they
    /// read from, if possible. Otherwise the order respects only program order. A thread continues
    /// as long as it can.
    pub fn timeline(&self) -> Vec<EventId> {
        let Edges { po, rf, mo, fr, .. } = &self.edges;
        let choices = [&[po, rf, mo, fr][..], &[po, rf], &[po]].map(Relation::union);
        let explained = choices.iter().find(|choice| choice.is_acyclic());
        self.in_order(explained.unwrap_or(po))
    }

    /// A linear order that includes `before`. Stays with a thread as long as possible.
    fn in_order(&self, before: &Relation) -> Vec<EventId> {
        let threads = |id: EventId| self.events[id].thread;
        let all = 0..self.events.len();
        let mut left: Vec<EventId> = all.filter(|&id| threads(id).is_some()).collect();
        let mut order: Vec<EventId> = Vec::new();
        while !left.is_empty() {
            let ready = |&id: &EventId| left.iter().all(|&other| !before.has(other, id));
            let current = order.last().and_then(|&id| threads(id));
            let mut ready = left.iter().copied().filter(ready);
            let first = ready
                .clone()
                .next()
                .expect("what has no cycles has a first");
            let next = ready.find(|&id| threads(id) == current).unwrap_or(first);
            left.retain(|&id| id != next);
            order.push(next);
        }
        order
    }
}
