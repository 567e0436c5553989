//! The threads that are inside an executor without owning a part of it, because they are waking one
//! of its tasks from another thread.
//!
//! The task keeps the executor alive until the push, but not after it. A worker may run the task
//! then, and the executor may end, while the thread that has pushed still checks whether a worker
//! must be woken. The thread therefore announces before the push that it is inside, and afterwards
//! that it has left. It does so in one of several rooms, each with a cache line of its own, so
//! threads in different rooms write to no common word.
//!
//! The last worker closes the rooms, and learns how many visitors are inside. If there are any, it
//! leaves its own hold of the executor to the last of them. No thread waits.
//!
//! | event | before -> after | and then |
//! |---|---|---|
//! | a visitor enters | n -> n + 1 | is inside |
//! | a visitor enters late | closed -> anything | keeps the executor alive by other means |
//! | a visitor leaves | n -> n - 1 | touches nothing any more |
//! | a visitor leaves late | closed -> anything | `left` - 1. At 0 the hold is its own |
//! | the last worker closes | n -> `CLOSED` | adds n to `left` |
//!
//! `left` starts at a number that no visitors can bring down to 0 before the last worker has
//! subtracted it.
//!
//! A visitor whose pushed task is taken by a worker has entered before the rooms are closed: the
//! push releases, and the last worker comes after the worker that took the task. Late visitors
//! therefore push only tasks that the workers never got.
//!
//! Two designs were rejected: a count of owners, to which all threads write; and a place of its own
//! for each thread, in a list that the last worker walks, where entering costs no
//! read-modify-write, but which outlives the executor and has to be handed from thread to thread.

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;

use joint_switch::{AtomicUsize, Retire, order};

/// The approximate content of a closed room, whatever late visitors add and subtract.
const CLOSED: usize = 1 << (usize::BITS - 1);

fn is_closed(room: usize) -> bool {
    room >= CLOSED / 2
}

/// Whose task it is to release the last worker's hold of the executor.
#[must_use = "a hold that is the caller's is to be released"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// That of a worker, or of a visitor that is still inside.
    Others,
    Callers,
}

pub(crate) struct Visitors {
    rooms: Box<[CachePadded<AtomicUsize>]>,
    /// The number of visitors that were inside when the rooms were closed and have not left. Until
    /// the rooms are closed it is off by `CLOSED`.
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

    /// Returns the room of a thread that is known by some address of its own.
    #[inline]
    pub(crate) fn room_of(&self, address: usize) -> usize {
        // Fibonacci hashing, because such addresses differ in their middle bits. The upper half of
        // the product is a fraction of 2^32, which is scaled to the number of rooms.
        let hash = ((address >> 4) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        ((hash * self.rooms.len() as u64) >> 32) as usize
    }

    /// Enters a room, and returns it, or `None` if the rooms are closed. Must be called before the
    /// push of a task that keeps the executor alive until then.
    #[inline]
    pub(crate) fn enter(&self, room: usize) -> Option<usize> {
        // ORDERING: enter. Relaxed: the push that follows releases it to the last worker.
        let before = self.rooms[room].fetch_add(1, order!(enter: Relaxed));
        (!is_closed(before)).then_some(room)
    }

    /// Leaves the room that was entered.
    ///
    /// # Safety
    /// `enter` has returned that room, once for each call of this.
    #[inline]
    pub(crate) unsafe fn leave(this: *const Self, room: usize) -> Hold {
        // SAFETY: the visitors are alive up to the operation that leaves, because the caller is
        // inside.
        let word = unsafe { &(*this).rooms[room] };
        // ORDERING: leave. Release, with `close_room`: what was done inside is over before the
        // executor is freed.
        let before = word.fetch_sub(1, order!(leave: Release));
        if !is_closed(before) {
            return Hold::Others;
        }
        // SAFETY: the room is closed, so this caller has a part in the hold.
        unsafe { Self::leave_late(this) }
    }

    /// # Safety
    /// The caller was counted by [`close`](Visitors::close).
    #[cold]
    unsafe fn leave_late(this: *const Self) -> Hold {
        // SAFETY: alive up to the operation, by this function's contract.
        let left = unsafe { &(*this).left };
        // ORDERING: leave_late. AcqRel: what the other visitors did inside is over before the last
        // one releases the executor.
        match left.fetch_sub(1, order!(leave_late: AcqRel)) {
            1 => Hold::Callers,
            _ => Hold::Others,
        }
    }

    /// Closes the rooms, once. The caller's hold of the executor passes to the visitors that are
    /// inside, if there are any.
    pub(crate) fn close(&self) -> Hold {
        let close = |room: &CachePadded<AtomicUsize>| {
            // ORDERING: close_room. Acquire, with `leave`.
            room.swap(CLOSED, order!(close_room: Acquire))
        };
        let inside: usize = self.rooms.iter().map(close).sum();
        // ORDERING: close. Acquire, with `leave_late`: as for `close_room`. Nothing stronger: the
        // caller still has its share of the executor, and releasing that publishes what the caller
        // did.
        let before = self.left.fetch_sub(CLOSED - inside, order!(close: Acquire));
        match before == CLOSED - inside {
            true => Hold::Callers,
            false => Hold::Others,
        }
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
        // Addresses like those of thread-locals, which lie beside the stacks of their threads.
        let rooms = (0..64 * ROOMS).map(|i| visitors.room_of(usize::wrapping_mul(i, 0x20_1000)));
        let rooms: BTreeSet<_> = rooms.collect();
        assert_eq!(rooms, (0..ROOMS).collect());
    }
}
