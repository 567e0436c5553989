//! The queues of one worker from which the other workers steal: a stack of the tasks that it has
//! spawned, and two queues, of the other tasks and of those of high priority.
//!
//! One thread, the owner, has the [`Deques`], and all others have [`Stealer`]s. The worker's
//! scheduling policy decides what it takes next (`worker/queues/turn.rs`). A thief takes the oldest
//! tasks.
//!
//! # Cost
//! Neither a push nor a pop of the owner makes an atomic read-modify-write. A push takes no lock at
//! all (`ring.rs`), and a pop takes one with plain stores and a light fence (`bias.rs`). A theft
//! costs a heavy fence, which is one for all three queues and all tasks that are taken. A thief
//! therefore looks before, by plain loads, whether there is anything to take.
//!
//! Rejected: a queue whose pop is an exchange with the thieves, such as crossbeam's, because every
//! task would pay for it; and a private queue that is shared on request, because an owner in a long
//! poll answers no request.
//!
//! # Memory
//! A ring has no memory until it first holds a task. It doubles when it is full, and never shrinks.

use alloc::{sync::Arc, vec::Vec};
use core::{cell::Cell, marker::PhantomData};

use crossbeam_utils::CachePadded;

use self::{bias::Bias, ring::Ring};
use super::fences::Fences;

mod bias;
mod ring;

/// The capacity of a ring that has held a task.
const LEAST: usize = 64;

/// The owner's side. Not `Sync`, so one thread at a time is the owner.
pub(crate) struct Deques<T> {
    rings: Arc<CachePadded<Rings<T>>>,
    /// The capacity of a ring that has held a task.
    least: usize,
    fences: Fences,
    _owner: PhantomData<Cell<()>>,
}

/// Another worker's side.
pub(crate) struct Stealer<T>(Arc<CachePadded<Rings<T>>>, Fences);

/// In this order, so that a theft of spawned tasks moves one cache line of this: that of the bias
/// and of the first ring.
#[repr(C)]
struct Rings<T> {
    bias: Bias,
    /// The tasks that the worker has spawned. The owner takes the newest.
    spawned: Ring<T>,
    /// All other tasks: those that were woken, those from other threads and those that were stolen.
    woken: Ring<T>,
    high: Ring<T>,
}

// SAFETY: tasks are passed from thread to thread, and never shared. By the rules of `ring.rs`, only
// one thread at a time accesses a slot.
unsafe impl<T: Send> Sync for Rings<T> {}

impl<T> Rings<T> {
    /// All kinds, in the order in which a thief takes them.
    #[inline(always)]
    fn all(&self) -> [&Ring<T>; 3] {
        [&self.high, &self.woken, &self.spawned]
    }

    fn len(&self) -> usize {
        self.all().iter().map(|ring| ring.len()).sum()
    }

    #[inline(always)]
    fn has_normal(&self) -> bool {
        self.spawned.len() > 0 || self.woken.len() > 0
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        !self.has_normal() && self.high.len() == 0
    }
}

impl<T> Deques<T> {
    /// `fences` are those between the owner and the thieves.
    pub(crate) fn new(fences: Fences) -> Self {
        Self::with_least(LEAST, fences)
    }

    /// Makes queues that have this capacity, a power of two, once they have held a task.
    pub(crate) fn with_least(least: usize, fences: Fences) -> Self {
        Self {
            rings: Arc::new(CachePadded::new(Rings {
                bias: Bias::new(),
                spawned: Ring::new(),
                woken: Ring::new(),
                high: Ring::new(),
            })),
            least,
            fences,
            _owner: PhantomData,
        }
    }

    pub(crate) fn stealer(&self) -> Stealer<T> {
        Stealer(self.rings.clone(), self.fences)
    }

    /// Pushes a task that the worker has spawned. Returns it if the ring is full and has at least
    /// `most` of them. A ring that stolen or injected tasks have made larger takes more than
    /// `most`.
    #[inline(always)]
    pub(crate) fn push_spawned(&self, task: T, most: usize) -> Result<(), T> {
        self.push(&self.rings.spawned, task, most)
    }

    /// Pushes a task behind the others that were not spawned by the worker. Returns it in the same
    /// case as [`push_spawned`](Deques::push_spawned).
    #[inline(always)]
    pub(crate) fn push_woken(&self, task: T, most: usize) -> Result<(), T> {
        self.push(&self.rings.woken, task, most)
    }

    pub(crate) fn push_high(&self, task: T) {
        let pushed = self.push(&self.rings.high, task, usize::MAX);
        pushed.unwrap_or_else(|_| unreachable!("there is no limit"));
    }

    #[inline(always)]
    fn push(&self, ring: &Ring<T>, task: T, most: usize) -> Result<(), T> {
        // SAFETY: this is the owner.
        match unsafe { ring.push(task) } {
            Ok(()) => Ok(()),
            Err(task) => self.push_slow(ring, task, most),
        }
    }

    #[cold]
    #[inline(never)]
    fn push_slow(&self, ring: &Ring<T>, task: T, most: usize) -> Result<(), T> {
        // SAFETY: this is the owner.
        if !unsafe { ring.has_room() } {
            if ring.len() >= most {
                return Err(task);
            }
            // SAFETY: this is the owner.
            let more = unsafe { ring.more_slots(self.least) };
            // SAFETY: this is the owner, and inside.
            drop(self.inside(|| unsafe { ring.grow(more) }));
        }
        // SAFETY: this is the owner.
        unsafe { ring.push(task) }
    }

    /// Calls `f`, which must not unwind, while no thief is inside.
    #[inline(always)]
    fn inside<R>(&self, f: impl FnOnce() -> R) -> R {
        // SAFETY: this is the owner, and `f` does not come here. Each stealer has the same fences.
        unsafe { self.rings.bias.enter(self.fences, f) }
    }

    #[inline(always)]
    pub(crate) fn pop_newest_spawned(&self) -> Option<T> {
        let ring = &self.rings.spawned;
        // SAFETY: this is the owner.
        if unsafe { ring.is_empty_to_owner() } {
            return None;
        }
        // SAFETY: this is the owner, and inside.
        self.inside(|| unsafe { ring.pop_newest() })
    }

    #[cold]
    pub(crate) fn pop_oldest_spawned(&self) -> Option<T> {
        self.pop_oldest(&self.rings.spawned)
    }

    #[inline(always)]
    pub(crate) fn pop_woken(&self) -> Option<T> {
        self.pop_oldest(&self.rings.woken)
    }

    #[inline]
    pub(crate) fn pop_high(&self) -> Option<T> {
        self.pop_oldest(&self.rings.high)
    }

    #[inline(always)]
    fn pop_oldest(&self, ring: &Ring<T>) -> Option<T> {
        // SAFETY: this is the owner.
        if unsafe { ring.is_empty_to_owner() } {
            return None;
        }
        // SAFETY: this is the owner, and inside.
        self.inside(|| unsafe { ring.pop_oldest() })
    }

    /// Returns the number of tasks that the worker has spawned.
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

    #[inline(always)]
    pub(crate) fn has_high(&self) -> bool {
        // SAFETY: this is the owner.
        !unsafe { self.rings.high.is_empty_to_owner() }
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
    /// Moves nothing if another thief is there, or the owner is inside for some time.
    pub(crate) fn steal_from(&self, from: &Stealer<T>, most: usize) -> usize {
        let mut tasks = Vec::new();
        let counts = from.steal(most, &mut tasks);
        let own = self.rings.all();
        let kinds = own.into_iter().zip(counts);
        let kinds = kinds.flat_map(|(ring, count)| core::iter::repeat_n(ring, count));
        for (ring, task) in kinds.zip(tasks) {
            let pushed = self.push(ring, task, usize::MAX);
            pushed.unwrap_or_else(|_| unreachable!("there is no limit"));
        }
        counts.iter().sum()
    }

    /// Steals as [`steal_from`](Deques::steal_from) does, and takes the oldest task of the first
    /// kind in these queues: of high priority, woken, or spawned. Returns that task, and how many
    /// were stolen.
    pub(crate) fn steal_and_pop(&self, from: &Stealer<T>, most: usize) -> Option<(T, usize)> {
        let count = self.steal_from(from, most);
        if count == 0 {
            return None;
        }
        let mut own = self.rings.all().into_iter();
        let first = own.find_map(|ring| self.pop_oldest(ring))?;
        Some((first, count))
    }
}

impl<T> Stealer<T> {
    /// The number of tasks.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn has_normal(&self) -> bool {
        self.0.has_normal()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes up to half of each kind of tasks, and at most `most` in total, each oldest first.
    /// Returns how many of each kind.
    pub(crate) fn steal(&self, most: usize, tasks: &mut Vec<T>) -> [usize; 3] {
        let half = |ring: &Ring<T>| ring.len().div_ceil(2);
        let all = self.0.all();
        let room = all.iter().map(|ring| half(ring)).sum::<usize>().min(most);
        if room == 0 {
            return [0; 3];
        }
        // No memory is allocated inside.
        tasks.reserve(room);
        let moved = self.0.bias.visit(self.1, || {
            let mut left = room;
            all.map(|ring| {
                let before = left;
                for _ in 0..half(ring).min(left) {
                    // SAFETY: this thread is inside.
                    let Some(task) = (unsafe { ring.pop_oldest() }) else {
                        break;
                    };
                    tasks.push(task);
                    left -= 1;
                }
                before - left
            })
        });
        moved.unwrap_or_default()
    }
}

// Here and not in `tests`, so that Miri sees the races without an executor around them.
#[cfg(test)]
mod tests {
    use alloc::{boxed::Box, vec::Vec};
    use core::{
        iter,
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
    };
    use std::thread;

    use super::{Deques, Fences, Rings, Stealer};
    use crate::fences::HEAVY_FENCES;

    const TASKS: usize = if cfg!(miri) { 200 } else { 100_000 };

    /// Pushes a task of one of the kinds.
    fn push(deques: &Deques<Box<usize>>, task: usize) {
        let (new, most) = (Box::new(task), usize::MAX);
        match task % 4 {
            0 => deques.push_high(new),
            1 => deques.push_woken(new, most).expect("there is no limit"),
            _ => deques.push_spawned(new, most).expect("there is no limit"),
        }
    }

    fn pop(deques: &Deques<Box<usize>>) -> Option<Box<usize>> {
        let next = deques.pop_high().or_else(|| deques.pop_woken());
        next.or_else(|| deques.pop_newest_spawned())
    }

    #[test]
    fn an_owner_against_thieves() {
        let (deques, over) = (Deques::new(Fences::ordinary()), AtomicUsize::new(0));
        let thief = |stealer: Stealer<Box<usize>>| {
            let (own, mut taken) = (Deques::new(Fences::ordinary()), Vec::new());
            let mut round = 0;
            while over.load(Relaxed) == 0 {
                round += 1;
                let stolen = own.steal_and_pop(&stealer, [1, 5, 256][round % 3]);
                taken.extend(stolen.map(|(task, _)| task));
                taken.extend(iter::from_fn(|| pop(&own)));
                thread::yield_now();
            }
            taken
        };
        let mut all = thread::scope(|s| {
            let thieves = [(); 2].map(|()| {
                let stealer = deques.stealer();
                s.spawn(|| thief(stealer))
            });
            let mut own = Vec::new();
            for task in 0..TASKS {
                push(&deques, task);
                if task % 3 == 0 {
                    own.extend(pop(&deques));
                    own.extend(deques.pop_oldest_spawned());
                }
                if task % 64 == 0 {
                    thread::yield_now();
                }
            }
            own.extend(iter::from_fn(|| pop(&deques)));
            over.store(1, Relaxed);
            for thief in thieves {
                own.extend(thief.join().expect("no panics"));
            }
            own
        });
        all.sort_unstable();
        assert!(all.into_iter().map(|task| *task).eq(0..TASKS));
    }

    #[test]
    fn half_of_each_kind_is_taken_oldest_first_and_keeps_its_order() {
        let (deques, thief) = (
            Deques::new(Fences::ordinary()),
            Deques::new(Fences::ordinary()),
        );
        (0..16).for_each(|task| push(&deques, task));
        let stealer = deques.stealer();
        assert_eq!(stealer.len(), 16);
        let first = thief.steal_and_pop(&stealer, 256);
        assert_eq!(first, Some((Box::new(0), 8)));
        assert_eq!(stealer.len(), 8);
        let rest = |deques| iter::from_fn(|| pop(deques)).map(|task| *task).collect();
        let (taken, left): (Vec<_>, Vec<_>) = (rest(&thief), rest(&deques));
        assert_eq!(taken, [4, 1, 5, 7, 6, 3, 2]);
        assert_eq!(left, [8, 12, 9, 13, 15, 14, 11, 10]);
        assert!(stealer.is_empty() && thief.steal_and_pop(&stealer, 256).is_none());
    }

    #[test]
    fn no_more_than_asked_for_are_taken_and_of_high_priority_first() {
        for (most, expected) in [(1, &[0][..]), (2, &[0, 4]), (4, &[0, 4, 1, 5])] {
            let (deques, mut tasks) = (Deques::new(Fences::ordinary()), Vec::new());
            (0..16).for_each(|task| push(&deques, task));
            deques.stealer().steal(most, &mut tasks);
            assert!(tasks.iter().map(|task| **task).eq(expected.iter().copied()));
        }
    }

    #[test]
    fn a_full_queue_returns_the_task() {
        let deques = Deques::new(Fences::ordinary());
        for task in 0..256 {
            assert_eq!(deques.push_woken(task, 256), Ok(()));
            assert_eq!(deques.push_spawned(task, 256), Ok(()));
        }
        assert_eq!(deques.push_woken(256, 256), Err(256));
        assert_eq!(deques.pop_woken(), Some(0));
        assert_eq!(deques.push_woken(256, 256), Ok(()));
        assert_eq!(deques.push_spawned(256, 256), Err(256));
        assert_eq!(deques.pop_newest_spawned(), Some(255));
        assert_eq!(deques.push_spawned(256, 256), Ok(()));
    }

    /// `docs/executor.md` counts them so, and a model (`lines`) relies on it.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_bias_and_the_spawned_tasks_are_on_one_cache_line_and_the_woken_ones_on_the_next() {
        use core::mem::{offset_of, size_of};
        type Queues = Rings<usize>;
        let places = [
            offset_of!(Queues, bias),
            offset_of!(Queues, spawned),
            offset_of!(Queues, woken),
            offset_of!(Queues, high),
            size_of::<Queues>(),
        ];
        assert_eq!(places, [0, 24, 64, 104, 144]);
    }

    /// A theft pays, and a look at empty queues does not.
    #[test]
    fn one_heavy_fence_is_made_for_all_kinds_and_none_for_nothing() {
        let fences = || HEAVY_FENCES.get();
        let (deques, thief) = (
            Deques::new(Fences::ordinary()),
            Deques::new(Fences::ordinary()),
        );
        let (stealer, before) = (deques.stealer(), fences());
        assert_eq!(thief.steal_from(&stealer, 256), 0);
        assert_eq!(fences() - before, 0);
        (0..16).for_each(|task| push(&deques, task));
        assert_eq!(fences() - before, 0);
        assert_eq!(thief.steal_from(&stealer, 256), 8);
        assert_eq!(fences() - before, 1);
        iter::from_fn(|| pop(&thief)).for_each(drop);
        assert_eq!(fences() - before, 1);
    }
}
