//! [`Ring`]: a row of tasks. Its owner pushes at the end and takes from both ends. Other threads,
//! the thieves, take the oldest tasks.
//!
//! The slots hold the tasks as pointers. `tail` is the index after the newest task. The low `BITS`
//! of `head` are the index of the oldest one. **Each take, from either end and by any thread, is
//! one read-modify-write of `head`**:
//!
//! | take | steps | it comes too late if |
//! |---|---|---|
//! | the owner, the newest | write `tail - 1`, add `1 << BITS` to `head` | `head` was at `tail` |
//! | the owner, the oldest | add 1 to `head` | `head` was at `tail` |
//! | a thief, the `k` oldest | copy `k` slots, exchange `head` for `head + k` | `head` changed |
//!
//! Each take changes `head`, and no value of `head` returns. If a thief's exchange succeeds, no
//! task has been taken since the thief read `head`, so each copied slot still held its task. If it
//! fails, another take has succeeded. The owner's addition never fails. If the owner comes too
//! late, the ring is empty, and the owner writes a `tail` that says so. No thread waits for another
//! one, wherever that one has stopped.
//!
//! # Rules
//! 1. Only the owner writes `tail`, `seen`, the slots and their address.
//! 2. The slots from `head` up to `tail` hold tasks. The owner writes only to the slot at `tail`,
//!    and only if `tail` is less than a capacity away from a `head` that it has seen. A copy of a
//!    slot is a task only once the exchange has succeeded.
//! 3. A thief reads `head` before `tail`, and `tail` before the address of the slots. Each take
//!    releases and each thief acquires, so the `tail` is at least as new as the `head`, and the
//!    slots are at least as new as the `tail`.
//! 4. Slots that have become too few stay until the ring is dropped, because a thief may have
//!    stopped while it copied from them. Together they are fewer than those that replaced them.
//!
//! # How long a thief may stop
//! If a thief stops before its exchange until `head` has the same value again, it takes tasks that
//! were taken before. With 16 bits for the index, `head` has the same value after 2^48 takes of the
//! newest task: after 16 days without a pause, at 5 ns each. The thief would have to continue at
//! exactly that take. If only the oldest tasks are taken, the index can have more bits, and a value
//! returns after 2^64 tasks.
//!
//! # Looks
//! A task at index `i` is in the ring as long as `head <= i < tail`. Both look the same to any
//! thread that sees the push: `tail` becomes `i` or smaller only if the task is taken or the owner
//! is taking it, and `head` becomes larger than `i` only if the task is taken. A look that reads
//! the two at different times, in either order, therefore never misses a task that stays where it
//! is, which the sleep protocol needs. In between, `tail` moves away from the old `head` by less
//! than two capacities, which is half of the indices ([`MOST`](Ring::MOST)).

use alloc::boxed::Box;
use core::{
    marker::PhantomData,
    ptr::{self, NonNull},
};

use crate::policy::{LOOKS, TURN};
use joint::task::Runnable;
use joint_switch::{AtomicPtr, AtomicU64, MODELLED, order};

/// A task as one pointer.
pub(crate) trait Word {
    fn into_word(self) -> NonNull<()>;

    /// # Safety
    /// The word came from [`into_word`](Word::into_word), and is turned back once.
    unsafe fn from_word(word: NonNull<()>) -> Self;
}

impl<M> Word for Runnable<M> {
    #[inline(always)]
    fn into_word(self) -> NonNull<()> {
        self.into_raw()
    }

    #[inline(always)]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: the caller promises it.
        unsafe { Self::from_raw(word) }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum End {
    Newest,
    Oldest,
}

/// The bits of an index of a ring whose newest task is taken too. It holds up to 2^14 tasks.
pub(crate) const STACK: u32 = if MODELLED { 5 } else { 16 };
/// The bits of an index of the other rings, which are larger than memory.
pub(crate) const QUEUE: u32 = 48;

/// The first capacity, a power of two.
const LEAST: usize = if MODELLED { 2 } else { TURN as usize };

/// The first index. In models it soon wraps around.
const FIRST: u64 = if MODELLED { u64::MAX - 1 } else { 0 };

#[repr(C)]
pub(crate) struct Ring<T: Word, const BITS: u32> {
    head: AtomicU64,
    tail: AtomicU64,
    /// The head that the owner saw last. Only the owner uses it: to read a head that it has just
    /// exchanged takes longer.
    seen: AtomicU64,
    /// Null until the ring first has room.
    slots: AtomicPtr<Slots>,
    tasks: PhantomData<T>,
}

// SAFETY: tasks are passed from thread to thread, and never shared.
unsafe impl<T: Word + Send, const BITS: u32> Sync for Ring<T, BITS> {}

struct Slots {
    /// Their number is a power of two.
    words: Box<[AtomicPtr<()>]>,
    /// The slots that these have replaced, or null.
    older: *mut Self,
}

impl Slots {
    fn new(capacity: usize, older: Option<&Self>) -> Self {
        let null = |_| AtomicPtr::new(ptr::null_mut());
        Self {
            words: (0..capacity).map(null).collect(),
            older: older.map_or(ptr::null_mut(), |older| ptr::from_ref(older).cast_mut()),
        }
    }

    #[inline(always)]
    fn at(&self, index: u64) -> &AtomicPtr<()> {
        let at = index as usize & self.words.len().wrapping_sub(1);
        // SAFETY: the number of slots is a power of two.
        unsafe { self.words.get_unchecked(at) }
    }

    #[inline(always)]
    fn write(&self, index: u64, word: *mut ()) {
        // ORDERING: write. Relaxed: published by `push` or `slots`. A thief that reads it too early
        // fails.
        self.at(index).store(word, order!(write: Relaxed));
    }
}

impl<T: Word, const BITS: u32> Ring<T, BITS> {
    /// The largest capacity: a quarter of the indices.
    pub(crate) const MOST: u64 = 1 << (BITS - 2);

    pub(crate) fn new() -> Self {
        Self {
            head: AtomicU64::new(FIRST),
            tail: AtomicU64::new(FIRST),
            seen: AtomicU64::new(FIRST),
            slots: AtomicPtr::new(ptr::null_mut()),
            tasks: PhantomData,
        }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.taken_and_len().1
    }

    /// Returns how many of the oldest tasks were taken so far, and the number of those that are
    /// left, as any thread sees them. The first number wraps around with the index.
    #[inline(always)]
    pub(crate) fn taken_and_len(&self) -> (u64, usize) {
        // ORDERING: len_head, len_tail. Relaxed: a hint, or a look of the sleep protocol, which has
        // a fence before it.
        let head = self.head.load(order!(len_head: Relaxed));
        let len = Self::between(head, self.tail.load(order!(len_tail: Relaxed)));
        (head & ((1 << BITS) - 1), len)
    }

    /// Returns the number of tasks between two indices. It is 0 if the tail lies before the head,
    /// because it is of an earlier moment or the owner is about to move it.
    #[inline(always)]
    fn between(head: u64, tail: u64) -> usize {
        const { assert!(BITS >= 2 && BITS < u64::BITS) };
        let above = u64::BITS - BITS;
        let distance = (tail.wrapping_sub(head) << above) as i64 >> above;
        usize::try_from(distance).unwrap_or(0)
    }

    /// Pushes a task at the end. Returns it if there are at least `most` and the slots are full.
    ///
    /// # Safety
    /// The caller is the owner.
    #[inline(always)]
    pub(crate) unsafe fn push(&self, task: T, most: usize) -> Result<(), T> {
        // ORDERING: own_tail. Relaxed: only the owner writes it.
        let tail = self.tail.load(order!(own_tail: Relaxed));
        // SAFETY: the caller is the owner.
        let Some((slots, 1..)) = (unsafe { self.room(tail) }) else {
            // SAFETY: as above.
            return unsafe { self.push_slow(task, most) };
        };
        slots.write(tail, task.into_word().as_ptr());
        self.publish(tail.wrapping_add(1));
        Ok(())
    }

    #[cold]
    #[inline(never)]
    unsafe fn push_slow(&self, task: T, most: usize) -> Result<(), T> {
        // SAFETY: the caller is the owner.
        match unsafe { self.make_room(1, most) } {
            // SAFETY: as above.
            true => unsafe { self.push(task, most) },
            false => Err(task),
        }
    }

    /// Returns the slots, if there are any yet, and how many behind the tail are known to have
    /// room by rule 2.
    ///
    /// # Safety
    /// The caller is the owner.
    #[inline(always)]
    unsafe fn room(&self, tail: u64) -> Option<(&Slots, usize)> {
        // SAFETY: the caller is the owner.
        let slots = unsafe { self.own_slots() }?;
        // ORDERING: room_seen. Relaxed: only the owner writes it.
        let seen = self.seen.load(order!(room_seen: Relaxed));
        Some((slots, slots.words.len() - Self::between(seen, tail)))
    }

    /// Looks again how much room thieves have made. If that is less than for `count` tasks, and
    /// there are fewer than `most` tasks, doubles the slots. Returns whether there is room.
    ///
    /// # Safety
    /// The caller is the owner.
    #[cold]
    unsafe fn make_room(&self, count: usize, most: usize) -> bool {
        // ORDERING: room_head. Acquire, with `take`: a thief has copied the slots that are used
        // again.
        let head = self.head.load(order!(room_head: Acquire));
        // ORDERING: room_saw, room_tail. Relaxed: only the owner uses them.
        self.seen.store(head, order!(room_saw: Relaxed));
        let tail = self.tail.load(order!(room_tail: Relaxed));
        let len = Self::between(head, tail);
        loop {
            // SAFETY: the caller is the owner.
            let room = unsafe { self.room(tail) };
            if room.is_some_and(|(_, room)| room >= count) {
                return true;
            }
            // SAFETY: the caller is the owner.
            if len >= most || !unsafe { self.grow(len, tail) } {
                return false;
            }
        }
    }

    #[inline(always)]
    fn publish(&self, tail: u64) {
        // ORDERING: push. Release, with `thief_tail`: a thief sees the slots, and the tasks.
        self.tail.store(tail, order!(push: Release));
    }

    /// Returns the slots, if there are any yet.
    ///
    /// # Safety
    /// The caller is the owner.
    #[inline(always)]
    unsafe fn own_slots(&self) -> Option<&Slots> {
        // ORDERING: own_slots. Relaxed: only the owner writes it.
        let slots = self.slots.load(order!(own_slots: Relaxed));
        // SAFETY: by rule 4 they stay.
        unsafe { slots.as_ref() }
    }

    /// Makes more slots, and copies the tasks. Returns whether the ring may become that large.
    ///
    /// # Safety
    /// The caller is the owner, and there are `count` tasks before the tail.
    unsafe fn grow(&self, count: usize, tail: u64) -> bool {
        // SAFETY: the caller is the owner.
        let older = unsafe { self.own_slots() };
        let capacity = older.map_or(LEAST, |older| 2 * older.words.len());
        if capacity as u64 > Self::MOST {
            return false;
        }
        let more = Slots::new(capacity, older);
        for index in (1..=count as u64).map(|back| tail.wrapping_sub(back)) {
            let older = older.expect("only slots hold tasks");
            // ORDERING: copy. Relaxed: only the owner writes it.
            more.write(index, older.at(index).load(order!(copy: Relaxed)));
        }
        // ORDERING: slots. Release, with `thief_slots`: a thief sees what was copied.
        self.slots
            .store(Box::into_raw(Box::new(more)), order!(slots: Release));
        true
    }

    /// Takes a task from this end. `is_alone` says that there are no thieves.
    ///
    /// # Safety
    /// The caller is the owner.
    #[inline(always)]
    pub(crate) unsafe fn pop(&self, end: End, is_alone: bool) -> Option<T> {
        // ORDERING: pop_tail, pop_seen. Relaxed: only the owner writes them.
        let tail = self.tail.load(order!(pop_tail: Relaxed));
        let seen = self.seen.load(order!(pop_seen: Relaxed));
        if Self::between(seen, tail) == 0 {
            return None;
        }
        let (by, left) = match end {
            End::Newest => (1 << BITS, tail.wrapping_sub(1)),
            End::Oldest => (1, tail),
        };
        if let End::Newest = end {
            // ORDERING: newest. Release, as `push`: a thief may read this instead.
            self.tail.store(left, order!(newest: Release));
        }
        let head = self.advance(by, is_alone.then_some(seen));
        // ORDERING: pop_saw. Relaxed: only the owner uses it.
        self.seen
            .store(head.wrapping_add(by), order!(pop_saw: Relaxed));
        if Self::between(head, tail) == 0 {
            // ORDERING: empty. Release, as `push`: a thief that reads this and an older head takes
            // nothing, but needs slots to look at.
            let tail = tail.wrapping_add(by);
            self.tail.store(tail, order!(empty: Release));
            return None;
        }
        let index = if let End::Newest = end { left } else { head };
        // SAFETY: the owner has taken the task.
        Some(unsafe { self.task_at(index) })
    }

    /// Moves the head, for the owner. Returns what it was, which is `known` without thieves.
    #[inline(always)]
    fn advance(&self, by: u64, known: Option<u64>) -> u64 {
        if let Some(head) = known {
            // ORDERING: alone. Relaxed: no other thread takes tasks.
            self.head
                .store(head.wrapping_add(by), order!(alone: Relaxed));
            return head;
        }
        // ORDERING: advance. Release, as `take`, and with `meet`. Acquire, as `room_head`, and with
        // the fence before `meet`.
        self.head.fetch_add(by, order!(advance: AcqRel))
    }

    /// Makes a read-modify-write that changes nothing, after a fence of the caller. Each take of
    /// the owner comes before it or after it. The caller sees what the owner did before an earlier
    /// take. After a later take, the owner sees what the caller did before the fence.
    pub(crate) fn meet(&self) {
        // ORDERING: meet. Acquire, with `advance`. The caller's fence is the release.
        self.head.fetch_add(0, order!(meet: Acquire));
    }

    /// Returns the task in a slot.
    ///
    /// # Safety
    /// The caller is the owner, and has just taken the task.
    #[inline(always)]
    unsafe fn task_at(&self, index: u64) -> T {
        // SAFETY: the caller is the owner.
        let slots = unsafe { self.own_slots() };
        // SAFETY: a task was in one of the slots.
        let slots = unsafe { slots.unwrap_unchecked() };
        // ORDERING: own_slot. Relaxed: only the owner writes it.
        let word = slots.at(index).load(order!(own_slot: Relaxed));
        // SAFETY: a slot that held a task has its word, which is not null.
        let word = unsafe { NonNull::new_unchecked(word) };
        // SAFETY: the task was taken, and only once.
        unsafe { T::from_word(word) }
    }

    /// Takes up to half of the tasks, oldest first, and at most `most`. Returns how many. Passes
    /// the place of each and its word to `copy`, before they are taken. If another take comes
    /// first, tries again with half as many, which are copied to the same places.
    pub(crate) fn steal(&self, mut most: usize, mut copy: impl FnMut(u64, *mut ())) -> usize {
        for _ in 0..LOOKS {
            // ORDERING: thief_head. Acquire, with `take`.
            let head = self.head.load(order!(thief_head: Acquire));
            // ORDERING: thief_tail. Acquire, with `push` and `newest`: the slots are written.
            let tail = self.tail.load(order!(thief_tail: Acquire));
            let count = Self::between(head, tail).div_ceil(2).min(most);
            if count == 0 {
                return 0;
            }
            // ORDERING: thief_slots. Acquire, with `slots`: what was copied when the ring grew.
            let slots = self.slots.load(order!(thief_slots: Acquire));
            // SAFETY: by rule 3 there are slots, and by rule 4 they stay.
            let slots = unsafe { &*slots };
            for at in 0..count as u64 {
                // ORDERING: thief_slot. Relaxed: after `thief_tail`.
                let word = slots.at(head.wrapping_add(at));
                copy(at, word.load(order!(thief_slot: Relaxed)));
            }
            // ORDERING: take, take_not. Release, with `thief_head`: a thief sees a tail that is as
            // new. And with `room_head`: the owner uses a slot again only after it was copied.
            let taken = self.head.compare_exchange(
                head,
                head.wrapping_add(count as u64),
                order!(take: Release),
                order!(take_not: Relaxed),
            );
            if taken.is_ok() {
                return count;
            }
            most = count.div_ceil(2);
        }
        0
    }

    /// Takes the oldest task. Returns `None` if there is none, or if other takes come first again
    /// and again.
    pub(crate) fn steal_one(&self) -> Option<T> {
        let mut copy = ptr::null_mut();
        if self.steal(1, |_, word| copy = word) == 0 {
            return None;
        }
        // SAFETY: a slot that held a task has its word, which is not null.
        let word = unsafe { NonNull::new_unchecked(copy) };
        // SAFETY: the task was taken, and only once.
        Some(unsafe { T::from_word(word) })
    }

    /// Returns the index of the oldest task, if there is one, as any thread sees it.
    pub(crate) fn oldest(&self) -> Option<u64> {
        let (taken, len) = self.taken_and_len();
        (len > 0).then_some(taken)
    }

    /// Moves tasks here from the ring of another worker, as [`steal`](Ring::steal) takes them.
    ///
    /// # Safety
    /// The caller is the owner of this ring.
    pub(crate) unsafe fn steal_from(&self, other: &Self, most: usize) -> usize {
        let most = most.min(other.len().div_ceil(2));
        if most == 0 {
            return 0;
        }
        // ORDERING: thiefs_tail. Relaxed: only the owner writes it.
        let tail = self.tail.load(order!(thiefs_tail: Relaxed));
        // SAFETY: the caller is the owner.
        let _is_enough = unsafe { self.make_room(most, usize::MAX) };
        // SAFETY: the caller is the owner.
        let Some((slots, room)) = (unsafe { self.room(tail) }) else {
            return 0;
        };
        let copy = |at, word| slots.write(tail.wrapping_add(at), word);
        let stolen = other.steal(most.min(room), copy);
        if stolen > 0 {
            self.publish(tail.wrapping_add(stolen as u64));
        }
        stolen
    }
}

impl<T: Word, const BITS: u32> Drop for Ring<T, BITS> {
    fn drop(&mut self) {
        // SAFETY: no other thread has the ring.
        while let Some(task) = unsafe { self.pop(End::Oldest, false) } {
            drop(task);
        }
        // ORDERING: drop_slots. Relaxed: no other thread has the ring.
        let mut slots = self.slots.load(order!(drop_slots: Relaxed));
        while !slots.is_null() {
            // SAFETY: they came from a box, and nobody uses them any more.
            slots = unsafe { Box::from_raw(slots) }.older;
        }
    }
}
