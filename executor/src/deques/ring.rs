//! [`Ring`]: a row of tasks. The owner pushes at its end, without a lock. Tasks are taken from both
//! ends by the one thread that is inside the [`Bias`](super::bias::Bias).
//!
//! # Rules
//! 1. Only the owner writes `tail`, `limit` and the place of the vector of slots, and replaces that
//!    vector only while it is inside.
//! 2. Only the thread that is inside writes `head`, or makes `tail` smaller.
//! 3. The slots from `head` up to `tail` hold tasks. The owner writes only to the slot at `tail`,
//!    and only if that is less than a capacity away from a `head` that it has seen. The thread that
//!    is inside reads only from `head` up to a `tail` that it has seen.
//!
//! A task at index `i` is in the ring as long as `head <= i < tail`. Both look the same to any
//! thread that sees the push: `tail` becomes `i` or smaller only if the task is taken, and so does
//! `head` become larger than `i`. A look that reads the two at different times, in either order,
//! therefore never misses a task that stays where it is, which the sleep protocol needs.

use alloc::{boxed::Box, vec::Vec};
use core::{mem, mem::MaybeUninit};

use joint_switch::{AtomicUsize, UnsafeCell, order};

type Slots<T> = Box<[UnsafeCell<MaybeUninit<T>>]>;

pub(super) struct Ring<T> {
    /// The index of the oldest task.
    head: AtomicUsize,
    /// The index after the newest task.
    tail: AtomicUsize,
    /// The `tail` at which the ring is full, given the `head` that the owner saw last.
    limit: AtomicUsize,
    /// The slots. Their number is a power of two, or zero.
    slots: UnsafeCell<Slots<T>>,
}

impl<T> Ring<T> {
    pub(super) fn new() -> Self {
        Self {
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
            limit: AtomicUsize::new(0),
            slots: UnsafeCell::new(Box::default()),
        }
    }

    /// Returns the number of tasks, as any thread sees it.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        // ORDERING: len_head, len_tail. Relaxed: a hint, or a look of the sleep protocol, which has
        // a fence before it.
        let head = self.head.load(order!(len_head: Relaxed));
        let tail = self.tail.load(order!(len_tail: Relaxed));
        // The two are not of the same moment, so the tail may seem to be the smaller one.
        let len = tail.wrapping_sub(head);
        if len > usize::MAX / 2 { 0 } else { len }
    }

    /// Whether there is no task, as the owner sees it, although a thief may be taking the last one.
    ///
    /// # Safety
    /// The caller is the owner.
    #[inline(always)]
    pub(super) unsafe fn is_empty_to_owner(&self) -> bool {
        // ORDERING: empty_head, empty_tail. Relaxed: only the owner writes the tail, and a thief
        // that takes the last task meanwhile is met inside.
        let head = self.head.load(order!(empty_head: Relaxed));
        self.tail.load(order!(empty_tail: Relaxed)) == head
    }

    /// Pushes a task at the end. Returns it if the ring is full.
    ///
    /// # Safety
    /// The caller is the owner.
    #[inline(always)]
    pub(super) unsafe fn push(&self, task: T) -> Result<(), T> {
        // ORDERING: own_tail, own_limit. Relaxed: only the owner writes them.
        let tail = self.tail.load(order!(own_tail: Relaxed));
        if tail == self.limit.load(order!(own_limit: Relaxed)) {
            return Err(task);
        }
        self.with_slot(tail, |slot| {
            // SAFETY: the slot is free, and no other thread reads it, by rule 3.
            slot.with_mut(|slot| unsafe { (*slot).write(task) });
        });
        // ORDERING: push. Release, with `oldest_tail`: a thief sees the task.
        self.tail.store(tail.wrapping_add(1), order!(push: Release));
        Ok(())
    }

    /// Looks again how much room there is. Returns whether there is any.
    ///
    /// # Safety
    /// The caller is the owner.
    pub(super) unsafe fn has_room(&self) -> bool {
        // ORDERING: room_head. Acquire, with `oldest`: a thief has read the slot that is used
        // again.
        let head = self.head.load(order!(room_head: Acquire));
        let limit = head.wrapping_add(self.capacity());
        // ORDERING: limit, room_tail. Relaxed: only the owner uses them.
        self.limit.store(limit, order!(limit: Relaxed));
        self.tail.load(order!(room_tail: Relaxed)) != limit
    }

    /// Moves the tasks into more slots, and returns the old ones, to be freed outside.
    ///
    /// # Safety
    /// The caller is the owner, and is inside.
    pub(super) unsafe fn grow(&self, mut slots: Slots<T>) -> Slots<T> {
        let (head, len) = (self.head_inside(), self.len());
        for index in (0..len).map(|i| head.wrapping_add(i)) {
            let at = index & (slots.len() - 1);
            // SAFETY: the slot holds a task, by rule 3, which moves.
            slots[at] = UnsafeCell::new(MaybeUninit::new(unsafe { self.read(index) }));
        }
        // ORDERING: grown_limit. Relaxed: only the owner uses it.
        self.limit
            .store(head.wrapping_add(slots.len()), order!(grown_limit: Relaxed));
        // SAFETY: the owner is inside, so no other thread uses the slots, by rule 1.
        self.slots
            .with_mut(|own| mem::replace(unsafe { &mut *own }, slots))
    }

    /// Slots for a ring of twice the capacity, and at least of `least`, which is a power of two.
    ///
    /// # Safety
    /// The caller is the owner.
    pub(super) unsafe fn more_slots(&self, least: usize) -> Slots<T> {
        let slot = |_| UnsafeCell::new(MaybeUninit::uninit());
        let capacity = least.max(2 * self.capacity());
        (0..capacity).map(slot).collect::<Vec<_>>().into()
    }

    fn capacity(&self) -> usize {
        self.slots.with(|slots| {
            // SAFETY: the owner calls this, and only it replaces them.
            let slots = unsafe { &*slots };
            slots.len()
        })
    }

    /// Takes the newest task.
    ///
    /// # Safety
    /// The caller is the owner, and is inside.
    #[inline(always)]
    pub(super) unsafe fn pop_newest(&self) -> Option<T> {
        // ORDERING: newest_tail. Relaxed: only the owner writes it.
        let tail = self.tail.load(order!(newest_tail: Relaxed));
        if tail == self.head_inside() {
            return None;
        }
        let index = tail.wrapping_sub(1);
        // ORDERING: newest. Relaxed: a thief that enters later sees it by the bias.
        self.tail.store(index, order!(newest: Relaxed));
        // SAFETY: the slot held a task, by rule 3, and does not any more.
        Some(unsafe { self.read(index) })
    }

    /// Takes the oldest task.
    ///
    /// # Safety
    /// The caller is inside.
    #[inline(always)]
    pub(super) unsafe fn pop_oldest(&self) -> Option<T> {
        let head = self.head_inside();
        // ORDERING: oldest_tail. Acquire, with `push`: the task is whole.
        if head == self.tail.load(order!(oldest_tail: Acquire)) {
            return None;
        }
        // SAFETY: the slot holds a task, by rule 3, and is not read again.
        let task = unsafe { self.read(head) };
        // ORDERING: oldest. Release, with `room_head`: the owner uses the slot again only after it
        // was read.
        self.head
            .store(head.wrapping_add(1), order!(oldest: Release));
        Some(task)
    }

    #[inline(always)]
    fn head_inside(&self) -> usize {
        // ORDERING: head_inside. Relaxed: written inside only.
        self.head.load(order!(head_inside: Relaxed))
    }

    /// Reads the task at an index.
    ///
    /// # Safety
    /// The slot holds a task, no other thread writes it, and the task is not read again.
    #[inline(always)]
    unsafe fn read(&self, index: usize) -> T {
        // SAFETY: no other thread writes the slot, by this function's contract.
        let slot = self.with_slot(index, |slot| slot.with(|slot| unsafe { slot.read() }));
        // SAFETY: the slot holds a task, by this function's contract.
        unsafe { slot.assume_init() }
    }

    #[inline(always)]
    fn with_slot<R>(&self, index: usize, f: impl FnOnce(&UnsafeCell<MaybeUninit<T>>) -> R) -> R {
        self.slots.with(|slots| {
            // SAFETY: the vector is not replaced meanwhile: the caller is the owner, or is inside.
            let slots = unsafe { &*slots };
            // SAFETY: the capacity is a power of two, and more than 0 where a task is.
            f(unsafe { slots.get_unchecked(index & (slots.len().wrapping_sub(1))) })
        })
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: no other thread has the ring.
        while let Some(task) = unsafe { self.pop_oldest() } {
            drop(task);
        }
    }
}
