//! An execution graph: events in program order, reads-from, modification order, and the clocks from
//! which happens-before and `po ∪ rf` are read.

use core::sync::atomic::Ordering;
use std::sync::Arc;

use joint_facade::{acquires, releases};

mod event;
mod events;
mod order;

use events::Events;

pub use event::MAX_THREADS;
pub(crate) use event::{Clock, Event, Found, Freely, Id, Kind, Op, Others, Until, With, join};

/// An execution graph, possibly of a part of an execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) threads: Vec<Events>,
    pub(crate) spawned: [Option<Id>; MAX_THREADS],
    pub(crate) stamps: u32,
    /// How many events are `SeqCst` or fences of that ordering.
    pub(crate) sc: u32,
    /// How many choices other than the first led to this graph.
    pub(crate) deviations: usize,
    /// Whether a bound has left out graphs that follow from this one.
    pub(crate) is_cut: bool,
    /// The stamp at which each thread was blocked in a loop, or left out, or 0.
    pub(crate) waits: [u32; MAX_THREADS],
    /// Step + 1 at which each thread last resumed a spin loop, or 0.
    pub(crate) went_on: [u16; MAX_THREADS],
    /// The steps at which threads resumed spin loops, in the order of the exploration.
    pub(crate) leavers: Vec<Id>,
    /// The addresses of the lazy statics. The first steps of the main thread make their words.
    pub(crate) statics: Arc<Vec<usize>>,
    /// Reads up to this stamp keep their writes, because a spin loop was resumed after them.
    pub(crate) settled: u32,
}

impl Graph {
    pub(crate) fn new() -> Self {
        Self::with(Arc::default())
    }

    pub(crate) fn with(statics: Arc<Vec<usize>>) -> Self {
        let mut graph = Self {
            threads: vec![Events::default(); MAX_THREADS],
            ..Self::default()
        };
        graph.spawned[0] = Some(Id::ROOT);
        for n in 0..=statics.len() {
            let id = Id::ROOT.with_index(n as u16);
            let kind = if n == 0 { Kind::Spawn(0) } else { Kind::Atomic };
            graph.push(Event::new(id, kind, id, Ordering::Relaxed));
        }
        graph.statics = statics;
        graph
    }

    /// Whether an event is one of those with which each graph begins.
    pub(crate) fn is_given(&self, id: Id) -> bool {
        id.thread == 0 && usize::from(id.index) <= self.statics.len()
    }

    /// The location of a lazy static, if this graph has one.
    pub(crate) fn of_static(&self, key: usize) -> Option<Id> {
        let position = self.statics.iter().position(|&other| other == key)?;
        Some(Id::ROOT.with_index(position as u16 + 1))
    }

    pub(crate) fn at(&self, id: Id) -> &Event {
        &self.threads[usize::from(id.thread)][usize::from(id.index)]
    }

    pub(crate) fn at_mut(&mut self, id: Id) -> &mut Event {
        &mut self.threads[usize::from(id.thread)][usize::from(id.index)]
    }

    pub(crate) fn has_made(&self, place: Id) -> bool {
        let event = self.threads.get(usize::from(place.thread));
        let event = event.and_then(|thread| thread.get(usize::from(place.index)));
        event.is_some_and(|event| event.place == place)
    }

    /// The name of the next event of a thread.
    pub(crate) fn next(&self, thread: u8) -> Id {
        Id {
            thread,
            index: u16::try_from(self.threads[usize::from(thread)].len())
                .expect("a model has few events"),
        }
    }

    pub(crate) fn events(&self) -> impl Iterator<Item = &Event> {
        self.threads.iter().flat_map(|events| events.iter())
    }

    /// The events of a thread at a location, from the last to the first.
    pub(crate) fn accesses(&self, place: Id, thread: u8) -> impl Iterator<Item = &Event> {
        let before = move |number: u16| {
            Some(self.at(Id {
                thread,
                index: number.checked_sub(1)?,
            }))
        };
        let last = before(self.at(place).last[usize::from(thread)]);
        core::iter::successors(last, move |event| before(event.before))
    }

    /// The same of all threads.
    pub(crate) fn all_accesses(&self, place: Id) -> impl Iterator<Item = &Event> {
        (0..MAX_THREADS as u8).flat_map(move |thread| self.accesses(place, thread))
    }

    /// The accesses of all threads that a clock does not have.
    pub(crate) fn unknown(&self, place: Id, known: Clock) -> impl Iterator<Item = &Event> {
        let last = &self.at(place).last;
        let threads = (0..MAX_THREADS).filter(move |&thread| last[thread] > known[thread]);
        threads.flat_map(move |thread| {
            let accesses = self.accesses(place, thread as u8);
            accesses.take_while(move |event| !event.id.is_in(&known))
        })
    }

    /// Adds an event at the end of its thread, with its clocks.
    pub(crate) fn push(&mut self, mut event: Event) {
        self.stamps += 1;
        event.stamp = self.stamps;
        self.set_clocks(&mut event);
        self.sc += u32::from(event.is_sc());
        let (id, place) = (event.id, event.place);
        let thread = usize::from(id.thread);
        self.threads[thread].push(event);
        let last = core::mem::replace(&mut self.at_mut(place).last[thread], id.index + 1);
        self.at_mut(id).before = last;
    }

    /// Removes the last event of a thread.
    fn pop(&mut self, thread: usize) -> Option<Event> {
        let event = self.threads[thread].pop()?;
        self.sc -= u32::from(event.is_sc());
        if event.place == event.id || !self.has_made(event.place) {
            return Some(event);
        }
        self.at_mut(event.place).last[thread] = event.before;
        if let Some(older) = event.older {
            self.at_mut(older).newer = event.newer;
            match event.newer {
                Some(newer) => self.at_mut(newer).older = Some(older),
                None => self.at_mut(event.place).newest = older,
            }
        }
        Some(event)
    }

    /// Whether an earlier read reads from this write, because the write has revisited it.
    pub(crate) fn revisits(&self, write: &Event) -> bool {
        let read = write.revisited.filter(|&read| self.holds(read));
        read.map(|read| self.at(read))
            .is_some_and(|read| read.source == Some(write.id) && read.stamp < write.stamp)
    }

    /// How many handles there are, after the events of this clock or after all.
    pub(crate) fn handles(&self, count: Id, known: Option<&Clock>) -> u64 {
        let is_known = |event: &&Event| known.is_none_or(|known| event.id.is_in(known));
        let changes = self.all_accesses(count).filter(is_known);
        changes.fold(0, |handles, event| match event.kind {
            Kind::Drop { .. } => handles.wrapping_sub(1),
            _ => handles.wrapping_add(1),
        })
    }

    /// Makes a drop the last of its value. It is the last event of its thread.
    pub(crate) fn set_last(&mut self, drop: Id) {
        let event = self.pop(drop.thread.into());
        let mut event = event.expect("the thread ends with the drop");
        let stamp = event.stamp;
        (event.kind, event.look) = (Kind::Drop { is_last: true }, 0);
        self.push(event);
        self.at_mut(drop).stamp = stamp;
    }

    /// Lets a write revisit a read, which then reads from it and has this outcome. The read is the
    /// last event of its thread.
    pub(crate) fn set_source(&mut self, read: Id, source: Id, outcome: u8) {
        let mut event = self.threads[usize::from(read.thread)]
            .pop()
            .expect("the thread ends with the read");
        self.sc -= u32::from(event.is_sc());
        event.source = Some(source);
        event.value = self.at(source).written;
        event.outcome = outcome;
        event.look = 0;
        self.at_mut(source).revisited = Some(read);
        self.set_clocks(&mut event);
        self.sc += u32::from(event.is_sc());
        self.threads[usize::from(read.thread)].push(event);
    }

    /// Returns the events that happen before the next event of a thread.
    pub(crate) fn known(&self, thread: u8) -> Clock {
        self.known_before(self.next(thread))
    }

    /// Returns the events that happen before an event, which need not be there.
    pub(crate) fn known_before(&self, event: Id) -> Clock {
        self.reached_before(event)[0]
    }

    /// Returns the events that happen before an event, which need not be there, and those that come
    /// before it in `po ∪ rf`.
    pub(crate) fn reached_before(&self, event: Id) -> [Clock; 2] {
        let before = match event.index {
            0 => self.spawned[usize::from(event.thread)],
            _ => Some(event.previous()),
        };
        let before = before.map(|before| self.at(before));
        before.map_or_else(Default::default, |before| [before.hb, before.porf])
    }

    fn set_clocks(&self, event: &mut Event) {
        let thread = usize::from(event.id.thread);
        let none = [0; MAX_THREADS];
        (event.hb, event.porf) = (none, none);
        (event.fenced, event.pending, event.released) = (none, none, none);
        if let Some(before) = self.threads[thread].last() {
            (event.hb, event.porf) = (before.hb, before.porf);
            (event.fenced, event.pending) = (before.fenced, before.pending);
        } else if let Some(spawn) = self.spawned[thread].filter(|_| event.id != Id::ROOT) {
            (event.hb, event.porf) = (self.at(spawn).hb, self.at(spawn).porf);
        }
        event.hb[thread] = event.id.index + 1;
        event.porf[thread] = event.id.index + 1;
        let ordering = event.outcome().1;
        match event.kind {
            Kind::Read { .. } => {
                let source = self.at(event.source.expect("a read has a source"));
                join(&mut event.porf, &source.porf);
                if !event.reads_nothing() {
                    join(&mut event.pending, &source.released);
                }
                if acquires(ordering) {
                    join(&mut event.hb, &source.released);
                }
            }
            Kind::Write { is_exchange } => {
                let own = if releases(ordering) {
                    event.hb
                } else {
                    event.fenced
                };
                event.released = own;
                if is_exchange {
                    let read = self.at(event.id.previous());
                    let source = self.at(read.source.expect("an exchange has read"));
                    join(&mut event.released, &source.released);
                }
            }
            Kind::Fence => {
                if acquires(ordering) {
                    let pending = event.pending;
                    join(&mut event.hb, &pending);
                }
                if releases(ordering) {
                    event.fenced = event.hb;
                }
            }
            Kind::Drop { is_last: true } => {
                for other in self.all_accesses(event.place) {
                    if let Kind::Drop { .. } = other.kind {
                        join(&mut event.porf, &other.porf);
                        join(&mut event.hb, &other.hb);
                    }
                }
            }
            Kind::Join(child, until) => {
                let end = self.joined(child, until).map(|end| self.at(end));
                let end = end.expect("a thread that has ended has an event");
                join(&mut event.porf, &end.porf);
                join(&mut event.hb, &end.hb);
            }
            _ => {}
        }
    }

    /// The event of a thread for which a join waits, if the thread has come to it.
    pub(crate) fn joined(&self, thread: u8, until: Until) -> Option<Id> {
        let mut events = self.threads[usize::from(thread)].iter().rev();
        let end = match until {
            Until::End => events
                .next()
                .filter(|event| matches!(event.kind, Kind::End)),
            Until::Leave => {
                let mut ends = events.filter(|event| matches!(event.kind, Kind::End | Kind::Leave));
                let last = ends.next();
                ends.next().or(last)
            }
        };
        end.map(|end| end.id)
    }

    /// Removes the events that were added after `stamp` and are not in `prefix`.
    pub(crate) fn truncate(&mut self, stamp: u32, prefix: &Clock) {
        for thread in 0..MAX_THREADS {
            let kept = self.added_after(stamp, prefix, thread);
            while self.threads[thread].len() > kept {
                self.pop(thread);
            }
        }
        for thread in 1..MAX_THREADS {
            self.spawned[thread] = self.spawned[thread].filter(|&spawn| self.holds(spawn));
        }
        let waits = self.waits.iter_mut().filter(|waits| **waits > stamp);
        waits.for_each(|waits| *waits = 0);
        for (went_on, events) in self.went_on.iter_mut().zip(&self.threads) {
            *went_on = (*went_on).min(events.len() as u16 + 1);
        }
    }

    /// Removes an event and everything that was added after it, if the graph has it.
    pub(crate) fn undo(&mut self, id: Id) {
        if self.holds(id) {
            self.truncate(self.at(id).stamp - 1, &[0; MAX_THREADS]);
        }
    }

    /// The number of the first event of a thread that was added after `stamp` and is not `known`.
    fn added_after(&self, stamp: u32, known: &Clock, thread: usize) -> usize {
        let events = &self.threads[thread];
        let before = events.partition_point(|event| event.stamp <= stamp);
        before.max(usize::from(known[thread]))
    }

    /// The events that were added after `stamp` and are not `known`.
    pub(crate) fn added(&self, stamp: u32, known: &Clock) -> impl Iterator<Item = &Event> {
        (0..MAX_THREADS).flat_map(move |thread| {
            let first = self.added_after(stamp, known, thread);
            &self.threads[thread][first..]
        })
    }

    pub(crate) fn wait(&mut self, thread: u8) {
        self.stamps += 1;
        self.waits[usize::from(thread)] = self.stamps;
    }

    /// The write that a read reads from, if it repeats what its thread did `period` steps before.
    pub(crate) fn repeated(&self, id: Id, period: u16) -> Option<Id> {
        let index = id.index.checked_sub(period)?;
        let mut source = self.at(Id { index, ..id }).source?;
        if source.thread == id.thread && source.index + period >= index {
            source.index += period;
        }
        Some(source)
    }

    /// Whether all is done that comes before an event in `po ∪ rf`, except in its own thread.
    pub(crate) fn comes_after(&self, event: Id, done: impl Fn(usize) -> u16) -> bool {
        let mut before = (0..).zip(self.at(event).porf);
        before.all(|(thread, before)| thread == usize::from(event.thread) || done(thread) >= before)
    }

    pub(crate) fn holds(&self, id: Id) -> bool {
        usize::from(id.index) < self.threads[usize::from(id.thread)].len()
    }

    pub(crate) fn race(&self, event: &Event) -> Option<&Event> {
        if !event.kind.is_access() {
            return None;
        }
        let concurrent = self.unknown(event.place, event.hb);
        let racing = concurrent.filter(|other| conflict(other, event));
        racing.min_by_key(|other| other.id)
    }

    /// The steps of the spawns that lead to a thread. They name the thread in all graphs, whereas
    /// its number depends on which threads existed before.
    pub(crate) fn path(&self, thread: u8) -> [u16; MAX_THREADS] {
        let parent = |&id: &Id| self.spawned[usize::from(id.thread)].filter(|_| id.thread != 0);
        let spawn = self.spawned[usize::from(thread)].filter(|_| thread != 0);
        let mut path = [0; MAX_THREADS];
        let chain = core::iter::successors(spawn, parent);
        let depth = chain.clone().count();
        for (n, spawn) in chain.enumerate() {
            path[depth - 1 - n] = spawn.index;
        }
        path
    }

    /// The graph without its values and stamps: the same for the same execution. What a thread does
    /// follows from what it has read, so the kinds of the events are not needed.
    pub(crate) fn canonical(&self) -> Vec<u64> {
        let mut threads: Vec<_> = (0..MAX_THREADS as u8).collect();
        threads.retain(|&thread| self.spawned[usize::from(thread)].is_some());
        threads.sort_by_key(|&thread| self.path(thread));
        let mut names = [0; MAX_THREADS];
        for (name, &thread) in (0..).zip(&threads) {
            names[usize::from(thread)] = name;
        }
        let name = |id: Id| names[usize::from(id.thread)] << 16 | u64::from(id.index);
        let mut all = Vec::new();
        for &thread in &threads {
            all.extend(self.path(thread).map(u64::from));
            for event in self.threads[usize::from(thread)].iter() {
                let source = event.source.map_or(u64::MAX, name);
                let source = match event.kind {
                    Kind::Drop { is_last } => is_last.into(),
                    _ => source,
                };
                let outcome = event.outcome.into();
                all.extend([name(event.id), name(event.place), source, outcome]);
            }
        }
        for &thread in &threads {
            all.extend(self.orders(thread).map(|(_, write)| name(write)));
        }
        all
    }
}

pub(crate) fn conflict(a: &Event, b: &Event) -> bool {
    use Kind::{Atomic, Cell, CellWrite, Count, Exclusive, PlainRead, Write};
    let alone = |event: &Event| matches!(event.kind, Atomic | Count | Exclusive | Cell | CellWrite);
    // An exchange that is taken for a load has written all the same. Any other has a write.
    let is_merged = |event: &Event| event.is_exchange() && event.outcome().0.is_none();
    let writes = |event: &Event| matches!(event.kind, Write { .. }) || is_merged(event);
    let is_plain_beside = |a: &Event, b: &Event| matches!(a.kind, PlainRead) && writes(b);
    alone(a) || alone(b) || is_plain_beside(a, b) || is_plain_beside(b, a)
}
