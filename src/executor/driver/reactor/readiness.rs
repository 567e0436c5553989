//! [`Readiness`]: what is known of one direction of a descriptor, in one word.
//!
//! | bit | means | set by | cleared by |
//! |---|---|---|---|
//! | `READY` | an operation is worth trying | creation, events | an operation that would have blocked |
//! | `WAITED` | somebody has registered, and waits for the next event | who waits | events |
//! | `UNSURE` | a count that fell short does not tell that there is no more | creation, events | nobody |
//! | `GONE` | no event will come any more | the end of the executor | nobody |
//! | the rest | the tick: how many events there were | events | |
//!
//! Who wants to do something looks, tries if it is ready, and, when that would have blocked, clears
//! `READY`, unless an event has come since the look: then the tick is another one. So what the
//! system tells between the attempt and the clearing is not lost. A tick that comes round between
//! the two, after at least 2^28 events, is not told from none.
//!
//! Who waits registers first, and then sets `WAITED`, unless `READY` is set by now; an event sets
//! `READY` and takes `WAITED` away in one exchange, and then wakes those who have registered. One
//! of the two exchanges sees the other.

use crate::sync::{AtomicUsize, order, recheck};

const READY: usize = 1;
const WAITED: usize = 1 << 1;
const UNSURE: usize = 1 << 2;
const GONE: usize = 1 << 3;
/// One event.
const TICK: usize = 1 << 4;

pub(super) struct Readiness(AtomicUsize);

/// What one look has seen.
#[derive(Clone, Copy)]
pub(super) struct Seen(usize);

impl Seen {
    pub(super) fn is_ready(self) -> bool {
        self.0 & READY != 0
    }

    pub(super) fn is_gone(self) -> bool {
        self.0 & GONE != 0
    }

    fn is_waited(self) -> bool {
        self.0 & WAITED != 0
    }
}

/// What there is to do after an event.
#[must_use]
pub(super) enum Raised {
    /// Those who have registered are to be woken.
    Wake,
    NobodyWaits,
}

/// What there is to do for who has registered.
#[must_use]
#[derive(Debug, PartialEq)]
pub(super) enum Waiting {
    /// The next event wakes who has registered.
    Waits,
    /// An event has come meanwhile, or none will: it is to be looked at again.
    Over,
}

impl Readiness {
    /// Ready, as far as anybody knows. With `unsure`, a count that falls short never tells
    /// anything.
    pub(super) fn new(unsure: bool) -> Self {
        let unsure = if unsure { UNSURE } else { 0 };
        Self(AtomicUsize::new(READY | unsure))
    }

    #[inline]
    pub(super) fn look(&self) -> Seen {
        // ORDERING: look. Acquire, with `raise`: an operation after the look finds what the system
        // had made ready when it told of it. Else it could find nothing and clear that event.
        Seen(self.0.load(order!(look: Acquire)))
    }

    /// An event. Unsure: from now on, a count that falls short does not tell that there is no more.
    pub(super) fn event(&self, unsure: bool) -> Raised {
        self.raise(if unsure { READY | UNSURE } else { READY })
    }

    /// No event will come any more.
    pub(super) fn end(&self) -> Raised {
        self.raise(GONE)
    }

    fn raise(&self, bits: usize) -> Raised {
        let raised = |word: usize| (word & !WAITED).wrapping_add(TICK) | bits;
        // ORDERING: raise, raise_look. Release, with `look`: what is ready is found by who sees
        // this. Relaxed beside that: who has registered is found through the lock or the exchange
        // that it registered with, which comes before its `wait`; what was registered after this
        // exchange's wakers were taken sees this exchange in its `wait`, by the same lock.
        let before = self.update(
            (order!(raise: Release), order!(raise_look: Relaxed)),
            |word| Some(raised(word)),
        );
        match before {
            Ok(before) if Seen(before).is_waited() => Raised::Wake,
            _ => Raised::NobodyWaits,
        }
    }

    /// After an operation that would have blocked. False: an event has come since it was looked at.
    pub(super) fn clear(&self, seen: Seen) -> bool {
        let same = seen.0 & !WAITED;
        // ORDERING: clear, clear_look. Relaxed: it publishes nothing, and an event that it does not
        // see comes after it, and sets `READY` again.
        let cleared = self.update(
            (order!(clear: Relaxed), order!(clear_look: Relaxed)),
            // RECHECK: clear_again. An event between the attempt and the clearing.
            |word| (!recheck!(clear_again: word & !WAITED != same)).then_some(word & !READY),
        );
        cleared.is_ok()
    }

    /// After an operation of a stream that did less than it was asked for: there is no more, unless
    /// a hang-up is or may be behind it.
    pub(super) fn fell_short(&self, seen: Seen) {
        if seen.0 & (UNSURE | GONE) == 0 {
            self.clear(seen);
        }
    }

    /// After registering.
    pub(super) fn wait(&self) -> Waiting {
        // ORDERING: wait, wait_look. Relaxed: see `raise`. Who comes too late looks again.
        let waits = self.update(
            (order!(wait: Relaxed), order!(wait_look: Relaxed)),
            // RECHECK: wait_again. An event, or the end, between the look and the registration.
            |word| (!recheck!(wait_again: word & (READY | GONE) != 0)).then_some(word | WAITED),
        );
        match waits {
            Ok(_) => Waiting::Waits,
            Err(_) => Waiting::Over,
        }
    }

    /// Exchanges the word for what `next` makes of it, unless that is nothing. Comes back with the
    /// word before.
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

impl core::fmt::Debug for Readiness {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let seen = self.look();
        f.debug_struct("Readiness")
            .field("is_ready", &seen.is_ready())
            .field("is_waited", &seen.is_waited())
            .field("is_unsure", &(seen.0 & UNSURE != 0))
            .field("is_gone", &seen.is_gone())
            .field("events", &(seen.0 / TICK))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_woken(raised: Raised) -> bool {
        matches!(raised, Raised::Wake)
    }

    #[test]
    fn who_waits_is_woken_by_the_next_event_and_by_no_other() {
        let readiness = Readiness::new(false);
        assert!(!is_woken(readiness.event(false)));
        assert_eq!(readiness.wait(), Waiting::Over);
        assert!(readiness.clear(readiness.look()));
        assert_eq!(readiness.wait(), Waiting::Waits);
        assert!(is_woken(readiness.event(false)));
        assert!(!is_woken(readiness.event(false)));
        assert!(readiness.clear(readiness.look()));
        assert_eq!(readiness.wait(), Waiting::Waits);
        assert!(is_woken(readiness.end()));
        assert!(!is_woken(readiness.end()));
    }

    #[test]
    fn less_than_was_asked_for_tells_that_there_is_no_more_unless_it_is_unsure_or_gone() {
        for (unsure, event, end) in [
            (false, false, false),
            (true, false, false),
            (false, true, false),
            (false, false, true),
        ] {
            let readiness = Readiness::new(unsure);
            let _ = readiness.event(event);
            if end {
                let _ = readiness.end();
            }
            readiness.fell_short(readiness.look());
            assert_eq!(readiness.look().is_ready(), unsure || event || end);
        }
    }
}
