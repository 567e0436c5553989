//! [`State`]: who may touch a future that one side polls and another side may cancel, and who drops
//! the cell.
//!
//! | bit | means |
//! |---|---|
//! | `TAKEN` | the future is being polled, or has ended |
//! | `CANCELLED` | it was cancelled |
//! | `DRIVER_LEFT` | the driver has given up its reference to the cell |
//! | `HANDLES_LEFT` | the handles have given up theirs, which they have together |
//!
//! The word starts at 0.
//!
//! | operation | instruction | what was there -> what to do |
//! |---|---|---|
//! | begin a poll | `load`; unless `TAKEN` or `CANCELLED` is there, `+ TAKEN` | either of them: nothing is left. Otherwise: poll |
//! | suspend | `- TAKEN` | `CANCELLED`: the poller drops the future. Otherwise: pending |
//! | end | none, `TAKEN` stays | the poller drops the future |
//! | cancel | `load`; unless the driver has left, or finds it cancelled, `or CANCELLED` | neither `TAKEN` nor `CANCELLED`: the canceller drops the future. Otherwise: nothing |
//! | leave | `load`; unless the other side has left, `+` the bit of this side | the other side has left: drop the cell. Otherwise: touch it no more |
//!
//! Exactly one side is told to drop the future. `CANCELLED` is never cleared, so only the first
//! `cancel` can find it and `TAKEN` unset, and no poll begins after it. A later `cancel`, also one
//! from within a destructor that runs in the first one, does nothing. A side leaves once, after
//! everything else that it does.
//!
//! A poll can unwind after the end, out of a waker. `TAKEN` stays then too, so a poller that polls
//! again finds it, and does not add it a second time, which would carry into the next bits.
//!
//! Rejected: an atomic operation at the end of the future. A canceller that comes later finds
//! `TAKEN`, or that the driver has left, which is what it has to do: nothing.

use joint_switch::{AtomicUsize, Retire, order};

const TAKEN: usize = 1;
const CANCELLED: usize = 2;
const DRIVER_LEFT: usize = 4;
const HANDLES_LEFT: usize = 8;

#[derive(Debug)]
pub(crate) struct State(AtomicUsize);

/// The action of a poll that begins.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Begun {
    /// Poll the future, which is the caller's until it suspends.
    Poll,
    /// Nothing: the future has ended, or was cancelled and is the canceller's.
    Over,
}

/// The action after a pending poll.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Suspended {
    /// Nothing: the future is nobody's until the next poll.
    Idle,
    /// Drop the future, which was cancelled while it was polled.
    DropFuture,
}

/// The action of a canceller.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cancelled {
    /// Drop the future.
    DropFuture,
    /// Nothing: the poller has the future, or it was cancelled before.
    Nothing,
}

/// The duty of a side that leaves.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// Touch the cell no more: the other side uses it, and drops it.
    Other,
    /// Drop the cell, and free its memory if it has its own.
    Free,
}

/// The sides that have a reference to the cell.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    Driver,
    Handles,
}

impl State {
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Only the poller calls this, when no poll of its own is under way.
    pub(super) fn begin(&self) -> Begun {
        // ORDERING: begin_look. Relaxed: after a cancellation the caller touches nothing of the
        // content. Only the caller sets `TAKEN`, so it sees its own.
        if self.0.load(order!(begin_look: Relaxed)) & (TAKEN | CANCELLED) != 0 {
            return Begun::Over;
        }
        // ORDERING: begin. Relaxed: one poll of a future happens before the next. A canceller that
        // finds the future idle before this touches it, and this finds `CANCELLED`.
        match self.0.fetch_add(TAKEN, order!(begin: Relaxed)) & CANCELLED {
            0 => Begun::Poll,
            _ => Begun::Over,
        }
    }

    /// Only the poller calls this, after a `begin` that returned `Poll`.
    pub(super) fn suspend(&self) -> Suspended {
        // ORDERING: suspend. Release, with the Acquire of `cancel`: the poll is over before a
        // canceller drops the future. Acquire, with the Release of `cancel`: what the canceller did
        // before is visible to the destructors that run here.
        match self.0.fetch_sub(TAKEN, order!(suspend: AcqRel)) & CANCELLED {
            0 => Suspended::Idle,
            _ => Suspended::DropFuture,
        }
    }

    /// Each side may call this at any time before it leaves.
    pub(super) fn cancel(&self, side: Side) -> Cancelled {
        let never = match side {
            Side::Driver => CANCELLED,
            Side::Handles => DRIVER_LEFT,
        };
        // ORDERING: cancel_look. Relaxed: nothing is touched after the end.
        if self.0.load(order!(cancel_look: Relaxed)) & never != 0 {
            return Cancelled::Nothing;
        }
        // ORDERING: cancel. Acquire, with the Release of `suspend`: the last poll is over before
        // the caller drops the future. Release, with the Acquire of `suspend`: what the caller did
        // before is visible to destructors that run on the poller's side.
        let before = self.0.fetch_or(CANCELLED, order!(cancel: AcqRel));
        match before & (TAKEN | CANCELLED | DRIVER_LEFT) {
            0 => Cancelled::DropFuture,
            _ => Cancelled::Nothing,
        }
    }

    /// Gives up the reference of a side, which calls this once, last.
    pub(super) fn leave(&self, side: Side) -> Left {
        let (this, other) = match side {
            Side::Driver => (DRIVER_LEFT, HANDLES_LEFT),
            Side::Handles => (HANDLES_LEFT, DRIVER_LEFT),
        };
        // ORDERING: left_alone. Acquire, with the Release of `leave`: all that the other side did
        // with the memory happens before it is freed.
        if self.0.load(order!(left_alone: Acquire)) & other != 0 {
            return Left::Free;
        }
        // ORDERING: leave. Release: all that this side did with the memory happens before it is
        // freed (`left_alone`, and the `leave` of the other side). Acquire: the same, if the other
        // side has left meanwhile.
        match self.0.fetch_add(this, order!(leave: AcqRel)) & other {
            0 => Left::Other,
            _ => Left::Free,
        }
    }

    /// Makes the last access before the memory is freed.
    pub(super) fn retire(&mut self) {
        self.0.retire();
    }
}

#[cfg(test)]
mod tests {
    use super::{Begun, Cancelled, Left, Side, State};

    /// The driver gives up its reference if a poll unwinds, so no driver does this.
    #[test]
    fn no_poll_begins_after_one_that_has_unwound_after_the_end() {
        let state = State::new();
        assert_eq!(state.begin(), Begun::Poll);
        for _ in 0..3 {
            assert_eq!(state.begin(), Begun::Over);
        }
        assert_eq!(state.cancel(Side::Handles), Cancelled::Nothing);
        assert_eq!(state.begin(), Begun::Over);
        assert_eq!(state.leave(Side::Handles), Left::Other);
        assert_eq!(state.leave(Side::Driver), Left::Free);
    }
}
