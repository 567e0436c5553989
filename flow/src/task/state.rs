//! [`State`]: who may touch a future that one side polls and another side may cancel.
//!
//! | word | means | who may touch the future |
//! |---|---|---|
//! | `IDLE` | not polled yet, or suspended | nobody |
//! | `TAKEN` | being polled, or ended | the poller |
//! | `CANCELLED` | cancelled | the side that the operation below tells so; in the end nobody |
//!
//! | operation | instruction | before -> what to do |
//! |---|---|---|
//! | begin a poll | `compare_exchange(IDLE -> TAKEN)` | `IDLE`: poll. `CANCELLED`: nothing is left |
//! | suspend | `compare_exchange(TAKEN -> IDLE)` | `TAKEN`: pending. `CANCELLED`: the poller drops the future |
//! | end | none, the word stays `TAKEN` | the poller drops the future |
//! | cancel | `swap(CANCELLED)` | `IDLE`: the canceller drops the future. `TAKEN`, `CANCELLED`: nothing |
//!
//! Exactly one side is told to drop the future. `CANCELLED` is never left, so only the first
//! `cancel` can see `IDLE`, and no poll begins after it. A later `cancel`, also one from within a
//! destructor that runs in the first one, does nothing.
//!
//! Rejected: an atomic operation at the end of the future. A canceller that comes later finds
//! `TAKEN` and leaves, which is what it has to do.

use crate::sync::{AtomicUsize, order};

const IDLE: usize = 0;
const TAKEN: usize = 1;
const CANCELLED: usize = 2;

#[derive(Debug)]
pub(super) struct State(AtomicUsize);

/// What a poll that begins has to do.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Begun {
    /// Poll the future, which is the caller's until it suspends.
    Poll,
    /// Nothing: the future was cancelled, and is the canceller's.
    Cancelled,
}

/// What a poll that was pending has to do.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Suspended {
    /// Nothing: the future is nobody's until the next poll.
    Idle,
    /// Drop the future, which was cancelled while it was polled.
    DropFuture,
}

/// What a canceller has to do.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cancelled {
    /// Drop the future.
    DropFuture,
    /// Nothing: the poller has the future, or it was cancelled before.
    Nothing,
}

impl State {
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(IDLE))
    }

    /// Only the poller calls this, when no poll of its own is under way.
    pub(super) fn begin(&self) -> Begun {
        // ORDERING: begin, begin_failed. Relaxed: one poll of a future happens before the next, and
        // a canceller that finds IDLE after this has read it from `suspend`. After a failure the
        // caller touches nothing.
        let (done, failed) = (order!(begin: Relaxed), order!(begin_failed: Relaxed));
        match self.0.compare_exchange(IDLE, TAKEN, done, failed) {
            Ok(_) => Begun::Poll,
            Err(_) => Begun::Cancelled,
        }
    }

    /// Only the poller calls this, after a `begin` that returned `Poll`.
    pub(super) fn suspend(&self) -> Suspended {
        // ORDERING: suspend. Release, with the Acquire of `cancel`: the poll is over before a
        // canceller drops the future.
        let done = order!(suspend: Release);
        // ORDERING: suspend_failed. Acquire, with the Release of `cancel`: what the canceller did
        // before is visible to the destructors that run here.
        let failed = order!(suspend_failed: Acquire);
        match self.0.compare_exchange(TAKEN, IDLE, done, failed) {
            Ok(_) => Suspended::Idle,
            Err(_) => Suspended::DropFuture,
        }
    }

    /// Any thread may call this, at any time.
    pub(super) fn cancel(&self) -> Cancelled {
        // ORDERING: cancel. Acquire, with the Release of `suspend`: the last poll is over before
        // the caller drops the future. Release, with the Acquire of `suspend_failed`: what the
        // caller did before is visible to destructors that run on the poller's side.
        match self.0.swap(CANCELLED, order!(cancel: AcqRel)) {
            IDLE => Cancelled::DropFuture,
            _ => Cancelled::Nothing,
        }
    }
}
