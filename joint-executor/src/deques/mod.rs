//! The queues of one worker from which the other workers steal: a stack of the tasks that it has
//! spawned, and two queues, of the other tasks and of those of high priority.
//!
//! One thread, the owner, has the [`Deques`], and all others have [`Stealer`]s. The worker's
//! scheduling policy decides what it takes next (`worker/queues/turn.rs`). A thief takes the oldest
//! tasks.
//!
//! # Cost
//! A push makes no atomic read-modify-write, and a take makes one: the owner's of one task as well
//! as a thief's of many. Neither makes a fence, and no thread waits for another
//! ([`ring`](super::ring)). The only worker of an executor takes its tasks with plain stores. A
//! thief first looks, by plain loads, whether there is anything to take.
//!
//! Rejected: a private queue that is shared on request, because an owner in a long poll answers no
//! request.
//!
//! # Memory
//! A ring has no memory until it first holds a task. It doubles when it is full, and never shrinks.

use alloc::sync::Arc;
use core::{cell::Cell, marker::PhantomData};

use super::{
    fences::Fences,
    padded::CachePadded,
    ring::{
        End::{Newest, Oldest},
        QUEUE, Ring, STACK, Word,
    },
};

/// How many tasks of the normal lane the stack and the queue of a worker each hold, which is what
/// the stack has indices for. Further tasks go to the injector, whose queue takes no memory.
pub(crate) const MOST_QUEUED: usize = 1 << (STACK - 2);

/// The owner's side. Not `Sync`, so one thread at a time is the owner.
pub(crate) struct Deques<T: Word> {
    rings: Arc<CachePadded<Rings<T>>>,
    is_alone: bool,
    _owner: PhantomData<Cell<()>>,
}

pub(crate) type Stealer<T> = Arc<CachePadded<Rings<T>>>;

/// In this order, so that a theft of tasks of normal priority moves one cache line of this.
#[repr(C)]
pub(crate) struct Rings<T: Word> {
    /// The tasks that the worker has spawned. The owner takes the newest.
    spawned: Ring<T, STACK>,
    /// All other tasks: those that were woken, those from other threads and those that were stolen.
    woken: Ring<T, QUEUE>,
    high: Ring<T, QUEUE>,
}

impl<T: Word> Rings<T> {
    pub(crate) fn len(&self) -> usize {
        self.high.len() + self.woken.len() + self.spawned.len()
    }

    /// Returns how many tasks of high priority were taken so far, and the numbers of those that are
    /// left and of the others.
    pub(crate) fn high_taken_and_len(&self) -> (u64, [usize; 2]) {
        let (taken, high) = self.high.taken_and_len();
        (taken, [high, self.woken.len() + self.spawned.len()])
    }

    #[inline(always)]
    pub(crate) fn has_normal(&self) -> bool {
        self.spawned.len() > 0 || self.woken.len() > 0
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        !self.has_normal() && self.high.len() == 0
    }

    /// Meets the owner's takes of all kinds of tasks ([`Ring::meet`]).
    pub(crate) fn meet(&self) {
        self.spawned.meet();
        self.woken.meet();
        self.high.meet();
    }
}

impl<T: Word> Deques<T> {
    pub(crate) fn new(fences: Fences) -> Self {
        Self {
            rings: Arc::new(CachePadded::new(Rings {
                spawned: Ring::new(),
                woken: Ring::new(),
                high: Ring::new(),
            })),
            is_alone: fences.is_alone(),
            _owner: PhantomData,
        }
    }

    pub(crate) fn stealer(&self) -> Stealer<T> {
        self.rings.clone()
    }

    /// Pushes a task that the worker has spawned. Returns it if there are [`MOST_QUEUED`] of them.
    #[inline(always)]
    pub(crate) fn push_spawned(&self, task: T) -> Result<(), T> {
        // SAFETY: this is the owner.
        unsafe { self.rings.spawned.push(task, usize::MAX) }
    }

    /// Pushes a task behind the others that were not spawned by the worker. Returns it if the ring
    /// is full and has at least `most` of them. A ring that stolen or injected tasks have made
    /// larger takes more than `most`.
    #[inline(always)]
    pub(crate) fn push_woken(&self, task: T, most: usize) -> Result<(), T> {
        // SAFETY: this is the owner.
        unsafe { self.rings.woken.push(task, most) }
    }

    pub(crate) fn push_high(&self, task: T) {
        // SAFETY: this is the owner.
        let pushed = unsafe { self.rings.high.push(task, usize::MAX) };
        pushed.unwrap_or_else(|_| unreachable!("there is no limit"));
    }

    #[inline(always)]
    pub(crate) fn pop_newest_spawned(&self) -> Option<T> {
        // SAFETY: this is the owner.
        unsafe { self.rings.spawned.pop(Newest, self.is_alone) }
    }

    #[cold]
    pub(crate) fn pop_oldest_spawned(&self) -> Option<T> {
        // SAFETY: this is the owner.
        unsafe { self.rings.spawned.pop(Oldest, self.is_alone) }
    }

    #[inline(always)]
    pub(crate) fn pop_woken(&self) -> Option<T> {
        // SAFETY: this is the owner.
        unsafe { self.rings.woken.pop(Oldest, self.is_alone) }
    }

    #[inline]
    pub(crate) fn pop_high(&self) -> Option<T> {
        // SAFETY: this is the owner.
        unsafe { self.rings.high.pop(Oldest, self.is_alone) }
    }

    #[cfg(test)]
    pub(crate) fn spawned(&self) -> usize {
        self.rings.spawned.len()
    }

    /// Returns the number of other tasks of normal priority.
    #[inline]
    pub(crate) fn woken(&self) -> usize {
        self.rings.woken.len()
    }

    #[inline]
    pub(crate) fn high(&self) -> usize {
        self.rings.high.len()
    }

    #[inline]
    pub(crate) fn has_normal(&self) -> bool {
        self.rings.has_normal()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.rings.is_empty()
    }

    /// Moves up to half of each kind of tasks from another worker's queues into these, and at most
    /// `most` in total. Returns how many there were.
    ///
    /// Moves fewer, or nothing, if other threads take tasks at the same time.
    pub(crate) fn steal_from(&self, from: &Stealer<T>, most: usize) -> usize {
        let high = self.steal_each(from, [most, 0]);
        high + self.steal_each(from, [0, most - high])
    }

    /// The same, with a limit of their own for the tasks of high priority, which comes first.
    pub(crate) fn steal_each(&self, from: &Stealer<T>, [high, normal]: [usize; 2]) -> usize {
        let own = &self.rings;
        // SAFETY: this is the owner.
        let high = unsafe { own.high.steal_from(&from.high, high) };
        // SAFETY: this is the owner.
        let woken = unsafe { own.woken.steal_from(&from.woken, normal) };
        let left = normal - woken;
        // SAFETY: this is the owner.
        high + woken + unsafe { own.spawned.steal_from(&from.spawned, left) }
    }

    /// Steals all, half by half, until there are `enough`.
    pub(crate) fn steal_all(&self, from: &Stealer<T>, enough: usize) -> usize {
        let mut count = 0;
        while count < enough {
            match self.steal_each(from, [enough; 2]) {
                0 => break,
                stolen => count += stolen,
            }
        }
        count
    }

    /// Steals as [`steal_from`](Deques::steal_from) does, and takes the oldest task of the first
    /// kind in these queues: of high priority, woken, or spawned. Returns that task, and how many
    /// were stolen.
    pub(crate) fn steal_and_pop(&self, from: &Stealer<T>, most: usize) -> Option<(T, usize)> {
        let count = self.steal_from(from, most);
        if count == 0 {
            return None;
        }
        let first = self.pop_high().or_else(|| self.pop_woken());
        first
            .or_else(|| self.pop_oldest_spawned())
            .map(|task| (task, count))
    }
}

#[cfg(test)]
mod tests {
    use alloc::{sync::Arc, vec::Vec};
    use core::{iter, ptr::NonNull};

    use super::{Deques, Fences, MOST_QUEUED as MOST, Word};

    fn two<T: Word>() -> [Deques<T>; 2] {
        [(); 2].map(|()| Deques::new(Fences::among(2)))
    }

    impl Word for Arc<usize> {
        fn into_word(self) -> NonNull<()> {
            // SAFETY: the address of a value is not null.
            unsafe { NonNull::new_unchecked(Self::into_raw(self).cast_mut()).cast() }
        }

        unsafe fn from_word(word: NonNull<()>) -> Self {
            // SAFETY: by the contract of `Word`.
            unsafe { Self::from_raw(word.cast().as_ptr()) }
        }
    }

    /// Pushes a task of one of the kinds. Takes an older one if there are too many.
    fn push(deques: &Deques<Arc<usize>>, task: usize) -> Option<Arc<usize>> {
        let new = Arc::new(task);
        let pushed = match task % 4 {
            0 => {
                deques.push_high(new);
                Ok(())
            }
            1 => deques.push_woken(new, usize::MAX),
            _ => deques.push_spawned(new),
        };
        pushed.err()
    }

    fn pop(deques: &Deques<Arc<usize>>) -> Option<Arc<usize>> {
        let next = deques.pop_high().or_else(|| deques.pop_woken());
        next.or_else(|| deques.pop_newest_spawned())
    }

    #[test]
    fn half_of_each_kind_is_taken_oldest_first_and_keeps_its_order() {
        let [deques, thief] = two();
        assert!((0..16).all(|task| push(&deques, task).is_none()));
        let stealer = deques.stealer();
        assert_eq!(stealer.len(), 16);
        let first = thief.steal_and_pop(&stealer, 256);
        assert_eq!(first, Some((Arc::new(0), 8)));
        assert_eq!(stealer.len(), 8);
        let rest = |deques| iter::from_fn(|| pop(deques)).map(|task| *task).collect();
        let (taken, left): (Vec<_>, Vec<_>) = (rest(&thief), rest(&deques));
        assert_eq!(taken, [4, 1, 5, 7, 6, 3, 2]);
        assert_eq!(left, [8, 12, 9, 13, 15, 14, 11, 10]);
        assert!(stealer.is_empty() && thief.steal_and_pop(&stealer, 256).is_none());
    }

    #[test]
    fn tasks_that_are_left_are_dropped_with_the_queues() {
        let task = Arc::new(0);
        let deques = Deques::new(Fences::among(2));
        let stealer = deques.stealer();
        assert_eq!(deques.push_spawned(task.clone()), Ok(()));
        assert_eq!(deques.push_woken(task.clone(), 1), Ok(()));
        deques.push_high(task.clone());
        drop(deques);
        assert_eq!((stealer.len(), Arc::strong_count(&task)), (3, 4));
        drop(stealer);
        assert_eq!(Arc::strong_count(&task), 1);
    }

    /// A stack can only be as large as its index can tell, and steals only what it has room for.
    #[test]
    fn a_stack_takes_as_many_as_its_index_allows() {
        let [full, thief] = two();
        for deques in [&full, &thief] {
            // The index wraps around some times.
            for task in 0..10 * MOST {
                assert_eq!(deques.push_spawned(Arc::new(task)), Ok(()));
                if task >= MOST - 10 {
                    let oldest = deques.pop_oldest_spawned();
                    assert_eq!(oldest, Some(Arc::new(task + 10 - MOST)));
                }
            }
        }
        assert_eq!(thief.steal_from(&full.stealer(), usize::MAX), 10);
        assert_eq!(thief.stealer().len(), MOST);
        assert_eq!(full.stealer().len(), MOST - 20);
        // It cannot grow, so it uses the room that the thief has made.
        for task in 0..20 {
            assert_eq!(full.push_spawned(Arc::new(task)), Ok(()));
        }
        let rest = || Arc::new(10 * MOST);
        assert_eq!(thief.push_spawned(rest()), Err(rest()));
    }

    /// `docs/executor.md` counts them so, and a model (`lines`) relies on it.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn each_priority_class_has_a_cache_line_of_its_own() {
        use core::mem::{offset_of, size_of};
        type Queues = super::Rings<Arc<usize>>;
        let places = [
            offset_of!(Queues, spawned),
            offset_of!(Queues, woken),
            offset_of!(Queues, high),
            size_of::<Queues>(),
        ];
        assert_eq!(places, [0, 32, 64, 96]);
    }
}
