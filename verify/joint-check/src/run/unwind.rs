//! What is done after the end of a run: a panic during which it ended, and the drops of statics.
//!
//! The destructors that a panic runs do operations as well. If one of them has no place, or waits,
//! the run ends there, but the panic was real: unless a `catch_unwind` of the model stops it, the
//! model fails. Such a thread therefore continues until its panic ends, and its operations are
//! answered without the graph, as if no other thread would run again.

use std::{collections::BTreeMap, thread::panicking};

use super::{Answer, Attempt, Panic, Phase, Request, Run, Status, drive::resume, with};
use crate::graph::{Id, Kind};

/// The changes that operations make after the run.
#[derive(Default)]
pub(super) struct Aside {
    /// The values that differ from those of the graph.
    values: BTreeMap<Id, u64>,
    steps: usize,
    drops_statics: bool,
}

/// Drops the lazy statics after the end of a run whose threads have all ended. std's are never
/// dropped, so what this does is checked for leaks alone.
pub(super) fn drop_statics() -> Option<Panic> {
    let statics = with(|run| {
        let has_ended = !run.phase.is_over() && run.unfinished().next().is_none();
        has_ended.then(|| core::mem::take(&mut run.statics))
    })?;
    if statics.is_empty() {
        return None;
    }
    let ended = with(|run| {
        run.start(0, move || drop(statics));
        let aside = Phase::Unwinding(Aside {
            drops_statics: true,
            ..Aside::default()
        });
        core::mem::replace(&mut run.phase, aside)
    });
    let panicked = resume(0);
    with(|run| {
        run.phase = ended;
        run.lanes[0].status = Status::Finished;
    });
    panicked
}

/// Ends the panics of all threads. Returns the first that nobody has caught.
pub(super) fn end_panics() -> Option<Panic> {
    let unwinding = Phase::Unwinding(Aside::default());
    let ended = with(|run| core::mem::replace(&mut run.phase, unwinding));
    let next = || with(|run| run.lanes.iter().position(|lane| lane.panics));
    let panicking = core::iter::from_fn(next);
    let panicked = panicking
        .into_iter()
        .find_map(|thread| resume(thread as u8));
    with(|run| run.phase = ended);
    panicked
}

impl Run {
    /// Answers a thread after the end of its run. Returns nothing before.
    pub(super) fn answer_unwinding(&mut self, request: Request) -> Option<Attempt> {
        let Phase::Unwinding(aside) = &mut self.phase else {
            return None;
        };
        if let Request::Dealloc(..) = request {
            return Some(super::spin::PASS);
        }
        aside.steps += 1;
        if !panicking() && !aside.drops_statics || aside.steps > self.limits.events {
            // The panic was caught, or a destructor waits, so this run finds nothing more.
            return Some(Attempt::Wait);
        }
        let (graph, values) = (&self.graph, &mut aside.values);
        let newest = |values: &BTreeMap<_, _>, place: Id| {
            let written = || match graph.at(graph.order(place).next_back()?) {
                count if matches!(count.kind, Kind::Count) => Some(graph.handles(place, None)),
                write => Some(write.written),
            };
            values.get(&place).copied().or_else(written).unwrap_or(0)
        };
        let mut answer = Answer::NONE;
        match request {
            Request::Make { value, .. } => {
                answer.id.index = u16::MAX - values.len() as u16;
                values.insert(answer.id, value);
            }
            Request::Access { place, op, .. } => {
                answer.value = newest(values, place);
                if let Some(written) = op.writes(answer.value, 0) {
                    values.insert(place, written);
                }
            }
            Request::Store { place, value, .. } => _ = values.insert(place, value),
            Request::Exclusive { place } | Request::PlainRead { place } => {
                (answer.id, answer.value) = (place, newest(values, place));
            }
            Request::Handle { count, drops } => {
                let before = newest(values, count);
                let after = if drops {
                    before.wrapping_sub(1)
                } else {
                    before + 1
                };
                values.insert(count, after);
                answer.value = u64::from(after == 0);
            }
            Request::Spawn | Request::Join(..) | Request::Discover(_) => {
                return Some(Attempt::Wait);
            }
            Request::Cell { .. }
            | Request::Fence(_)
            | Request::Look { .. }
            | Request::Leave
            | Request::End
            | Request::Again { .. }
            | Request::EndOfAccess(_)
            | Request::Free(_)
            | Request::Dealloc(..) => {}
        }
        Some(Attempt::Done(answer))
    }

    /// Sets a value that an exclusive access has left after the end of the run.
    pub(super) fn leave_aside(&mut self, place: Id, value: u64) -> bool {
        let Phase::Unwinding(aside) = &mut self.phase else {
            return false;
        };
        aside.values.insert(place, value);
        true
    }
}
