//! [`Counts`]: how many workers search, watch, sleep and are on their way up, in one word.

/// One searching worker in the counts. The others lie above it.
pub(super) const SEARCHING: u64 = 1;
pub(super) const WATCHING: u64 = 1 << 16;
pub(super) const SLEEPING: u64 = 1 << 32;
/// One worker that has been woken, and is still counted as one that watches or sleeps.
pub(super) const WAKING: u64 = 1 << 48;
/// The largest number of workers for which each count has room.
pub(crate) const MOST_WORKERS: usize = i16::MAX as usize;

#[derive(Clone, Copy)]
pub(super) struct Counts(pub(super) u64);

impl Counts {
    pub(super) fn searching(self) -> u64 {
        self.0 % WATCHING
    }

    pub(super) fn watching(self) -> u64 {
        self.0 % SLEEPING / WATCHING
    }

    pub(super) fn sleeping(self) -> u64 {
        self.0 % WAKING / SLEEPING
    }

    fn waking(self) -> u64 {
        let waking = (self.0 / WAKING) as i16;
        u64::try_from(waking).unwrap_or(0)
    }

    pub(super) fn lookouts(self) -> u64 {
        self.searching() + self.watching() + self.waking()
    }

    /// Returns whether a worker that meets this need could be woken, and none does.
    #[inline]
    pub(super) fn lack(self, need: Need) -> bool {
        let lacks_lookout = self.0 >= SLEEPING && self.lookouts() == 0 && self.sleeping() > 0;
        let lacks_hands = || self.0 % WAKING >= WATCHING && self.searching() + self.waking() == 0;
        lacks_lookout
            || match need {
                Need::Lookout => false,
                Need::Hands => lacks_hands(),
                Need::More => self.watching() + self.sleeping() > self.waking() + 1,
            }
    }
}

/// The kind of worker that the tasks in the queues need. One is woken if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A lookout.
    Lookout,
    /// A worker that searches, because there is more work than the active workers should do by
    /// themselves.
    Hands,
    /// Another worker, even if one searches, unless it is the last one: the calling thread occupies
    /// a processor itself. The worker that was woken before wakes the last one.
    More,
}
