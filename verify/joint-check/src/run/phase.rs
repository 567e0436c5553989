//! The phase of a run: which thread runs, and what a new step does.

use std::collections::VecDeque;

use super::{Attempt, Fault, Run, free::Trial, spin::Spin, unwind::Aside};
use crate::{explore::Choice, graph::Id};

/// What a run does now.
///
/// | phase | runs | a new step | entered | the execution |
/// |---|---|---|---|---|
/// | `Replaying` | any thread whose next step is in the graph | waits | at the start | |
/// | `Exploring` | the first ready thread | extends the graph in every way | when no thread can replay, or a spin ends | complete, blocked, or a deadlock or leak |
/// | `Following` | the thread that the line names | extends the graph in the way that the line names | at the start, if a failure is repeated | the same |
/// | `Spinning` | the thread that spins | the same as `Exploring`, but the other graphs are made when the loop ends | from `Exploring`, in a graph for a loop that may give up, or when all threads wait | |
/// | `Trying` | as `Replaying` | waits | at the start, if a drop may be too early | none |
/// | `Tried` | none | waits | a trial has come to the drop | none |
/// | `Doubtful` | none | waits | a drop may be too early | explored again, after a trial |
/// | `Discovered` | none | waits | a lazy static is used that the graph has no word for | explored again |
/// | `Blocked` | none | waits | a thread waits for a write that it has skipped, or has left a loop on trial | blocked: other graphs have its continuations |
/// | `Dead` | none | waits | a step has no place, or a loop spins without end in a graph of its own | none |
/// | `Failed` | none | waits | a fault is found | failed |
/// | `Unwinding` | threads that panic | is answered without the graph | after any other | as that one ended |
#[derive(Default)]
pub(super) enum Phase {
    #[default]
    Replaying,
    Exploring,
    /// The steps that are left: the thread, and what it chooses.
    Following(VecDeque<(u8, Choice)>),
    Spinning(Spin),
    Blocked,
    Dead,
    Failed(Fault),
    Trying(Box<Trial>),
    /// The accesses that std's `Arc` orders before the drop.
    Tried(Vec<Id>),
    Doubtful(Box<Trial>),
    /// The address of the static.
    Discovered(usize),
    Unwinding(Aside),
}

impl Phase {
    /// Whether new steps extend the graph.
    pub(super) fn extends(&self) -> bool {
        matches!(
            self,
            Self::Exploring | Self::Following(_) | Self::Spinning(_)
        )
    }

    /// Whether no thread runs any more, except to unwind.
    pub(super) fn is_over(&self) -> bool {
        matches!(
            self,
            Self::Blocked
                | Self::Dead
                | Self::Failed(_)
                | Self::Tried(_)
                | Self::Doubtful(_)
                | Self::Discovered(_)
        )
    }

    /// The loop in which the running thread keeps spinning.
    pub(super) fn spin(&mut self) -> Option<&mut Spin> {
        match self {
            Self::Spinning(spin) => Some(spin),
            _ => None,
        }
    }
}

impl Run {
    /// Ends the run with a fault.
    pub(super) fn fail(&mut self, fault: Fault) -> Attempt {
        self.phase = Phase::Failed(fault);
        Attempt::Wait
    }
}
