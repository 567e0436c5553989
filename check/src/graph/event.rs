//! An event, and the clocks from which happens-before and `po ∪ rf` are read.

use core::sync::atomic::Ordering;

/// The largest number of threads of a model, the main thread included.
pub const MAX_THREADS: usize = 8;

/// How many events of each thread come before, or are, an event.
pub(crate) type Clock = [u16; MAX_THREADS];

/// Adds to `clock` what comes before `other`.
pub(crate) fn join(clock: &mut Clock, other: &Clock) {
    for (mine, &theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(theirs);
    }
}

/// The name of an event: its thread, and its number in that thread. The event that makes a location
/// gives the location its name.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Id {
    pub(crate) thread: u8,
    pub(crate) index: u16,
}

impl Id {
    /// The event that starts the main thread.
    pub(crate) const ROOT: Self = Self {
        thread: 0,
        index: 0,
    };

    /// Whether it is among the events that a clock counts.
    pub(crate) fn is_in(self, clock: &Clock) -> bool {
        clock[usize::from(self.thread)] > self.index
    }

    /// The event before it in its thread.
    pub(crate) fn previous(self) -> Self {
        Self {
            index: self.index - 1,
            ..self
        }
    }
}

/// The effect of an atomic operation on the value that it reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Load,
    Modify {
        with: fn(u64, u64) -> u64,
        operand: u64,
    },
    CompareExchange {
        current: u64,
        new: u64,
        /// Whether the thread is blocked where the comparison fails.
        awaits: bool,
    },
}

impl Op {
    /// The value that it writes after reading `value`, if it writes.
    pub(crate) fn writes(self, value: u64) -> Option<u64> {
        match self {
            Self::Load => None,
            Self::Modify { with, operand } => Some(with(value, operand)),
            Self::CompareExchange { current, new, .. } => (value == current).then_some(new),
        }
    }

    /// Whether reading `value` blocks the thread.
    pub(crate) fn blocks(self, value: u64) -> bool {
        matches!(self, Self::CompareExchange { current, awaits: true, .. } if value != current)
    }
}

/// The kind of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Starts a thread, and makes the location of its park token.
    Spawn(u8),
    Join(u8),
    End,
    /// Makes an atomic.
    Atomic,
    /// Makes a cell.
    Cell,
    Fence,
    Read {
        op: Op,
        failure: Ordering,
    },
    /// The write of an exchange comes right after its read.
    Write {
        is_exchange: bool,
    },
    /// An access to an atomic through an exclusive reference.
    Exclusive,
    CellRead,
    CellWrite,
}

impl Kind {
    pub(crate) fn is_write(self) -> bool {
        use Kind::{Atomic, Exclusive, Spawn, Write};
        matches!(self, Spawn(_) | Atomic | Write { .. } | Exclusive)
    }

    pub(crate) fn is_read(self) -> bool {
        matches!(self, Self::Read { .. })
    }

    /// A number that is the same for the same kind, for comparisons.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Spawn(_) => 0,
            Self::Join(_) => 1,
            Self::End => 2,
            Self::Atomic => 3,
            Self::Cell => 4,
            Self::Fence => 5,
            Self::Read { .. } => 6,
            Self::Write { .. } => 7,
            Self::Exclusive => 8,
            Self::CellRead => 9,
            Self::CellWrite => 10,
        }
    }
}

/// An event of a graph.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) id: Id,
    pub(crate) kind: Kind,
    /// Its location: its own name if it has none.
    pub(crate) place: Id,
    pub(crate) ordering: Ordering,
    /// The write that it reads from.
    pub(crate) source: Option<Id>,
    pub(crate) value: u64,
    pub(crate) written: u64,
    /// When it was added to the graph.
    pub(crate) stamp: u32,
    /// The events that happen before it.
    pub(crate) hb: Clock,
    /// The events before it in `po ∪ rf`.
    pub(crate) porf: Clock,
    /// The events that an acquiring read of this write acquires.
    pub(crate) released: Clock,
    /// The events that the last releasing fence of its thread released.
    pub(crate) fenced: Clock,
    /// The events that an acquiring fence after it would acquire.
    pub(crate) pending: Clock,
}

impl Event {
    pub(crate) fn new(id: Id, kind: Kind, place: Id, ordering: Ordering) -> Self {
        let none = [0; MAX_THREADS];
        Self {
            id,
            kind,
            place,
            ordering,
            source: None,
            value: 0,
            written: 0,
            stamp: 0,
            hb: none,
            porf: none,
            released: none,
            fenced: none,
            pending: none,
        }
    }

    /// Returns the value that a read writes, if it writes one, and the ordering that it then has.
    pub(crate) fn outcome(&self) -> (Option<u64>, Ordering) {
        let Kind::Read { op, failure } = self.kind else {
            return (None, self.ordering);
        };
        let written = op.writes(self.value);
        let succeeds = written.is_some() || matches!(op, Op::Load);
        (written, if succeeds { self.ordering } else { failure })
    }

    /// Whether it is a `SeqCst` access or fence.
    pub(crate) fn is_sc(&self) -> bool {
        let atomic = matches!(
            self.kind,
            Kind::Fence | Kind::Read { .. } | Kind::Write { .. }
        );
        atomic && self.outcome().1 == Ordering::SeqCst
    }
}

pub(crate) fn acquires(ordering: Ordering) -> bool {
    use Ordering::{AcqRel, Acquire, SeqCst};
    matches!(ordering, Acquire | AcqRel | SeqCst)
}

pub(crate) fn releases(ordering: Ordering) -> bool {
    use Ordering::{AcqRel, Release, SeqCst};
    matches!(ordering, Release | AcqRel | SeqCst)
}
