//! Data races, and the synchronizes-with edge that each lacks.

use crate::{Event, EventId, Execution, Location, Relation};

/// Two accesses of one location by two threads, at least one a write and at least one not atomic,
/// of which neither happens before the other.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Race {
    /// Where they meet.
    pub location: Location,
    /// One access: a write, the first thread's where both are.
    pub write: EventId,
    /// The other, a read or a write.
    pub other: EventId,
}

/// A place where one thread saw what another wrote, between the two accesses of a race, without a
/// synchronizes-with edge.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MissingEdge {
    /// The atomic write, or exchange, that was seen.
    pub from: EventId,
    /// The atomic read, or exchange, that saw it, directly or through exchanges.
    pub to: EventId,
    /// Whether the release half is lacking: neither `from` nor a fence between the access and it
    /// releases.
    pub lacks_release: bool,
    /// Whether the acquire half is lacking: neither `to` nor a fence between it and the access
    /// acquires.
    pub lacks_acquire: bool,
}

impl MissingEdge {
    /// The halves of `from` and `to` that would have made the edge, where `name` names the two.
    fn halves(&self, name: &impl Fn(EventId) -> String) -> String {
        let release = format!("the release half of {}", name(self.from));
        let acquire = format!("the acquire half of {}", name(self.to));
        match (self.lacks_release, self.lacks_acquire) {
            (true, true) => format!("{release} and {acquire}"),
            (true, false) => release,
            (false, _) => acquire,
        }
    }

    /// Says which halves of `from` and `to` would have made the edge.
    pub(crate) fn sentence(&self, name: impl Fn(EventId) -> String) -> String {
        format!("{} would have made the missing edge", self.halves(&name))
    }

    /// Says what would have made all the edges of a chain.
    pub(crate) fn chain_sentence(chain: &[Self], name: impl Fn(EventId) -> String) -> String {
        let halves: Vec<_> = chain.iter().map(|edge| edge.halves(&name)).collect();
        format!(
            "{} would have ordered them, through another thread",
            halves.join(" and ")
        )
    }
}

pub(crate) fn races(events: &[Event], hb: &Relation) -> Vec<Race> {
    let races = |a: EventId, b: EventId| {
        let (one, two) = (&events[a], &events[b]);
        one.location.is_some()
            && one.location == two.location
            && one.kind.writes()
            && (one.kind.is_plain() || two.kind.is_plain())
            && one.thread.zip(two.thread).is_some_and(|(one, two)| one != two)
            && !(hb.has(a, b) || hb.has(b, a))
            // Two writes race once.
            && (a < b || !two.kind.writes())
    };
    let pairs = Relation::of(events.len(), races);
    let race = |(write, other): (EventId, EventId)| {
        events[write].location.map(|location| Race {
            location,
            write,
            other,
        })
    };
    pairs.pairs().filter_map(race).collect()
}

impl Execution {
    /// The synchronizes-with edges that would each order the accesses of a race: one thread saw the
    /// other's write, and an ordering was too weak. There are none if neither thread saw the other,
    /// or saw it only through a third: see [`missing_chain`](Self::missing_chain).
    pub fn missing_edges(&self, race: &Race) -> Vec<MissingEdge> {
        let there = self.missing_from(race.write, race.other);
        let back = self.missing_from(race.other, race.write);
        there.into_iter().chain(back).collect()
    }

    /// The fewest synchronizes-with edges that would order the accesses of a race together, where
    /// one thread saw something of the other's only through further threads.
    pub fn missing_chain(&self, race: &Race) -> Vec<MissingEdge> {
        let there = self.chains(race.write, race.other);
        let back = self.chains(race.other, race.write);
        let all = there.into_iter().chain(back);
        all.min_by_key(Vec::len).unwrap_or_default()
    }

    /// What is missing on each way from `a` to `b` on which threads see what others wrote.
    fn chains(&self, a: EventId, b: EventId) -> Vec<Vec<MissingEdge>> {
        let at_or_before = self.edges.po.or_same();
        let seen = self.seen_through_exchanges();
        let thread = |id: EventId| self.events[id].thread;
        let mut left: Vec<Vec<(EventId, EventId)>> = vec![Vec::new()];
        let mut found = Vec::new();
        while let Some(hops) = left.pop() {
            let enters = core::iter::once(a).chain(hops.iter().map(|&(_, to)| to));
            let here = hops.last().map_or(a, |&(_, to)| to);
            if at_or_before.has(here, b) {
                let leaves = hops.iter().skip(1).map(|&(from, _)| from);
                let ends = enters.zip(leaves.chain([b])).zip(&hops);
                let edges = ends.map(|((enter, leave), &(from, to))| {
                    self.missing_edge((enter, from), (to, leave))
                });
                found.push(
                    edges
                        .filter(|edge| edge.lacks_release || edge.lacks_acquire)
                        .collect(),
                );
                continue;
            }
            let visited: Vec<_> = enters.map(thread).collect();
            for (from, to) in seen.pairs() {
                if at_or_before.has(here, from) && !visited.contains(&thread(to)) {
                    left.push([&hops[..], &[(from, to)]].concat());
                }
            }
        }
        found
    }

    /// The missing edges that would make `a` happen before `b`.
    fn missing_from(&self, a: EventId, b: EventId) -> Vec<MissingEdge> {
        let at_or_before = self.edges.po.or_same();
        let seen = self.seen_through_exchanges();
        let between = seen.pairs().filter(|&(from, to)| {
            at_or_before.has(a, from)
                && at_or_before.has(to, b)
                && self.events[from].thread != self.events[to].thread
        });
        between
            .map(|(from, to)| self.missing_edge((a, from), (to, b)))
            .collect()
    }

    /// Each atomic write, to those who read it or an exchange of its release sequence.
    fn seen_through_exchanges(&self) -> Relation {
        let exchanged = self
            .edges
            .rf
            .filter(|_, to| self.events[to].kind.is_exchange());
        let seen = exchanged.closure().or_same().then(&self.edges.rf);
        seen.filter(|from, to| ![from, to].iter().any(|&id| self.events[id].kind.is_plain()))
    }

    /// Returns which halves of the edge from `from`, after `a`, to `to`, before `b`, are missing. A
    /// fence counts only if it orders `a` and `b` too.
    fn missing_edge(
        &self,
        (a, from): (EventId, EventId),
        (to, b): (EventId, EventId),
    ) -> MissingEdge {
        let po = &self.edges.po;
        let fence_between = |start, end, fits: fn(&Event) -> bool| {
            let mut fences = self
                .events
                .iter()
                .enumerate()
                .filter(|(_, event)| event.is_fence());
            fences.any(|(id, event)| po.has(start, id) && po.has(id, end) && fits(event))
        };
        let released = self.events[from].releases() || fence_between(a, from, Event::releases);
        let acquired = self.events[to].acquires() || fence_between(to, b, Event::acquires);
        MissingEdge {
            from,
            to,
            lacks_release: !released,
            lacks_acquire: !acquired,
        }
    }
}
