//! An event, and the clocks from which happens-before and `po ∪ rf` are read.

use core::{mem::discriminant, sync::atomic::Ordering};

use joint_facade::releases;

/// The largest number of threads of a model, the main thread included.
pub const MAX_THREADS: usize = 8;

/// How many events of each thread come before, or are, an event.
pub(crate) type Clock = [u16; MAX_THREADS];

/// Adds the events of `other` to `clock`.
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

    pub(crate) fn next(self) -> Self {
        self.with_index(self.index + 1)
    }

    pub(crate) fn previous(self) -> Self {
        self.with_index(self.index - 1)
    }

    pub(crate) fn with_index(self, index: u16) -> Self {
        Self { index, ..self }
    }
}

/// The value to write, from the value that was read and the operands.
pub(crate) type With = fn(u64, [u64; 2]) -> Option<u64>;

/// The effect of an atomic operation on the value that it reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Load,
    Update {
        with: With,
        operands: [u64; 2],
        /// Whether the thread is blocked if `with` returns nothing.
        awaits: bool,
        others: Others,
    },
    /// The exchange of a `fetch_update`, after its load has read `current`. Where it would read
    /// another value, the thread is blocked for good: the load of another execution reads that.
    Confirm {
        current: u64,
        new: u64,
    },
    /// Takes the first value of a channel that was not taken yet.
    Receive {
        /// What a receiver finds in a word of the channel, after so many values.
        found: fn(u64, u64) -> Option<Found>,
        after: u64,
        awaits: bool,
    },
}

/// What a receiver finds in a channel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Found {
    /// The write has added the next value. The receiver takes that although it may know of others.
    Next,
    Nothing,
    /// There will be no other value.
    End,
}

/// What an update may do beside its first outcome, for the same value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Others {
    None,
    /// The outcomes are as many as this returns for the value, and the second operand is the number
    /// of one.
    Chosen(fn(u64) -> u8),
    /// It fails, or the wait ends, for no reason.
    Spurious(Freely),
}

/// What may happen for no reason without a bound, once for each thread and location.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Freely {
    Nothing,
    /// The wait ends.
    Ends,
    /// The wait ends when it would anyway, but takes and acquires nothing.
    Ignores,
}

impl Op {
    /// The value that it writes after reading `value`, if it writes in that outcome.
    pub(crate) fn writes(self, value: u64, outcome: u8) -> Option<u64> {
        let (with, [first, second], others) = match self {
            Self::Load | Self::Receive { .. } => return None,
            Self::Confirm { current, new } => return (value == current).then_some(new),
            Self::Update {
                with,
                operands,
                others,
                ..
            } => (with, operands, others),
        };
        match others {
            Others::None => with(value, [first, second]),
            Others::Chosen(_) => with(value, [first, outcome.into()]),
            Others::Spurious(_) if outcome > 0 => None,
            Others::Spurious(_) => with(value, [first, second]),
        }
    }

    /// An update with one outcome for each value.
    pub(crate) fn update(with: With, operands: [u64; 2], awaits: bool) -> Self {
        Self::Update {
            with,
            operands,
            awaits,
            others: Others::None,
        }
    }

    /// An exchange of `current` for `new`, which blocks the thread if it `awaits` that value.
    pub(crate) fn exchange(current: u64, new: u64, awaits: bool) -> Self {
        let with = |value, [current, new]: [u64; 2]| (value == current).then_some(new);
        Self::update(with, [current, new], awaits)
    }

    /// The same, with these outcomes beside the first.
    pub(crate) fn or(mut self, may: Others) -> Self {
        if let Self::Update { others, .. } = &mut self {
            *others = may;
        }
        self
    }

    /// Writes `value`, whatever it reads.
    pub(crate) fn swap(value: u64) -> Self {
        Self::update(|_, [new, _]| Some(new), [value, 0], false)
    }

    pub(crate) fn awaits(self) -> bool {
        matches!(
            self,
            Self::Update { awaits: true, .. }
                | Self::Receive { awaits: true, .. }
                | Self::Confirm { .. }
        )
    }

    /// Whether reading `value` blocks the thread.
    pub(crate) fn blocks(self, value: u64, outcome: u8) -> bool {
        match self {
            Self::Receive { awaits, .. } => awaits && self.found(value) == Some(Found::Nothing),
            _ => self.awaits() && outcome == 0 && self.writes(value, 0).is_none(),
        }
    }

    /// What a receiver finds. Returns nothing for another operation, and for a write that has
    /// nothing to do with the next value.
    pub(crate) fn found(self, value: u64) -> Option<Found> {
        match self {
            Self::Receive { found, after, .. } => found(value, after),
            _ => None,
        }
    }
}

/// What a join waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Until {
    /// The end of the thread.
    End,
    /// The end of its closure, for which a scope waits.
    Leave,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Starts a thread, and makes the location of its park token.
    Spawn(u8),
    Join(u8, Until),
    /// The closure of a thread of a scope has ended. Its thread-locals are dropped next.
    Leave,
    End,
    /// Makes an atomic.
    Atomic,
    /// Makes a word of the checker's own, which need not happen before its uses.
    Word,
    /// Makes the count of a value's handles, of which there is one.
    Count,
    /// Makes another handle. As drops, these have no order.
    Clone,
    /// Drops a handle. The last comes after all others.
    Drop {
        is_last: bool,
    },
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
    /// A read of an atomic that is not atomic.
    PlainRead,
    CellRead,
    CellWrite,
}

impl Kind {
    pub(crate) fn is_write(self) -> bool {
        use Kind::{Atomic, Count, Exclusive, Spawn, Word, Write};
        matches!(
            self,
            Spawn(_) | Atomic | Count | Word | Write { .. } | Exclusive
        )
    }

    pub(crate) fn is_read(self) -> bool {
        matches!(self, Self::Read { .. })
    }

    /// Whether it accesses a location that was made before.
    pub(crate) fn is_access(self) -> bool {
        use Kind::{CellRead, CellWrite, Clone, Drop, Exclusive, PlainRead, Read, Write};
        matches!(
            self,
            Read { .. }
                | Write { .. }
                | Exclusive
                | PlainRead
                | CellRead
                | CellWrite
                | Clone
                | Drop { .. }
        )
    }

    /// Whether both are of one kind, whatever they do there.
    pub(crate) fn is_like(self, other: Self) -> bool {
        discriminant(&self) == discriminant(&other)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) id: Id,
    pub(crate) kind: Kind,
    /// Its location: its own name if it has none.
    pub(crate) place: Id,
    pub(crate) ordering: Ordering,
    /// Whether it is a load if it is an exchange that writes what it reads, and releases nothing.
    pub(crate) merges: bool,
    /// The write that it reads from.
    pub(crate) source: Option<Id>,
    pub(crate) value: u64,
    /// Which of the outcomes that its operation has for that value.
    pub(crate) outcome: u8,
    pub(crate) written: u64,
    /// When it was added to the graph.
    pub(crate) stamp: u32,
    /// The number + 1 of the event of its thread that accessed its location before, or 0.
    pub(super) before: u16,
    /// If it is a write: its neighbours in modification order.
    pub(super) older: Option<Id>,
    pub(crate) newer: Option<Id>,
    /// The read that it has revisited when it was added.
    pub(super) revisited: Option<Id>,
    /// If it makes a location: the last write of that, and each thread's last access, as `before`.
    pub(super) newest: Id,
    pub(super) last: Clock,
    /// Where its thread has looked again after it, or 0.
    pub(crate) look: u64,
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
            merges: false,
            source: None,
            value: 0,
            outcome: 0,
            written: 0,
            stamp: 0,
            before: 0,
            older: None,
            newer: None,
            revisited: None,
            newest: place,
            last: none,
            look: 0,
            hb: none,
            porf: none,
            released: none,
            fenced: none,
            pending: none,
        }
    }

    /// The operation of a read.
    pub(crate) fn op(&self) -> Option<Op> {
        match self.kind {
            Kind::Read { op, .. } => Some(op),
            _ => None,
        }
    }

    /// Returns the value that a read writes, if it writes one, and the ordering that it then has.
    pub(crate) fn outcome(&self) -> (Option<u64>, Ordering) {
        let Kind::Read { op, failure } = self.kind else {
            return (None, self.ordering);
        };
        let written = op.writes(self.value, self.outcome);
        let succeeds = written.is_some() || matches!(op, Op::Load | Op::Receive { .. });
        let ordering = if succeeds { self.ordering } else { failure };
        // Whoever reads from its write learns what a reader of the write before it learns.
        let releases = releases(ordering) || self.fenced != [0; MAX_THREADS];
        let is_load = self.merges && written == Some(self.value) && !releases;
        (written.filter(|_| !is_load), ordering)
    }

    pub(crate) fn is_store(&self) -> bool {
        matches!(self.kind, Kind::Write { is_exchange: false })
    }

    /// Whether a read writes, or would if it was not a load for that reason.
    pub(crate) fn is_exchange(&self) -> bool {
        self.op()
            .is_some_and(|op| op.writes(self.value, self.outcome).is_some())
    }

    /// Whether it takes a value of a channel, which orders nothing at that location.
    pub(crate) fn takes(&self) -> bool {
        self.op()
            .is_some_and(|op| op.found(self.value) == Some(Found::Next))
    }

    /// Whether it is a read that blocks its thread.
    pub(crate) fn blocks(&self) -> bool {
        self.op()
            .is_some_and(|op| op.blocks(self.value, self.outcome))
    }

    /// Whether it has failed, or ended a wait, for no reason.
    pub(crate) fn is_spurious(&self) -> bool {
        let Some(Op::Update { others, .. }) = self.op() else {
            return false;
        };
        matches!(others, Others::Spurious(_)) && self.outcome > 0
    }

    /// Whether this is a wait that has ended for no reason. Its source orders nothing.
    pub(crate) fn reads_nothing(&self) -> bool {
        self.is_spurious() && self.op().is_some_and(Op::awaits)
    }

    pub(crate) fn is_sc(&self) -> bool {
        let atomic = matches!(
            self.kind,
            Kind::Fence | Kind::Read { .. } | Kind::Write { .. }
        );
        atomic && self.outcome().1 == Ordering::SeqCst
    }
}
