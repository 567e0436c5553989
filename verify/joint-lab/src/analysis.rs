//! Computes from the recorded steps, as the language defines it, which read reads from which store,
//! and what happens before what.

use std::sync::atomic::Ordering;

use super::event::{Event, Step};

/// For each thread, how many of its steps are known.
type Clock = Vec<usize>;

/// Why one step happens before one of another thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// An acquire that reads from a release.
    Synchronizes,
    /// Spawn, join, lock or unpark, which no ordering of an atomic makes.
    Other,
}

/// An edge between steps of different threads, by their indices in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) why: Why,
}

/// What follows from the recorded steps, for each of them.
#[derive(Debug, Default)]
pub(super) struct Analysis {
    pub(super) clocks: Vec<Clock>,
    pub(super) reads_from: Vec<Option<usize>>,
    /// Whether the read may also have read another store of the same value.
    pub(super) unsure: Vec<bool>,
    pub(super) edges: Vec<Edge>,
}

/// The releases of a store: what a thread learns by acquiring it, and from which steps.
type Released = Vec<(usize, Clock)>;

/// The state of the pass over the steps.
struct Pass<'a> {
    events: &'a [Event],
    known: Analysis,
    now: Vec<Clock>,
    /// For each step: what a read that acquires it learns.
    released: Vec<Released>,
    /// For each lane: the releases that its relaxed reads have seen, for a later acquire fence.
    seen: Vec<Released>,
    /// For each lane: its last release fence.
    fence: Vec<Option<(usize, Clock)>>,
    /// For each lane: the last step that unparked it.
    unparks: Vec<Option<usize>>,
    started: Vec<bool>,
}

pub(super) fn analyse(events: &[Event]) -> Analysis {
    let lanes = events.iter().map(|event| event.lane + 1).max().unwrap_or(0);
    let mut pass = Pass {
        events,
        known: Analysis::default(),
        now: vec![vec![0; lanes]; lanes],
        released: Vec::new(),
        seen: vec![Vec::new(); lanes],
        fence: vec![None; lanes],
        unparks: vec![None; lanes],
        started: vec![false; lanes],
    };
    for index in 0..events.len() {
        pass.step(index);
    }
    pass.known
}

impl Analysis {
    /// Whether a step happens before another. No step happens before itself.
    pub(super) fn before(&self, events: &[Event], first: usize, second: usize) -> bool {
        let lane = events[first].lane;
        first != second && self.clocks[first][lane] <= self.clocks[second][lane]
    }
}

impl Pass<'_> {
    fn step(&mut self, index: usize) {
        let event = &self.events[index];
        self.now[event.lane][event.lane] += 1;
        if event.stuck {
            self.known.reads_from.push(None);
            self.known.unsure.push(false);
            self.known.clocks.push(self.now[event.lane].clone());
            self.released.push(Released::new());
            return;
        }
        self.arrive(index);
        let from = event.read.and_then(|value| self.source_of(index, value));
        let (from, unsure) = from.map_or((None, false), |(from, unsure)| (Some(from), unsure));
        if let Some(from) = from {
            self.read(index, from);
        }
        self.known.reads_from.push(from);
        self.known.unsure.push(unsure);
        if event.step == Step::Fence {
            self.pass_fence(index);
        }
        let released = self.releases_of(index, from);
        self.released.push(released);
        let clock = self.now[event.lane].clone();
        self.known.clocks.push(clock);
    }

    /// The edges that no atomic makes.
    fn arrive(&mut self, index: usize) {
        let event = &self.events[index];
        let lane = event.lane;
        let started = std::mem::replace(&mut self.started[lane], true);
        let last =
            |matches: &dyn Fn(&Event) -> bool| self.events[..index].iter().rposition(matches);
        let from = match event.step {
            Step::Start(token) => last(&|e| e.step == Step::Spawn(token)),
            Step::Join(token) => {
                let start = last(&|e| e.step == Step::Start(token));
                let joined = start.map(|start| self.events[start].lane);
                last(&|e| e.step == Step::End && Some(e.lane) == joined)
            }
            Step::Receive => self.message(index),
            Step::Park => self.unparks[lane].take(),
            // If the spawn was not recorded, it is taken to precede the first step.
            _ if !started && lane > 0 => last(&|e| e.lane == 0),
            _ => None,
        };
        for earlier in self.let_in(index) {
            let clock = self.known.clocks[earlier].clone();
            self.join(index, earlier, &clock, Why::Other);
        }
        if let Step::Unpark(Some(target)) = event.step {
            if let Some(slot) = self.unparks.get_mut(target) {
                *slot = Some(index);
            }
        }
        if let Some(from) = from {
            let clock = self.known.clocks[from].clone();
            self.join(index, from, &clock, Why::Other);
        }
    }

    /// The earlier steps at the same place that happen before this one by the rules of the type: a
    /// lock is taken after it was let go, and the last handle that is dropped sees all that the
    /// others did.
    fn let_in(&self, index: usize) -> Vec<usize> {
        use Step::{Await, Drop, Lock, ReadLock, ReadUnlock, Signal, Unlock};
        let event = &self.events[index];
        let same = |earlier: &usize| self.events[*earlier].place == event.place;
        // Each of the steps that end an interval has seen all before it.
        let ends = match event.step {
            Await => Some(Await),
            Lock | ReadLock => Some(Lock),
            _ => None,
        };
        let earlier = (0..index).rev().filter(same);
        let earlier = earlier.take_while(|&earlier| Some(self.events[earlier].step) != ends);
        let lets = |earlier: &usize| match event.step {
            Await => self.events[*earlier].step == Signal,
            Lock => matches!(self.events[*earlier].step, Unlock | ReadUnlock),
            ReadLock => self.events[*earlier].step == Unlock,
            Drop(_) => matches!(self.events[*earlier].step, Drop(_)),
            _ => false,
        };
        earlier.filter(lets).collect()
    }

    /// The step that sent the message which this one receives.
    fn message(&self, index: usize) -> Option<usize> {
        let place = self.events[index].place;
        let all = |step| {
            let events = self.events[..index].iter().enumerate();
            events.filter(move |(_, event)| event.place == place && event.step == step)
        };
        let received = all(Step::Receive).count();
        all(Step::Send).nth(received).map(|(sent, _)| sent)
    }

    fn join(&mut self, index: usize, from: usize, clock: &Clock, why: Why) {
        let lane = self.events[index].lane;
        for (mine, theirs) in self.now[lane].iter_mut().zip(clock) {
            *mine = (*mine).max(*theirs);
        }
        let edge = Edge {
            from,
            to: index,
            why,
        };
        if self.events[from].lane != lane && !self.known.edges.contains(&edge) {
            self.known.edges.push(edge);
        }
    }

    /// The store from which a read took its value, and whether it may have been another.
    fn source_of(&self, index: usize, value: u64) -> Option<(usize, bool)> {
        let event = &self.events[index];
        let stores: Vec<usize> = (0..index)
            .filter(|&i| self.events[i].place == event.place && self.events[i].wrote().is_some())
            .collect();
        let lane = event.lane;
        let known = |i: usize| {
            let writer = self.events[i].lane;
            self.known.clocks[i][writer] <= self.now[lane][writer]
        };
        // A store that was overwritten by one that this thread knows of can no longer be read.
        let oldest = stores.iter().rposition(|&i| known(i)).unwrap_or(0);
        let mut fitting = stores[oldest.min(stores.len())..]
            .iter()
            .rev()
            .filter(|&&i| self.events[i].wrote() == Some(value));
        let newest = fitting.next();
        let unsure = fitting.next().is_some() && !event.is_update();
        match newest {
            Some(&newest) => Some((newest, unsure)),
            // Stores that race are not always ordered as they ran.
            None => {
                let any = stores
                    .iter()
                    .rev()
                    .find(|&&i| self.events[i].wrote() == Some(value));
                any.map(|&i| (i, true))
            }
        }
    }

    fn read(&mut self, index: usize, from: usize) {
        let event = &self.events[index];
        let released = self.released[from].clone();
        if event.acquires() {
            for (by, clock) in &released {
                self.join(index, *by, clock, Why::Synchronizes);
            }
        }
        self.seen[event.lane].extend(released);
    }

    fn pass_fence(&mut self, index: usize) {
        let event = &self.events[index];
        if event.acquires() {
            for (by, clock) in std::mem::take(&mut self.seen[event.lane]) {
                self.join(index, by, &clock, Why::Synchronizes);
            }
        }
        if event.order != Ordering::Acquire {
            self.fence[event.lane] = Some((index, self.now[event.lane].clone()));
        }
    }

    fn releases_of(&self, index: usize, from: Option<usize>) -> Released {
        let event = &self.events[index];
        let mut released = Released::new();
        if event.wrote().is_none() {
            return released;
        }
        if event.is_atomic() && event.releases() {
            released.push((index, self.now[event.lane].clone()));
        } else if event.is_atomic() {
            released.extend(self.fence[event.lane].clone());
        }
        // A read-modify-write continues the release sequence of the store that it has read.
        if let (true, Some(from)) = (event.is_update(), from) {
            released.extend(self.released[from].iter().cloned());
        }
        released
    }
}
