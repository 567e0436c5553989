//! Who is inside an executor without owning a part of it: the threads that are waking one of its
//! tasks from elsewhere.
//!
//! The task keeps the executor alive up to the push, and not any more after it: a worker may run
//! the task then, and the executor end, while the thread that has pushed still looks whether
//! somebody has to be woken. So it says before the push that it is inside, and afterwards that it
//! has gone. It does so in one of several rooms, each with a cache line of its own: threads in
//! different rooms write to no common word.
//!
//! The last worker closes the rooms, and learns how many are inside. If there are any, it leaves
//! what it holds of the executor to the last of them. Nobody waits.
//!
//! | who | before -> after | and then |
//! |---|---|---|
//! | enters | n -> n + 1 | is inside |
//! | enters late | closed -> anything | holds on to the executor by other means |
//! | leaves | n -> n - 1 | touches nothing any more |
//! | leaves late | closed -> anything | `left` - 1: at 0 the hold is its own |
//! | the last worker | n -> `CLOSED` | adds n to `left` |
//!
//! `left` starts at a number that nobody brings down to 0 before the last worker has taken it away.
//!
//! Whoever enters before it pushes a task that is then taken has entered before the rooms are
//! closed: the push releases, and the last worker has come after whoever took the task. So only
//! tasks that the workers never got are pushed by those who come late.
//!
//! What was rejected: a count of owners, which all threads write to; and for each thread a place of
//! its own, in a list that the last worker goes through, where entering costs no read-modify-write,
//! but which outlives the executor and has to be handed from thread to thread.

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicUsize, Retire, order};

/// A room that was closed holds about this much, whatever those who come and go late make of it.
const CLOSED: usize = 1 << (usize::BITS - 1);

fn is_closed(room: usize) -> bool {
    room >= CLOSED / 2
}

pub(crate) struct Visitors {
    rooms: Box<[CachePadded<AtomicUsize>]>,
    /// Those who were inside when the rooms were closed and have not left, more or less `CLOSED`
    /// until they are closed.
    left: AtomicUsize,
}

impl Visitors {
    pub(crate) fn new(rooms: u32) -> Self {
        Self {
            rooms: (0..rooms)
                .map(|_| CachePadded::new(AtomicUsize::new(0)))
                .collect(),
            left: AtomicUsize::new(CLOSED),
        }
    }

    /// The room of a thread that is known by some address of its own.
    #[inline]
    pub(crate) fn room_of(&self, address: usize) -> usize {
        // Fibonacci's hash, as such addresses differ in their middle bits; its upper half is a part
        // of 2^32, and so of the rooms.
        let hash = ((address >> 4) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        ((hash * self.rooms.len() as u64) >> 32) as usize
    }

    /// Enters a room. False: they are closed. To be called before the push of a task that keeps the
    /// executor alive until then.
    #[inline]
    pub(crate) fn enter(&self, room: usize) -> bool {
        // ORDERING: enter. Relaxed: the push that follows releases it to the last worker.
        let before = self.rooms[room].fetch_add(1, order!(enter: Relaxed));
        !is_closed(before)
    }

    /// Leaves the room that was entered. True: the last worker's hold of the executor is the
    /// caller's now.
    ///
    /// # Safety
    /// `enter` of that room has said true, once for each call of this.
    #[inline]
    #[must_use = "the executor is to be released"]
    pub(crate) unsafe fn leave(this: *const Self, room: usize) -> bool {
        // SAFETY: alive up to the operation that leaves: the caller is inside.
        let word = unsafe { &(*this).rooms[room] };
        // ORDERING: leave. Release, with `close_room`: what was done inside is over before the
        // executor goes.
        let before = word.fetch_sub(1, order!(leave: Release));
        // SAFETY: where the room is closed, this caller has a part in the hold.
        is_closed(before) && unsafe { Self::leave_late(this) }
    }

    /// # Safety
    /// The caller was counted by [`close`](Visitors::close).
    #[cold]
    unsafe fn leave_late(this: *const Self) -> bool {
        // SAFETY: alive up to the operation, by this function's contract.
        let left = unsafe { &(*this).left };
        // ORDERING: leave_late. AcqRel: what the others did inside is over before the last one
        // releases the executor.
        left.fetch_sub(1, order!(leave_late: AcqRel)) == 1
    }

    /// Closes the rooms. True: somebody is inside, and the caller's hold of the executor is theirs
    /// now. Once.
    #[must_use = "the hold is given away, or not"]
    pub(crate) fn close(&self) -> bool {
        let close = |room: &CachePadded<AtomicUsize>| {
            // ORDERING: close_room. Acquire, with `leave`.
            room.swap(CLOSED, order!(close_room: Acquire))
        };
        let inside: usize = self.rooms.iter().map(close).sum();
        // ORDERING: close. Acquire, with `leave_late`: as `close_room`. What the caller did itself
        // is published by the owner's count that it still has.
        let before = self.left.fetch_sub(CLOSED - inside, order!(close: Acquire));
        before != CLOSED - inside
    }
}

impl Retire for Visitors {
    fn retire(&mut self) {
        for room in &mut self.rooms {
            room.retire();
        }
        self.left.retire();
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    #[test]
    fn threads_are_spread_over_all_rooms() {
        const ROOMS: usize = 32;
        let visitors = Visitors::new(ROOMS as u32);
        // As thread-locals lie, each beside its thread's stack.
        let rooms = (0..64 * ROOMS).map(|i| visitors.room_of(0x7f00_0000_0000 + i * 0x20_1000));
        let rooms: BTreeSet<_> = rooms.collect();
        assert_eq!(rooms, (0..ROOMS).collect());
    }
}
