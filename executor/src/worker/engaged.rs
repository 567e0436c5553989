//! Which workers of a closed executor are in a user's code, as a blocked worker of it sees them.
//!
//! A blocked worker drops tasks itself only if no other worker can ([`Closing`]). That a worker is
//! not asleep does not say that it is busy: the system may have taken it off its processor right
//! after it was woken, for as long as the machine is busy with other work. So each worker counts
//! its entries into a user's code and its exits. While the count is odd, the worker is inside.
//!
//! Nothing is counted before the executor is closed, so a poll that was under way then is not
//! counted either, unless it blocks in a wait of this crate.
//!
//! [`Closing`]: super::closing::Closing

use alloc::vec::Vec;

use crossbeam_utils::CachePadded;

use joint_switch::{AtomicUsize, order};

/// The counts. Each is written by its worker alone.
pub(super) struct Engaged(Vec<CachePadded<AtomicUsize>>);

/// What a worker is known to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Inside,
    NotInside,
}

impl Engaged {
    pub(super) fn new(workers: usize) -> Self {
        let count = |_| CachePadded::new(AtomicUsize::new(0));
        Self((0..workers).map(count).collect())
    }

    /// Counts an entry of a worker that may be inside already. Only that worker may call this.
    pub(super) fn enter(&self, worker: usize) {
        if let (Seen::NotInside, count) = self.look(worker) {
            // ORDERING: enter. Relaxed: a hint, which is acted on only if it stays the same for
            // some time.
            self.0[worker].store(count.wrapping_add(1), order!(enter: Relaxed));
        }
    }

    /// Counts the exit of a worker, if it is inside. Only that worker may call this.
    pub(super) fn exit(&self, worker: usize) {
        if let (Seen::Inside, count) = self.look(worker) {
            // ORDERING: exit. Relaxed: as for `enter`.
            self.0[worker].store(count.wrapping_add(1), order!(exit: Relaxed));
        }
    }

    /// Returns what a worker does, and its count. As long as the count stays the same, the worker
    /// has not left the code that it is in.
    pub(super) fn look(&self, worker: usize) -> (Seen, usize) {
        // ORDERING: look. Relaxed: as for `enter`.
        let count = self.0[worker].load(order!(look: Relaxed));
        let seen = match count % 2 {
            1 => Seen::Inside,
            _ => Seen::NotInside,
        };
        (seen, count)
    }
}

#[cfg(test)]
mod tests {
    use super::{Engaged, Seen};

    #[test]
    fn each_stay_has_a_count_of_its_own() {
        let engaged = Engaged::new(2);
        let mut stays = Vec::new();
        for _ in 0..3 {
            assert_eq!(engaged.look(1).0, Seen::NotInside);
            engaged.exit(1);
            engaged.enter(1);
            let stay = engaged.look(1);
            assert_eq!(stay.0, Seen::Inside);
            engaged.enter(1);
            assert_eq!(engaged.look(1), stay);
            assert!(!stays.contains(&stay.1));
            stays.push(stay.1);
            engaged.exit(1);
        }
        assert_eq!(engaged.look(0), (Seen::NotInside, 0));
    }
}
