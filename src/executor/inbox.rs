//! A queue of runnables that any thread pushes to and one thread at a time takes from, oldest
//! first: the injector, and what comes from elsewhere for one worker alone. It is linked through
//! the tasks' own words, so a push takes no memory.
//!
//! It is Vyukov's queue of many producers, without its dummy node. A push swaps the task in as the
//! last one, and then hangs it below the task that was last before, or, if there was none, into
//! `first`. Taking follows the links. So the work before a task comes out does not grow with the
//! number of tasks in the queue.
//!
//! # The gap
//! Between the two steps of a push there is a gap: the tasks behind it cannot be reached, and
//! neither can the task right in front of it be taken, because the push still has to write its
//! link. A thread that meets a gap does not wait. For it the queue is empty, and
//! [`is_empty`](Inbox::is_empty) says so: **a task is in the queue from the moment that it can be
//! reached.** The push that closes the gap is what makes the tasks on both sides of it reachable.
//! Whoever pushes has a fence after its push and wakes a worker if that is needed, and so wakes one
//! for those tasks too.
//!
//! | `first` | meaning |
//! |---|---|
//! | null | nothing can be reached, or a taker has come to the last task |
//! | a task | it can be taken |
//! | a task, `TAKING` | one thread, which has put that there, takes or looks into the queue |
//! | a task, `GAP` | whoever looked last met a gap behind it |
//!
//! | who | before -> after | and then |
//! |---|---|---|
//! | a push that found no last task | null -> its task | |
//! | a taker begins | task, or task with `GAP` -> the same with `TAKING` | follows the links |
//! | a taker leaves tasks | `TAKING` -> the oldest of them | tells the other workers of them |
//! | a taker comes to the last one | `TAKING` -> null | takes it out of `last`, or: |
//! | ... a push was faster: a gap | null -> that one with `TAKING` | fence, and a second look at its link |
//! | ... the gap is still there | `TAKING` -> that one with `GAP` | |
//!
//! The second look is for a worker that went to sleep while `first` was null, as if the last task
//! had been taken: the push that closed the gap meanwhile may have relied on that worker. The
//! fences are ordered: the push's, the sleeper's, and the taker's, which comes after the sleeper's
//! as the sleeper has not seen what the taker wrote before it. So the taker sees the link.
//!
//! # Rules
//! 1. A task that is in the queue is not run or freed before it is taken. So the link of a task
//!    that has another one behind it may be written by the push of that one until it is.
//! 2. `first` is written by the taker, and, when the queue has no last task, by the one push that
//!    found none.
//!
//! What was rejected: a stack, whose push is one exchange and so has no gap, but which has to be
//! turned round as a whole before the oldest comes out; and queues of blocks, which take memory,
//! and where a consumer waits for a slot that is being written.

use core::{
    marker::PhantomData,
    ptr::{self, NonNull},
};

use crate::{
    sync::{AtomicPtr, fence, order, recheck},
    task::{Link, Runnable},
};

/// Somebody takes from the queue. What heads a task is aligned to 8 bytes.
const TAKING: usize = 1;
/// A push is under way right behind the first task.
const GAP: usize = 2;

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

    /// Wait-free. The caller has to have a fence after it, and to look then whether somebody has to
    /// be woken.
    pub(crate) fn push(&self, runnable: Runnable<M>) {
        let raw = runnable.into_raw();
        // SAFETY: the address came from `into_raw` above, and nobody else has it before the swap.
        let link = unsafe { Runnable::<M>::raw_link(raw) };
        // ORDERING: unlinked. Relaxed: `push` publishes it to the next push, and `hang` to the
        // taker.
        link.set(ptr::null_mut(), order!(unlinked: Relaxed));
        // ORDERING: push. AcqRel, of one push with the next: the next one's link is written after
        // this one's null. And with `take_last`: `first` is written after the taker has done so.
        let before = self.last.swap(raw.as_ptr(), order!(push: AcqRel));
        match NonNull::new(before) {
            // ORDERING: hang_first. Release, with `begin`: the task is whole for whoever takes it.
            None => self.first.store(raw.as_ptr(), order!(hang_first: Release)),
            Some(before) => {
                // SAFETY: the address came from `into_raw`, and is not taken before the link is
                // written (rule 1).
                let link = unsafe { Runnable::<M>::raw_link(before) };
                // ORDERING: hang. Release, with `follow`: as for `hang_first`.
                link.set(raw.as_ptr(), order!(hang: Release));
            }
        }
    }

    /// Whether nothing can be reached. False when another thread is taking.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // ORDERING: is_empty. Relaxed: whoever must not miss a push has a fence before this look.
        let first = self.first.load(order!(is_empty: Relaxed));
        first.is_null() || has(first, GAP) && self.has_gap(first)
    }

    /// Whether there is still a gap behind the first task.
    #[cold]
    fn has_gap(&self, first: *mut ()) -> bool {
        let Some(mut taking) = self.begin(first) else {
            return false;
        };
        let is_gap = taking.at.is_some_and(|at| {
            // SAFETY: the address came from `into_raw`, and only this thread may take it now.
            let link = unsafe { Runnable::<M>::raw_link(at) };
            // ORDERING: gap_look. Relaxed: as `is_empty`.
            link.get(order!(gap_look: Relaxed)).is_null()
        });
        taking.end(if is_gap { GAP } else { 0 });
        is_gap
    }

    /// Takes up to `most`, oldest first, and gives each to `take`. Nothing, when another thread is
    /// taking. Once they are where they can be seen again, the caller tells the others of them and
    /// of what is left.
    ///
    /// Never waits. The work before the first one is given does not grow with what is in the queue.
    pub(crate) fn take(&self, most: usize, take: impl FnMut(Runnable<M>)) {
        // ORDERING: take_look. Relaxed: `begin` decides.
        let first = self.first.load(order!(take_look: Relaxed));
        if first.is_null() || has(first, TAKING) {
            return;
        }
        if let Some(taking) = self.begin(first) {
            taking.take(most).for_each(take);
        }
    }

    /// Begins to take, if `first` is what is there, and nobody else does.
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

    /// Takes the last task out of the queue, if no push is under way behind it. To be called by the
    /// taker.
    #[inline]
    fn take_last(&self, last: NonNull<()>) -> bool {
        // ORDERING: drained. Relaxed: `take_last` publishes it to the push whose `first` it is from
        // then on.
        self.first.store(ptr::null_mut(), order!(drained: Relaxed));
        // ORDERING: take_last, take_last_not. Release, with `push`: `first` is that push's from
        // here on (rule 2). On failure nothing is read through the value.
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

/// The right to take. What is left when it is dropped stays in the queue.
struct Taking<'a, M> {
    inbox: &'a Inbox<M>,
    /// The oldest task, which is not taken yet.
    at: Option<NonNull<()>>,
}

impl<M> Taking<'_, M> {
    /// Leaves the rest in the queue.
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
}

impl<M> Taking<'_, M> {
    /// After a gap was met: whether it is there no more.
    #[cold]
    fn is_linked_by_now(&self, at: NonNull<()>, link: &Link) -> bool {
        // ORDERING: not_drained. Relaxed: ordered by the fence.
        self.inbox
            .first
            .store(tagged(at, TAKING), order!(not_drained: Relaxed));
        // ORDERING: gap_fence. SeqCst, with the fence of a worker that goes to sleep, and that of
        // the push which relied on it.
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
    use super::Inbox;
    use crate::task::{self, visits_of};

    #[test]
    fn what_comes_before_the_first_task_does_not_grow_with_the_burst() {
        let visits_after = |burst| {
            let queue = Inbox::<()>::new();
            for _ in 0..burst {
                queue.push(task::spawn_detached(async {}, |_| {}));
            }
            let mut taken = 0;
            let visits = visits_of(|| {
                queue.take(1, |runnable| {
                    taken += 1;
                    drop(runnable);
                });
            });
            assert_eq!(taken, 1);
            visits
        };
        assert_eq!(visits_after(10), visits_after(1_000));
    }
}
