//! The steps of the exploration, after TruSt (Kokologiannakis, Marmanis, Gladstein, Vafeiadis:
//! *Truly stateless, optimal dynamic partial order reduction*, POPL 2022).
//!
//! A read reads from each write that it may. A write has each place in modification order that it
//! may, and revisits the reads that could have read from it: what was added after such a read is
//! removed, except what the write depends on. Of all graphs that would come to the same one by a
//! revisit, only one does so: the graph in which all that is removed had read from, or was, the
//! last write of its time.

use core::{cmp::Reverse, ops::Range};

use crate::{
    graph::{Clock, Event, Found, Freely, Graph, Id, Kind, MAX_THREADS, Op, Others, join},
    sc,
};

/// A choice for a step that is repeated.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Choice {
    /// How many newer writes it skips.
    pub(crate) newer: usize,
    /// Which of its outcomes it has.
    pub(crate) outcome: u8,
}

/// The graphs to which one step leads.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// Graphs with which the running threads may continue.
    pub(crate) forward: Vec<Graph>,
    /// Graphs in which an earlier read has changed.
    pub(crate) revisits: Vec<Graph>,
    /// The first of these in which this step unblocks a thread.
    pub(crate) released: Option<Graph>,
    /// A race, by the two events, and its graph.
    pub(crate) race: Option<(Id, Id, Graph)>,
    /// The only choice for a step that is repeated.
    pub(crate) only: Option<Choice>,
    /// How many operations of an execution fail, or return, for no reason.
    pub(crate) spurious: Option<usize>,
    /// The write that a read tries first, before the newest.
    pub(crate) first: Option<Id>,
    /// Whether a read has only the first choice that leads to a graph.
    pub(crate) is_lone: bool,
    /// The graph before the step, if a choice has led nowhere.
    pub(crate) unused: Option<Graph>,
    /// Whether a thread may be left where it is.
    pub(crate) may_leave: bool,
    /// Whether the graph before the step is explored without it, because a write would leave
    /// another thread waiting forever.
    pub(crate) leaves: bool,
}

impl Steps {
    /// Adds a read, a write or a drop.
    pub(crate) fn add(&mut self, graph: Graph, event: Event) {
        match event.kind {
            Kind::Read { .. } => self.read(graph, event),
            Kind::Write { .. } => self.forward = self.write(graph, event),
            _ => self.drop(graph, event),
        }
    }

    /// Adds a read, with its write if it is an exchange.
    fn read(&mut self, graph: Graph, read: Event) {
        let oldest = graph.oldest(read.place, &graph.known(read.id.thread));
        let receives = matches!(read.op(), Some(Op::Receive { .. }));
        let first = if receives { read.place } else { oldest };
        let mut sources = Vec::from_iter(graph.newest(read.place, first));
        sources.sort_by_key(|&source| Some(source) != self.first);
        if let Some(only) = self.only {
            sources = sources.get(only.newer).copied().into_iter().collect();
        }
        let outcomes = |&source: &Id| {
            let outcomes = self.outcomes(&graph, &read, source, source == oldest);
            outcomes.map(move |outcome| (source, outcome))
        };
        let choices: Vec<_> = sources.iter().flat_map(outcomes).collect();
        let mut graph = Some(graph);
        for (left, &(source, outcome)) in (0..choices.len()).rev().zip(&choices) {
            let is_last = left == 0 || self.is_lone;
            let copy = || if is_last { graph.take() } else { graph.clone() };
            let mut next = self.unused.take().or_else(copy).expect("the last takes it");
            let (mut read, id, stamp) = (read, read.id, next.stamps);
            read.source = Some(source);
            read.value = next.at(source).written;
            read.outcome = outcome;
            next.push(read);
            let forward = self.after_read(next, id);
            self.forward.extend(forward);
            if let Some(unused) = &mut self.unused {
                unused.truncate(stamp, &[0; MAX_THREADS]);
            } else if self.is_lone {
                break;
            }
        }
    }

    /// The outcomes of a read that reads from `source`. A wait that ends for no reason reads from
    /// the oldest write that it may, because what it reads makes no difference.
    fn outcomes(&self, graph: &Graph, read: &Event, source: Id, is_oldest: bool) -> Range<u8> {
        let Some(op @ Op::Update { others, .. }) = read.op() else {
            return 0..1;
        };
        let value = graph.at(source).written;
        let all = match others {
            Others::None => 1,
            Others::Chosen(count) => count(value).max(1),
            Others::Spurious(freely) => {
                let ends = is_oldest || !op.awaits();
                let succeeds = op.writes(value, 0).is_some();
                let may = match (self.spurious, freely) {
                    (Some(most), _) => {
                        let before = graph.events().filter(|event| event.is_spurious());
                        ends && (succeeds || op.awaits()) && before.count() < most
                    }
                    (None, Freely::Nothing) => false,
                    (None, Freely::Ends) => ends && is_first(graph, read),
                    (None, Freely::Ignores) => succeeds && is_first(graph, read),
                };
                1 + u8::from(may)
            }
        };
        match self.only {
            Some(only) => only.outcome..only.outcome + 1,
            None => 0..all,
        }
    }

    /// Checks a read whose source is set, and adds the write of an exchange.
    fn after_read(&mut self, graph: Graph, id: Id) -> Vec<Graph> {
        let read = graph.at(id);
        let source = read.source.expect("a read has a source");
        // A thread that waits for another value waits for the last write. If it skipped that
        // write, nothing would change its read, and it would wait forever.
        let is_last = || graph.order(read.place).next_back() == read.source;
        let is_wanted = !self.races(&graph, read) && (!read.blocks() || is_last());
        if !is_wanted || !may_read(&graph, read) || !is_consistent(&graph, source) {
            return self.none(graph);
        }
        let (written, ordering) = read.outcome();
        let Some(written) = written else {
            // If it is an exchange all the same, it comes before the next one of its location.
            let next = graph.at(source).newer.filter(|_| !graph.is_free(source));
            if read.is_exchange() && next.is_some_and(|next| next.is_in(&read.porf)) {
                return self.none(graph);
            }
            return vec![graph];
        };
        let id = graph.next(id.thread);
        let kind = Kind::Write { is_exchange: true };
        let mut write = Event::new(id, kind, read.place, ordering);
        write.written = written;
        self.write(graph, write)
    }

    /// Keeps a graph to which no other leads, so that the next choice needs no copy.
    fn none(&mut self, graph: Graph) -> Vec<Graph> {
        self.unused = Some(graph);
        Vec::new()
    }

    fn races(&mut self, graph: &Graph, event: &Event) -> bool {
        let race = graph.race(event).map(|other| other.id);
        if let (Some(other), None) = (race, &self.race) {
            self.race = Some((other, event.id, graph.clone()));
        }
        race.is_some()
    }

    /// Adds a write: at each place in modification order, and with each read that it revisits.
    fn write(&mut self, mut graph: Graph, write: Event) -> Vec<Graph> {
        let id = write.id;
        let waiter = first_waiter(&graph, write.place).filter(|_| self.may_leave);
        graph.push(write);
        let mut places = places_for(&graph, id);
        // An exchange whose write has no place is in no execution of this graph, and only revisits.
        let has_place = !places.is_empty();
        if has_place && self.races(&graph, graph.at(id)) {
            return Vec::new();
        }
        let latest = waiter.map_or(u32::MAX, |(stamp, _)| stamp);
        let revisited = match self.only {
            Some(_) => Vec::new(),
            None => readers_to_revisit(&graph, id, latest),
        };
        if let Some((_, source)) = waiter {
            let before = places.len();
            places.retain(|&place| place != source);
            self.leaves |= places.len() < before;
        }
        for read in revisited {
            let mut changed = graph.clone();
            let (stamp, prefix) = (graph.at(read).stamp, graph.at(id).porf);
            changed.truncate(stamp, &prefix);
            let outcomes = self.outcomes(&changed, changed.at(read), id, false);
            let with_outcomes = |before| outcomes.clone().map(move |outcome| (before, outcome));
            let choices = places_for(&changed, id).into_iter().flat_map(with_outcomes);
            let choices: Vec<_> = choices.collect();
            for_each_copy(changed, &choices, |mut next, (before, outcome)| {
                next.order_after(before, id);
                next.set_source(read, id, outcome);
                let mut found = self.after_read(next, read);
                found.retain(|next| has_place || !self.races(next, next.at(id)));
                let waits = |graph: &Graph| graph.at(read).blocks();
                if self.released.is_none() && waits(&graph) && !found.last().is_none_or(waits) {
                    self.released = found.pop();
                }
                self.revisits.append(&mut found);
            });
            self.unused = None;
        }
        if let (Some(only), Kind::Write { is_exchange: false }) = (self.only, graph.at(id).kind) {
            let place = graph.at(id).place;
            let before = graph.order(place).rev().nth(only.newer);
            places.retain(|&place| Some(place) == before);
        }
        if places.is_empty() {
            return self.none(graph);
        }
        let mut found = Vec::new();
        for_each_copy(graph, &places, |mut next, before| {
            next.order_after(before, id);
            if is_consistent(&next, id) {
                found.push(next);
            } else {
                self.unused = Some(next);
            }
        });
        found
    }
}

impl Steps {
    /// Adds the drop of a handle. If no handle is left, each drop that could have come after all
    /// others does so in a graph of its own. No other order of the drops is explored.
    fn drop(&mut self, mut graph: Graph, drop: Event) {
        let id = drop.id;
        graph.push(drop);
        if self.races(&graph, graph.at(id)) {
            return;
        }
        if graph.handles(drop.place, None) == 0 {
            if self.only.is_none() {
                self.revisits.extend(other_last_drops(&graph, id));
            }
            graph.set_last(id);
        }
        self.forward.push(graph);
    }
}

/// The graphs in which another drop than `id` is the last one of its value.
fn other_last_drops(graph: &Graph, id: Id) -> Vec<Graph> {
    let is_drop = |event: &&Event| matches!(event.kind, Kind::Drop { .. });
    let drops = graph.all_accesses(graph.at(id).place).filter(is_drop);
    let drops: Vec<_> = drops.collect();
    let without = |drop: &Event| {
        let mut known = [0; MAX_THREADS];
        let others = drops.iter().filter(|other| other.id != drop.id);
        others.for_each(|other| join(&mut known, &other.porf));
        let is_free = drop.stamp > graph.settled && !drop.id.is_in(&known);
        if !is_free || !may_remove(graph, drop.stamp..u32::MAX, &known, id) {
            return None;
        }
        let mut next = graph.clone();
        next.truncate(drop.stamp, &known);
        next.set_last(drop.id);
        Some(next)
    };
    let others = drops.iter().filter(|drop| drop.id != id);
    others.filter_map(|drop| without(drop)).collect()
}

/// Whether nothing has happened for no reason before a read, in its thread and at its location.
fn is_first(graph: &Graph, read: &Event) -> bool {
    let mut before = graph.accesses(read.place, read.id.thread);
    !before.any(Event::is_spurious)
}

/// Whether a graph is consistent after a write was added, or a read of that write, at the end of a
/// thread. If the write is the last of its location, nothing comes after the step in any relation,
/// so it closes no cycle.
fn is_consistent(graph: &Graph, write: Id) -> bool {
    let last = graph.order(graph.at(write).place).next_back();
    last == Some(write) || sc::is_consistent(graph)
}

/// Calls `f` with each choice and a copy of the graph. The last call gets the graph itself.
fn for_each_copy<T: Copy>(graph: Graph, choices: &[T], mut f: impl FnMut(Graph, T)) {
    if let Some((&last, others)) = choices.split_last() {
        others.iter().for_each(|&choice| f(graph.clone(), choice));
        f(graph, last);
    }
}

/// Whether no write that the read knows of is newer than the one that it reads from, unless it
/// takes a value of a channel.
fn may_read(graph: &Graph, read: &Event) -> bool {
    let mut before = read.hb;
    // The events that happen before the read, without the read itself.
    before[usize::from(read.id.thread)] = read.id.index;
    let oldest = graph.oldest(read.place, &before);
    let source = read.source.expect("a read has a source");
    let is_known = || {
        graph
            .newest(read.place, oldest)
            .any(|write| write == source)
    };
    match read.op() {
        Some(op @ Op::Receive { .. }) => {
            let found = op.found(read.value);
            found.is_some_and(|found| found == Found::Next || is_known())
        }
        _ => is_known(),
    }
}

/// The write from which the exchange with this write has read.
fn source_of_exchange(graph: &Graph, write: Id) -> Id {
    let source = graph.at(write.previous()).source;
    source.expect("an exchange has read")
}

/// The writes that a write may directly follow, the newest first.
fn places_for(graph: &Graph, id: Id) -> Vec<Id> {
    let write = graph.at(id);
    if let Kind::Write { is_exchange: true } = write.kind {
        let source = source_of_exchange(graph, id);
        return Vec::from_iter(graph.is_free(source).then_some(source));
    }
    let oldest = graph.oldest(write.place, &write.hb);
    let mut places = Vec::from_iter(graph.newest(write.place, oldest));
    places.retain(|&other| graph.is_free(other));
    places
}

/// The first of the threads that are blocked at the last write of a location of the checker's own:
/// the stamp of its read, and that write.
///
/// A write after that one leaves the thread waiting forever, unless it revisits the read. No event
/// that depends on the write can free the thread by a revisit, because every later write to the
/// location depends on it, too. An event that does not depend on it can, in the graph without the
/// write, which leaves out the thread that would write.
fn first_waiter(graph: &Graph, place: Id) -> Option<(u32, Id)> {
    let last = graph.order(place).next_back()?;
    let waits = |event: &&Event| {
        let is_update = matches!(event.op(), Some(Op::Update { .. }));
        event.source == Some(last) && event.place == place && is_update && event.blocks()
    };
    let ends = graph.threads.iter().filter_map(|events| events.last());
    let first = ends.filter(waits).map(|event| event.stamp).min()?;
    Some((first, last))
}

/// The reads with a stamp up to `latest` that a write revisits, so that they read from it instead.
fn readers_to_revisit(graph: &Graph, id: Id, mut latest: u32) -> Vec<Id> {
    let write = graph.at(id);
    if let Kind::Write { is_exchange: true } = write.kind {
        // The exchange that is in its place has to be removed.
        let source = source_of_exchange(graph, id);
        match graph.exchange_after(source) {
            Some(other) if other.id.is_in(&write.porf) => return Vec::new(),
            Some(other) => latest = latest.min(other.stamp - 1),
            None => {}
        }
    }
    let unknown = graph.unknown(write.place, write.porf);
    let stamps = graph.settled + 1..=latest;
    let reads = unknown.filter(|event| event.kind.is_read() && stamps.contains(&event.stamp));
    let mut reads: Vec<_> = reads.collect();
    reads.sort_unstable_by_key(|read| Reverse(read.stamp));
    // The revisit of an earlier read removes all that the revisit of a later one does.
    let mut checked = u32::MAX;
    let may_revisit = |read: &&Event| {
        let stamps = read.stamp..core::mem::replace(&mut checked, read.stamp);
        may_remove(graph, stamps, &write.porf, id)
    };
    let reads = reads.into_iter().take_while(may_revisit);
    let mut reads: Vec<_> = reads.map(|read| read.id).collect();
    reads.sort_unstable();
    reads
}

/// Whether a revisit by `id` may remove what has these stamps, except what is known. Of all graphs
/// that would lead to the same graph, only one may.
fn may_remove(graph: &Graph, stamps: Range<u32>, known: &Clock, id: Id) -> bool {
    let removed = graph.added(stamps.start - 1, known);
    let mut removed = removed.filter(|event| event.stamp < stamps.end);
    removed.all(|event| is_maximal(graph, event, known, id))
}

/// The graph in which a thread keeps spinning, although its last iteration changed nothing. Like a
/// revisit, it removes what the other threads have done that this one does not know of, and only
/// one graph leads to it. Threads that resume spin loops independently do so in the order of their
/// paths.
pub(crate) fn go_on(graph: &Graph, thread: u8) -> Option<Graph> {
    let next = graph.next(thread);
    let known = graph.at(next.previous()).porf;
    let unknown = graph.leavers.iter().rev();
    let mut unknown = unknown.take_while(|last| !last.is_in(&known));
    if unknown.any(|last| graph.path(last.thread) > graph.path(thread))
        || !may_remove(graph, graph.settled + 1..u32::MAX, &known, next)
    {
        return None;
    }
    let mut graph = graph.clone();
    graph.truncate(graph.settled, &known);
    graph.leavers.push(next);
    graph.went_on[usize::from(thread)] = next.index + 1;
    graph.settled = graph.stamps;
    Some(graph)
}

/// Whether an event that a revisit by `id` removes read from, or was, the last write when it was
/// added, and had the first of its outcomes. The revisit keeps what is `known`.
fn is_maximal(graph: &Graph, event: &Event, known: &Clock, id: Id) -> bool {
    let was_there =
        |other: &Event| other.stamp <= event.stamp || other.id.is_in(known) && other.id != id;
    if let Kind::Drop { is_last } = event.kind {
        let mut others = graph
            .all_accesses(event.place)
            .filter(|other| other.id != event.id);
        return match is_last {
            true => others.all(was_there),
            false => !others.any(|other| {
                matches!(other.kind, Kind::Drop { is_last: true }) && was_there(other)
            }),
        };
    }
    let (last, is_free) = match event.source {
        _ if event.kind.is_write() => (event.id, !graph.revisits(event)),
        Some(source) => (source, was_there(graph.at(source))),
        None => return true,
    };
    // Whatever is newer than the next write was not there either, because that one is removed as
    // well, and was the last write when it was added. A receiver has one choice if its value was
    // there.
    let next = graph.at(last).newer.map(|next| graph.at(next));
    let is_last = event.takes() || !next.is_some_and(was_there);
    event.outcome == 0 && is_free && is_last
}
