//! [`Counts`]: how many workers search, watch and sleep, in one word.

/// One searching worker in the counts. The other two counts lie above this one.
pub(super) const SEARCHING: u64 = 1;
pub(super) const WATCHING: u64 = 1 << 20;
pub(super) const SLEEPING: u64 = 1 << 40;
/// The largest number of workers for which each count has room.
pub(crate) const MOST_WORKERS: usize = (WATCHING - 1) as usize;

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
        self.0 / SLEEPING
    }

    pub(super) fn lookouts(self) -> u64 {
        self.searching() + self.watching()
    }

    pub(super) fn needs_lookout(self) -> bool {
        self.0 >= SLEEPING && self.0 % SLEEPING == 0
    }

    /// Returns whether a worker could be woken, and none searches yet.
    pub(super) fn has_hands(self) -> bool {
        self.0 >= WATCHING && self.searching() == 0
    }
}

/// What the tasks in the queues need. A worker is woken if they do not have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A lookout.
    Lookout,
    /// A worker that searches, because there is more work than the active workers should do by
    /// themselves.
    Hands,
}

impl Need {
    pub(super) fn is_unmet(self, counts: Counts) -> bool {
        match self {
            Self::Lookout => counts.needs_lookout(),
            Self::Hands => counts.has_hands(),
        }
    }
}
