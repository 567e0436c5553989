//! [`Readiness`]: what is known about one direction of a descriptor, in one word.
//!
//! | bit | means | set by | cleared by |
//! |---|---|---|---|
//! | `READY` | an operation is worth trying | creation, events | an operation that would have blocked |
//! | `WAITED` | a task has registered, and waits for the next event | the task | events |
//! | `UNSURE` | a short count does not show that there is no more | creation, events | never |
//! | `GONE` | no event will arrive any more | the end of the executor, creation with `UNASKED` | never |
//! | `UNASKED` | the direction was not registered | creation | never |
//! | the rest | the tick: the number of events so far | events | |
//!
//! A thread that wants to do something looks at the word, and tries the operation if `READY` is
//! set. If the operation would have blocked, the thread clears `READY`, unless an event has arrived
//! since the look: then the tick has changed. An event that the system reports between the attempt
//! and the clearing is therefore not lost. If the tick wraps round to the same value between the
//! two, after at least 2^27 events, the events are mistaken for none.
//!
//! A waiter registers first, and then sets `WAITED`, unless `READY` is set by now. An event sets
//! `READY` and clears `WAITED` in one exchange, and then wakes the registered waiters if `WAITED`
//! was set. One of the two exchanges sees the other.

use std::io;

use joint_switch::{AtomicUsize, order, recheck};

const READY: usize = 1;
const WAITED: usize = 1 << 1;
const UNSURE: usize = 1 << 2;
const GONE: usize = 1 << 3;
const UNASKED: usize = 1 << 4;
/// One event.
const TICK: usize = 1 << 5;

pub(super) struct Readiness(AtomicUsize);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen(usize);

impl Seen {
    pub(super) fn is_ready(self) -> bool {
        self.0 & READY != 0
    }

    pub(super) fn is_gone(self) -> bool {
        self.0 & GONE != 0
    }

    /// Returns an error if no event will arrive any more.
    pub(super) fn served(self) -> io::Result<()> {
        match self.is_gone() {
            true => Err(self.gone()),
            false => Ok(()),
        }
    }

    /// Says why no event will arrive.
    #[cold]
    pub(super) fn gone(self) -> io::Error {
        if self.0 & UNASKED == 0 {
            return gone();
        }
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "this descriptor was registered without an interest in this direction; add it to the \
             interest that `AsyncFd::with_interest` is given",
        )
    }
}

/// The meaning of a short count, the result of an operation of a stream that did less than it
/// was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ShortCount {
    /// Nothing is left to transfer at the moment.
    #[default]
    Exhausted = 0,
    /// Nothing is certain. The end, an error or urgent data may follow.
    Unsure = UNSURE as isize,
}

impl Readiness {
    /// Assumes readiness until the first `WouldBlock`.
    pub(super) fn new(short: ShortCount) -> Self {
        Self(AtomicUsize::new(READY | short as usize))
    }

    /// For a direction that is not registered: operations are tried, and nobody can wait.
    pub(super) fn unasked() -> Self {
        Self(AtomicUsize::new(READY | UNSURE | GONE | UNASKED))
    }

    #[inline]
    pub(super) fn look(&self) -> Seen {
        // ORDERING: look. Acquire, with `raise`: an operation after the look finds what the system
        // had made ready when it reported the event. Otherwise the operation could find nothing,
        // and then clear that event.
        Seen(self.0.load(order!(look: Acquire)))
    }

    /// Raises an event. From an event with [`ShortCount::Unsure`] on, short counts show nothing.
    /// Returns whether the registered waiters must be woken.
    #[must_use]
    pub(super) fn event(&self, short: ShortCount) -> bool {
        self.raise(READY | short as usize)
    }

    /// Ends the readiness: no event will arrive any more. Returns whether the registered waiters
    /// must be woken.
    #[must_use]
    pub(super) fn end(&self) -> bool {
        self.raise(GONE)
    }

    fn raise(&self, bits: usize) -> bool {
        let raised = |word: usize| (word & !WAITED).wrapping_add(TICK) | bits;
        // ORDERING: raise, raise_look. Release, with `look`: a thread that sees this finds what is
        // ready. Otherwise Relaxed: a registered waiter is found through the lock. A waiter that
        // registers after the wakers were taken sees this exchange in its `wait`, by the same lock.
        let before = self.update(
            (order!(raise: Release), order!(raise_look: Relaxed)),
            |word| Some(raised(word)),
        );
        before.is_ok_and(|before| before & WAITED != 0)
    }

    /// Clears `READY` after an operation that would have blocked, unless an event has arrived since
    /// the look. The next waiter then waits for an event.
    pub(super) fn clear(&self, seen: Seen) {
        let same = seen.0 & !WAITED;
        // ORDERING: clear, clear_look. Relaxed: it publishes nothing. An event that it does not see
        // comes after it, and sets `READY` again.
        let _cleared = self.update(
            (order!(clear: Relaxed), order!(clear_look: Relaxed)),
            // RECHECK: clear_again. An event between the attempt and the clearing.
            |word| (!recheck!(clear_again: word & !WAITED != same)).then_some(word & !READY),
        );
    }

    /// Clears `READY` after a [short count](ShortCount), unless a hang-up is or may be behind it.
    pub(super) fn fell_short(&self, seen: Seen) {
        if seen.0 & (UNSURE | GONE) == 0 {
            self.clear(seen);
        }
    }

    /// Announces a waiter, after it has registered. It still holds the lock of the waiters. Returns
    /// whether the next event wakes it. Otherwise an event has arrived meanwhile, or none ever
    /// will, and the waiter must look again.
    #[must_use]
    pub(super) fn wait(&self) -> bool {
        // ORDERING: wait, wait_look. Relaxed: see `raise`. A waiter that is too late looks again.
        let waits = self.update(
            (order!(wait: Relaxed), order!(wait_look: Relaxed)),
            // RECHECK: wait_again. An event, or the end, between the look and the registration.
            |word| (!recheck!(wait_again: word & (READY | GONE) != 0)).then_some(word | WAITED),
        );
        waits.is_ok()
    }

    /// Replaces the word by what `next` returns for it. Returns the word before, as an error if
    /// `next` returns `None`.
    fn update(
        &self,
        (success, look): (core::sync::atomic::Ordering, core::sync::atomic::Ordering),
        next: impl Fn(usize) -> Option<usize>,
    ) -> Result<usize, usize> {
        let mut word = self.0.load(look);
        loop {
            let Some(next) = next(word) else {
                return Err(word);
            };
            match self.0.compare_exchange(word, next, success, look) {
                Ok(before) => return Ok(before),
                Err(now) => word = now,
            }
        }
    }
}

#[cold]
pub(super) fn gone() -> io::Error {
    io::Error::other(
        "the executor that watched this descriptor is gone; keep the executor alive as long as its \
         descriptors are in use",
    )
}

impl core::fmt::Debug for Readiness {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let seen = self.look();
        f.debug_struct("Readiness")
            .field("is_ready", &seen.is_ready())
            .field("is_waited", &(seen.0 & WAITED != 0))
            .field("is_unsure", &(seen.0 & UNSURE != 0))
            .field("is_gone", &seen.is_gone())
            .field("events", &(seen.0 / TICK))
            .finish()
    }
}
