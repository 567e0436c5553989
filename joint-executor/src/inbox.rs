//! A queue of runnables that any thread pushes to and one thread at a time takes from, oldest
//! first. It is used for the injector, and for the tasks that other threads queue for one worker
//! alone. It is linked through the tasks' own words, so a push takes no memory.
//!
//! It is Vyukov's queue of many producers, without its dummy node. A push swaps the task in as the
//! last one, and then links it behind the task that was last before, or, if there was none, stores
//! it in `first`. Taking follows the links. The work before a task comes out therefore does not
//! grow with the number of tasks in the queue.
//!
//! # The gap
//! Between the two steps of a push there is a gap. The tasks behind the gap cannot be reached, and
//! the task right in front of it cannot be taken either, because the push still has to write that
//! task's link. A thread that meets a gap does not wait. It treats the queue as empty, and
//! [`is_empty`](Inbox::is_empty) reports the same: **a task is in the queue from the moment that it
//! can be reached.** The push that closes the gap makes the tasks on both sides of it reachable.
//! Every push is followed by a fence, after which the pusher wakes a worker if that is needed. The
//! push that closes the gap thus wakes one for all these tasks.
//!
//! | `first` | meaning |
//! |---|---|
//! | null | nothing can be reached, or a taker has come to the last task |
//! | a task | it can be taken |
//! | a task, `TAKING` | the thread that wrote this takes from the queue or looks into it |
//! | a task, `GAP` | the last look met a gap behind this task |
//!
//! | event | before -> after | and then |
//! |---|---|---|
//! | a push that found no last task | null -> its task | |
//! | a taker begins | task, or task with `GAP` -> the same with `TAKING` | follows the links |
//! | a taker leaves tasks | `TAKING` -> the oldest of them | announces them to the other workers |
//! | a taker comes to the last task | `TAKING` -> null | removes it from `last`, or: |
//! | ... a push was faster, so there is a gap | null -> that task with `TAKING` | fence, and a second look at its link |
//! | ... the gap is still there | `TAKING` -> that task with `GAP` | |
//!
//! The second look is for a worker that went to sleep while `first` was null, as if the last task
//! had been taken. The push that closed the gap meanwhile may have relied on that worker. The
//! fences are ordered: first the push's, then the sleeper's, then the taker's. The taker's comes
//! after the sleeper's, because the sleeper has not seen what the taker wrote before it. So the
//! taker sees the link.
//!
//! # Rules
//! 1. A task that is in the queue is not run or freed before it is taken. If another task is being
//!    pushed behind it, that push may therefore write its link until then.
//! 2. `first` is written by the taker and, if the queue has no last task, by the one push that
//!    found none.
//!
//! Two designs were rejected: a stack, whose push is one exchange and so has no gap, but which must
//! be reversed as a whole before the oldest task comes out; and queues of blocks, which take
//! memory, and in which a consumer waits for a slot that is being written.

use core::{
    marker::PhantomData,
    ptr::{self, NonNull},
};

use joint::{
    task::{Link, Runnable},
    waker::Header,
};
use joint_switch::{AtomicPtr, fence, order, recheck};

/// A thread is taking from the queue. A task's header is aligned to 8 bytes, so the low bits are
/// free.
const TAKING: usize = 1;
/// A push is under way right behind the first task.
const GAP: usize = 2;
const _: () = assert!(align_of::<Header>() > TAKING | GAP);

pub(crate) struct Inbox<M> {
    /// The task that was pushed last, or null.
    last: AtomicPtr<()>,
    first: AtomicPtr<()>,
    _tasks: PhantomData<Runnable<M>>,
}

fn tagged(task: NonNull<()>, tag: usize) -> *mut () {
    task.as_ptr().map_addr(|address| address | tag)
}

fn has(first: *mut (), tag: usize) -> bool {
    first.addr() & tag != 0
}

fn task(first: *mut ()) -> Option<NonNull<()>> {
    NonNull::new(first.map_addr(|address| address & !(TAKING | GAP)))
}

impl<M> Inbox<M> {
    pub(crate) fn new() -> Self {
        Self {
            last: AtomicPtr::new(ptr::null_mut()),
            first: AtomicPtr::new(ptr::null_mut()),
            _tasks: PhantomData,
        }
    }

    /// Pushes a runnable. Wait-free. After this the caller must have a fence, and then check
    /// whether a worker must be woken.
    pub(crate) fn push(&self, runnable: Runnable<M>) {
        let raw = runnable.into_raw();
        // SAFETY: the address came from `into_raw` above, and no other thread has it before the
        // swap.
        let link = unsafe { Runnable::<M>::raw_link(raw) };
        // ORDERING: unlinked. Relaxed: `push` publishes it to the next push, and `hang` publishes
        // it to the taker.
        link.set(ptr::null_mut(), order!(unlinked: Relaxed));
        // ORDERING: push. AcqRel, from one push to the next: the next push writes the link after
        // this one has set it to null. And with `take_last`: this push writes `first` after the
        // taker has done so.
        let before = self.last.swap(raw.as_ptr(), order!(push: AcqRel));
        match NonNull::new(before) {
            // ORDERING: hang_first. Release, with `begin`: the thread that takes the task sees all
            // of it.
            None => self.first.store(raw.as_ptr(), order!(hang_first: Release)),
            Some(before) => {
                // SAFETY: the address came from `into_raw`, and the task is not taken before the
                // link is written (rule 1).
                let link = unsafe { Runnable::<M>::raw_link(before) };
                // ORDERING: hang. Release, with `follow`: as for `hang_first`.
                link.set(raw.as_ptr(), order!(hang: Release));
            }
        }
    }

    /// Returns whether no task can be reached. Returns false while another thread is taking.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // ORDERING: is_empty. Relaxed: a thread that must not miss a push has a fence before this
        // look.
        let first = self.first.load(order!(is_empty: Relaxed));
        first.is_null() || has(first, GAP) && self.has_gap(first)
    }

    /// Returns whether there is no task, not even one behind a gap.
    pub(crate) fn is_drained(&self) -> bool {
        // ORDERING: drained_look. Relaxed: as for `is_empty`.
        self.last.load(order!(drained_look: Relaxed)).is_null()
    }

    #[cold]
    fn has_gap(&self, first: *mut ()) -> bool {
        let Some(mut taking) = self.begin(first) else {
            return false;
        };
        let is_gap = taking.at.is_some_and(|at| {
            // SAFETY: the address came from `into_raw`, and only this thread may take the task now.
            let link = unsafe { Runnable::<M>::raw_link(at) };
            // ORDERING: gap_look. Relaxed: as for `is_empty`.
            link.get(order!(gap_look: Relaxed)).is_null()
        });
        taking.end(if is_gap { GAP } else { 0 });
        is_gap
    }

    /// Takes up to `most` tasks, oldest first, and passes each to `take`. Takes nothing if another
    /// thread is taking. Once the tasks are where other workers can see them, the caller must
    /// announce them, and those that are left.
    ///
    /// Never waits. The work before the first task does not grow with the number of tasks in the
    /// queue.
    pub(crate) fn take(&self, most: usize, mut take: impl FnMut(Runnable<M>)) {
        // ORDERING: take_look. Relaxed: `begin` decides.
        let first = self.first.load(order!(take_look: Relaxed));
        if first.is_null() || has(first, TAKING) {
            return;
        }
        if let Some(taking) = self.begin(first) {
            for task in taking.take(most) {
                take(task);
            }
        }
    }

    /// Begins to take, if `first` is unchanged and no other thread is taking.
    #[inline]
    fn begin(&self, first: *mut ()) -> Option<Taking<'_, M>> {
        let at = task(first)?;
        // ORDERING: begin, begin_not. Acquire, with `hang_first` and `end`: the first task is
        // whole, and what the taker before did with the queue is over. On failure nothing is read
        // through the value.
        let exchange = self.first.compare_exchange(
            first,
            tagged(at, TAKING),
            order!(begin: Acquire),
            order!(begin_not: Relaxed),
        );
        exchange.ok().map(|_| Taking {
            inbox: self,
            at: Some(at),
        })
    }

    /// Removes the last task from the queue, if no push is under way behind it. Only the taker may
    /// call this.
    #[inline]
    fn take_last(&self, last: NonNull<()>) -> bool {
        // ORDERING: drained. Relaxed: `take_last` publishes it to the push that owns `first` from
        // then on.
        self.first.store(ptr::null_mut(), order!(drained: Relaxed));
        // ORDERING: take_last, take_last_not. Release, with `push`: `first` belongs to that push
        // from here on (rule 2). On failure nothing is read through the value.
        let exchange = self.last.compare_exchange(
            last.as_ptr(),
            ptr::null_mut(),
            order!(take_last: Release),
            order!(take_last_not: Relaxed),
        );
        exchange.is_ok()
    }
}

impl<M> Drop for Inbox<M> {
    fn drop(&mut self) {
        self.take(usize::MAX, drop);
    }
}

/// The right to take. The tasks that are left when it is dropped stay in the queue.
struct Taking<'a, M> {
    inbox: &'a Inbox<M>,
    /// The oldest task, which is not taken yet.
    at: Option<NonNull<()>>,
}

impl<M> Taking<'_, M> {
    #[inline]
    fn end(&mut self, tag: usize) {
        if let Some(at) = self.at.take() {
            // ORDERING: end. Release, with `begin`: the next taker finds the task whole, and
            // follows the links after this one.
            self.inbox
                .first
                .store(tagged(at, tag), order!(end: Release));
        }
    }

    /// Checks, after a gap was met, whether it has been closed.
    #[cold]
    fn is_linked_by_now(&self, at: NonNull<()>, link: &Link) -> bool {
        // ORDERING: not_drained. Relaxed: ordered by the fence.
        self.inbox
            .first
            .store(tagged(at, TAKING), order!(not_drained: Relaxed));
        // ORDERING: gap_fence. SeqCst, with the fence of a worker that goes to sleep, and that of
        // the push that relied on that worker.
        fence(order!(gap_fence: SeqCst));
        // ORDERING: gap_look_again. Relaxed: ordered by the fence, and `follow` reads it once more.
        // RECHECK: gap_again. The push that closed the gap while the queue looked empty to a worker
        // that goes to sleep.
        recheck!(gap_again: !link.get(order!(gap_look_again: Relaxed)).is_null())
    }
}

impl<M> Iterator for Taking<'_, M> {
    type Item = Runnable<M>;

    #[inline]
    fn next(&mut self) -> Option<Runnable<M>> {
        let at = self.at?;
        // SAFETY: the address came from `into_raw`, and is taken by this thread alone, below.
        let link = unsafe { Runnable::<M>::raw_link(at) };
        // ORDERING: follow. Acquire, with `hang`: the task behind is whole.
        let follow = || NonNull::new(link.get(order!(follow: Acquire)));
        let mut next = follow();
        if next.is_none() && !self.inbox.take_last(at) {
            if !self.is_linked_by_now(at, link) {
                self.end(GAP);
                return None;
            }
            next = follow();
        }
        self.at = next;
        // SAFETY: from `into_raw`, once for each push, and out of the queue now: the one behind it
        // is linked, or there is none.
        Some(unsafe { Runnable::from_raw(at) })
    }
}

impl<M> Drop for Taking<'_, M> {
    fn drop(&mut self) {
        self.end(0);
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering::{AcqRel, Relaxed, Release};

    use joint::task;

    use super::*;

    /// Otherwise each look of an idle worker would make a read-modify-write, or find a task that
    /// cannot be taken.
    #[test]
    fn the_mark_of_a_gap_stays_until_a_look_after_the_push() {
        let queue = Inbox::new();
        let [first, second] = [(); 2].map(|()| task::spawn(async {}, drop).0);
        queue.push(first);
        // A push that is stopped between its two steps.
        let second = second.into_raw();
        // SAFETY: the address came from `into_raw`.
        unsafe { Runnable::<()>::raw_link(second) }.set(ptr::null_mut(), Relaxed);
        let before = queue.last.swap(second.as_ptr(), AcqRel);
        let before = NonNull::new(before).expect("the first task");
        let is_marked = || has(queue.first.load(Relaxed), GAP);
        assert!(
            !queue.is_empty() && !is_marked(),
            "no taker has met the gap"
        );
        queue.take(1, |_| panic!("it cannot be taken"));
        for _ in 0..2 {
            assert!(is_marked() && queue.is_empty() && is_marked());
        }
        // SAFETY: as above, and the task is in the queue.
        unsafe { Runnable::<()>::raw_link(before) }.set(second.as_ptr(), Release);
        assert!(is_marked() && !queue.is_empty() && !is_marked());
        let mut taken = 0;
        queue.take(2, |_| taken += 1);
        assert!(taken == 2 && queue.is_empty() && queue.is_drained());
    }
}
