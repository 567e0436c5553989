//! Why an execution failed: the accesses that race, the reads that would have ordered them, and the
//! halves that these reads lack.

use std::sync::atomic::Ordering;

use joint_facade::path;

use super::{
    analysis::Analysis,
    event::{Event, Step, Trace},
};

/// A read that would have synchronized with its store, if both halves had been there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) writer: usize,
    pub(super) reader: usize,
    pub(super) release: bool,
    pub(super) acquire: bool,
}

/// A store, and the later read of its thread that missed the other thread's store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Missed {
    pub(super) store: usize,
    pub(super) read: usize,
    /// Whether both are `SeqCst`, or there is such a fence between them.
    pub(super) ordered: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Two accesses are not ordered. `missing` is empty if no read leads from one to the other.
    Race {
        first: usize,
        second: usize,
        missing: Vec<Missing>,
    },
    /// A read of an old value, although a newer store had been made, and what would have ordered
    /// that store before the read.
    Stale {
        store: usize,
        read: usize,
        missing: Vec<Missing>,
    },
    /// Each of two threads stored, then read, and did not see the other's store.
    Handshake([Missed; 2]),
    /// These steps never return, one for each thread that has not ended.
    Stuck(Vec<usize>),
    /// These steps made handles of an `Arc` that are never dropped.
    Leak(Vec<usize>),
    /// None of these.
    Unknown,
}

/// The last access before `second` that conflicts with it and does not happen before it.
pub(super) fn rival(events: &[Event], known: &Analysis, second: usize) -> Option<usize> {
    (0..second)
        .rev()
        .find(|&i| events[i].conflicts(&events[second]) && !known.before(events, i, second))
}

pub(super) fn race(events: &[Event], known: &Analysis, first: usize, second: usize) -> Verdict {
    Verdict::Race {
        first,
        second,
        missing: would_be_path(events, known, first, second),
    }
}

/// The fewest reads that would make one step happen before the other.
fn would_be_path(events: &[Event], known: &Analysis, first: usize, second: usize) -> Vec<Missing> {
    let path = path(first, second, |step| steps_before(events, known, step));
    let path = path.map(|path| [(first, false)].into_iter().chain(path).collect());
    path.map_or(Vec::new(), |steps: Vec<_>| missing_on(events, &steps))
}

/// The steps right before a step, each with whether the edge to it is missing. A read may also
/// synchronize with what the read-modify-writes before its store have read.
fn steps_before(events: &[Event], known: &Analysis, step: usize) -> Vec<(usize, bool)> {
    let lane = events[step].lane;
    let own = events[..step].iter().rposition(|event| event.lane == lane);
    let made = known.edges.iter().filter(|edge| edge.to == step);
    let made = made.map(|edge| edge.from);
    let mut before: Vec<_> = own
        .into_iter()
        .chain(made)
        .map(|step| (step, false))
        .collect();
    let mut from = known.reads_from[step];
    while let Some(writer) = from {
        if events[writer].lane != lane && events[writer].is_atomic() {
            before.push((writer, true));
        }
        from = known.reads_from[writer].filter(|_| events[writer].is_update());
    }
    before
}

fn missing_on(events: &[Event], steps: &[(usize, bool)]) -> Vec<Missing> {
    let lacking = (0..steps.len()).filter(|&i| steps[i].1);
    let found = lacking.map(|i| {
        let (writer, reader) = (steps[i - 1].0, steps[i].0);
        // The path enters the writer's thread, and leaves the reader's thread, at these steps.
        let enters = steps[..i]
            .iter()
            .rev()
            .take_while(|s| events[s.0].lane == events[writer].lane);
        let enters = enters.last().map_or(writer, |step| step.0);
        let leaves = steps[i..]
            .iter()
            .take_while(|s| events[s.0].lane == events[reader].lane);
        let leaves = leaves.last().map_or(reader, |step| step.0);
        Missing {
            writer,
            reader,
            release: !(events[writer].releases() || fence(events, enters, writer, Event::releases)),
            acquire: !(events[reader].acquires() || fence(events, reader, leaves, Event::acquires)),
        }
    });
    found.collect()
}

/// Whether a thread executes a fence of that kind between two of its steps.
fn fence(events: &[Event], from: usize, to: usize, kind: fn(&Event) -> bool) -> bool {
    let lane = events[from].lane;
    let steps = events.get(from..=to).unwrap_or_default();
    steps
        .iter()
        .any(|e| e.lane == lane && e.step == Step::Fence && kind(e))
}

/// The last two stores and reads that missed each other.
pub(super) fn handshake(events: &[Event], known: &Analysis) -> Option<Verdict> {
    for read in (0..events.len()).rev() {
        for store in missed_stores(events, known, read) {
            let lane = events[store].lane;
            // A later read of the store's thread, which missed a store before `read`.
            let others = (store + 1..events.len())
                .rev()
                .filter(|&i| events[i].lane == lane);
            for other in others {
                let mine = missed_stores(events, known, other);
                let mine = mine
                    .into_iter()
                    .rev()
                    .find(|&mine| mine < read && events[mine].lane == events[read].lane);
                if let Some(mine) = mine {
                    let is_seq_cst = |event: &Event| event.order == Ordering::SeqCst;
                    let missed = |store, read| Missed {
                        store,
                        read,
                        ordered: [store, read].iter().all(|&step| is_seq_cst(&events[step]))
                            || fence(events, store, read, is_seq_cst),
                    };
                    return Some(Verdict::Handshake([
                        missed(mine, read),
                        missed(store, other),
                    ]));
                }
            }
        }
    }
    None
}

/// The last read before `end` that missed an earlier store, if reads lead from that store to it.
pub(super) fn stale(events: &[Event], known: &Analysis, end: usize) -> Option<Verdict> {
    (0..end).rev().find_map(|read| {
        let made = missed_stores(events, known, read);
        made.into_iter()
            .rev()
            .filter(|&store| store < read)
            .find_map(|store| {
                let missing = would_be_path(events, known, store, read);
                let found = Verdict::Stale {
                    store,
                    read,
                    missing,
                };
                (!found.missing().is_empty()).then_some(found)
            })
    })
}

/// The handles that are never dropped of the `Arc` whose handle was made last: if several leak, it
/// may hold the others.
pub(super) fn leak(trace: &Trace) -> Option<Verdict> {
    let events = &trace.events;
    let leaked = |index: &usize| {
        let made = &events[*index];
        let is_arc = made
            .place
            .is_some_and(|place| trace.places[place].kind == "Arc");
        let dropped = |handle| {
            let drop = Step::Drop(handle);
            events
                .iter()
                .any(|event| event.place == made.place && event.step == drop)
        };
        is_arc && handle(made).is_some_and(|handle| !dropped(handle))
    };
    let last = (0..events.len()).rev().find(leaked)?;
    let same = (0..events.len()).filter(|&index| events[index].place == events[last].place);
    Some(Verdict::Leak(same.filter(leaked).collect()))
}

/// The number of the `Arc`'s handle that a step makes.
pub(super) fn handle(event: &Event) -> Option<usize> {
    match event.step {
        Step::Clone(handle) => Some(handle),
        Step::Made(_) => Some(0),
        _ => None,
    }
}

impl Verdict {
    pub(super) fn missing(&self) -> &[Missing] {
        match self {
            Self::Race { missing, .. } | Self::Stale { missing, .. } => missing,
            _ => &[],
        }
    }
}

/// The stores of other threads to the same location that are newer than the one that a load read.
fn missed_stores(events: &[Event], known: &Analysis, read: usize) -> Vec<usize> {
    let event = &events[read];
    let Some(from) = known.reads_from[read].filter(|_| event.step == Step::Load) else {
        return Vec::new();
    };
    let newer = (from + 1..events.len()).filter(|&i| {
        let store = &events[i];
        store.place == event.place
            && store.lane != event.lane
            && store.is_atomic()
            && store.wrote().is_some()
    });
    newer.collect()
}
