//! [`Forks`]: one worker's jobs that other workers may take, and [`join`](Forks::join) on them.
//!
//! The jobs are a stack of addresses. The owner pushes and pops at the top, and thieves take the
//! oldest job, from the bottom. `top` belongs to the owner. `first` is the number of jobs that were
//! taken, and is changed under the thieves' lock.
//!
//! # Pop against theft
//! This is a store-load race, settled by a pair of fences as in `sleep.rs`. The owner's fence is
//! light. A pop that meets no thief costs no atomic read-modify-write.
//!
//! | pop of job `i` | theft of job `i`, under the lock |
//! |---|---|
//! | P1 `top = i` | T1 `first = i + 1` |
//! | P2 fence | T2 fence |
//! | P3 read `first`. If it is at most `i`, the job is the owner's | T3 read `top`. If it is more than `i`, the job is the thief's |
//! | otherwise settle: read `first` again, under the lock | otherwise retreat: `first = i` again |
//!
//! **Exactly one of them gets the job.** The two fences are ordered. If P2 comes before T2, then T3
//! sees P1 or a later store of the owner. The thief then retreats, or it gets another job, which
//! the owner pushed into that place later; for that job's pop and its P2 the argument begins anew.
//! If T2 comes before P2, then P3 sees T1 or a later theft, and the owner takes the lock. Under the
//! lock it knows whether the thief has retreated.
//!
//! If T3 reads more than `i`, the value was written with Release by a push of `i` or of a later
//! job, or by a pop of a later job. All of these come after the entry of `i` was written, so the
//! thief, which reads the entry after T3, sees it. It cannot see a newer entry, because before
//! writing one there the owner would have to get past its pop of `i`, which it cannot.
//!
//! # Limit
//! A push and a pop cost more than many closures, and the oldest jobs are the largest. A join that
//! finds [`KEPT_OPEN`] jobs open therefore runs its two closures in turn. But a job that is skipped
//! in this way is never offered again, and it need not be small: a chain of joins descends to its
//! end at once, and does its work on the way back. A worker that has nothing to do therefore
//! [asks](Forks::ask) for more jobs. After such a request, and after each theft, the owner pushes
//! [`CREDIT`] jobs regardless of how many are open.
//!
//! # Marks
//! A thief can set the lowest bit of an entry, and a push clears it. If a mark that was set some
//! time ago is still set, the entry belongs to a job that is at least that old. The mark thus shows
//! which jobs are worth a theft, and costs the owner nothing.

use alloc::vec::Vec;
use core::ptr::{self, NonNull};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crossbeam_utils::CachePadded;

use super::job::{Header, Job, Taken, Wait};
use crate::{fences::Fences, guard::lock};
use joint::completion::Ended;
use joint_switch::{AtomicPtr, AtomicUsize, Mutex, order, recheck};

const MARK: usize = 1;

/// The number of jobs that are kept open if no thief has asked for more.
const KEPT_OPEN: usize = 4;
/// The number of further jobs that are pushed after a thief has asked for more.
const CREDIT: usize = 256;

pub(crate) struct Forks {
    /// The number of jobs on the stack, and the index of the next one.
    top: AtomicUsize,
    /// The number of jobs at which pushing stops.
    limit: AtomicUsize,
    /// The number of further pushes before the owner sets the limit.
    credit: AtomicUsize,
    jobs: Vec<AtomicPtr<Header>>,
    /// The number of jobs that were taken. The owner reads it with each pop.
    first: CachePadded<AtomicUsize>,
    thieves: Mutex<()>,
    /// The fences between the owner and the thieves.
    fences: Fences,
}

/// What a join needs from its surroundings. Neither function may panic. Models have other
/// surroundings than workers.
pub(crate) trait Surroundings {
    /// Called after a job was pushed while no other job was left to take.
    fn offered(&self);

    /// Returns after a job's taker has finished.
    fn wait(&self, wait: Wait) -> Ended;
}

/// What became of the job at the top.
#[must_use]
enum Popped {
    /// The owner has popped the job.
    Back,
    /// A thief has taken the job.
    Taken,
}

/// When a job was marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marked {
    Before,
    /// This call marked it.
    Now,
}

impl Forks {
    /// Makes room for `capacity` jobs. A join beyond that runs its closures in turn.
    pub(crate) fn new(capacity: usize, fences: Fences) -> Self {
        Self {
            top: AtomicUsize::new(0),
            limit: AtomicUsize::new(capacity),
            credit: AtomicUsize::new(CREDIT),
            jobs: (0..capacity)
                .map(|_| AtomicPtr::new(ptr::null_mut()))
                .collect(),
            first: CachePadded::new(AtomicUsize::new(0)),
            thieves: Mutex::new(()),
            fences,
        }
    }

    /// Runs both closures. `b` runs here after `a`, unless a thief takes it.
    ///
    /// # Safety
    /// Called by the one thread that owns this.
    #[inline]
    pub(crate) unsafe fn join<A, B, RA, RB>(
        &self,
        around: &impl Surroundings,
        a: A,
        b: B,
    ) -> (RA, RB)
    where
        A: FnOnce() -> RA,
        B: FnOnce() -> RB + Send,
        RB: Send,
    {
        // ORDERING: own_top, limit_look. Relaxed: only the owner writes the top, and the limit is a
        // hint.
        let index = self.top.load(order!(own_top: Relaxed));
        if index >= self.limit.load(order!(limit_look: Relaxed)) {
            return (a(), b());
        }
        // SAFETY: the caller promises it.
        unsafe { self.join_open(index, around, a, b) }
    }

    /// Like [`join`](Forks::join), with `b` pushed where thieves can take it.
    ///
    /// # Safety
    /// Called by the one thread that owns this; `index` is the top.
    #[inline(never)]
    unsafe fn join_open<A, B, RA, RB>(
        &self,
        index: usize,
        around: &impl Surroundings,
        a: A,
        b: B,
    ) -> (RA, RB)
    where
        A: FnOnce() -> RA,
        B: FnOnce() -> RB + Send,
        RB: Send,
    {
        let Some(entry) = self.jobs.get(index) else {
            return (a(), b());
        };
        let mut job = Job::new(b);
        // ORDERING: entry. Relaxed: published by `push`.
        entry.store(Job::as_ptr(&raw const job), order!(entry: Relaxed));
        // ORDERING: push. Release, with `steal_look`: the thief sees the entry and the job.
        self.top.store(index + 1, order!(push: Release));
        // ORDERING: empty_look. Relaxed: a thief that is about to retreat looks again.
        let first = self.first.load(order!(empty_look: Relaxed));
        if first >= index {
            around.offered();
        } else if index >= first + KEPT_OPEN {
            self.use_credit(first);
        }
        // Rule 3 of `job.rs`: nothing leaves this frame before the job is back.
        let of_a = catch_unwind(AssertUnwindSafe(a));
        if let Popped::Back = self.pop(index) {
            // SAFETY: the job was popped, so it was not taken and will not be.
            let b = unsafe { job.take_work() };
            job.retire();
            let ra = of_a.unwrap_or_else(|payload| resume_unwind(payload));
            return (ra, b());
        }
        let of_b = Self::collect(&job, |wait| around.wait(wait));
        job.retire();
        let ra = of_a.unwrap_or_else(|payload| resume_unwind(payload));
        (ra, of_b.unwrap_or_else(|payload| resume_unwind(payload)))
    }

    /// Counts down the pushes in excess.
    #[inline]
    fn use_credit(&self, first: usize) {
        // ORDERING: credit_look, credit. Relaxed: only the owner uses it.
        let left = self.credit.load(order!(credit_look: Relaxed)) - 1;
        self.credit.store(
            if left == 0 { CREDIT } else { left },
            order!(credit: Relaxed),
        );
        if left == 0 {
            // ORDERING: limit. Relaxed: a hint.
            self.limit.store(first + KEPT_OPEN, order!(limit: Relaxed));
        }
    }

    /// Asks the owner to leave more jobs open, for up to [`CREDIT`] pushes.
    pub(crate) fn ask(&self) {
        // ORDERING: ask. Relaxed: a hint.
        self.limit.store(self.jobs.len(), order!(ask: Relaxed));
    }

    /// Takes the job at the top back, unless a thief has it.
    #[inline]
    fn pop(&self, index: usize) -> Popped {
        // ORDERING: pop. Release, with `steal_look`: a thief of an older job that reads this sees
        // that job's entry. In no run does the model checker switch threads between this store and
        // the fence, so it cannot tell it from Relaxed.
        self.top.store(index, order!(pop: Release));
        // ORDERING: pop_fence. SeqCst: P2, with `steal_fence`.
        self.fences.light(order!(pop_fence: SeqCst));
        // ORDERING: pop_look. Relaxed: ordered by the fence. What a taker did becomes visible by
        // the completion.
        // RECHECK: pop_again. A thief that has the job, or is about to give it back.
        if recheck!(pop_again: self.first.load(order!(pop_look: Relaxed)) > index) {
            return self.settle(index);
        }
        Popped::Back
    }

    #[cold]
    #[inline(never)]
    fn settle(&self, index: usize) -> Popped {
        let _thieves = lock(&self.thieves);
        // ORDERING: settle_look, settle. Relaxed: under the lock.
        if self.first.load(order!(settle_look: Relaxed)) <= index {
            return Popped::Back;
        }
        self.first.store(index, order!(settle: Relaxed));
        Popped::Taken
    }

    /// Waits for a job that was taken.
    #[cold]
    #[inline(never)]
    fn collect<F: FnOnce() -> R, R>(
        job: &Job<F, R>,
        wait: impl FnOnce(Wait) -> Ended,
    ) -> std::thread::Result<R> {
        let header = Job::as_ptr(job);
        // SAFETY: the address of a reference is not null.
        let header = unsafe { NonNull::new_unchecked(header) };
        // SAFETY: `job` is borrowed from the owner's frame.
        match wait(unsafe { Wait::new(header) }) {
            // SAFETY: the taker has finished, and this is called once for each job.
            Ended::Done => unsafe { job.take_result() },
            Ended::Abandoned => {
                // SAFETY: the job came back unused (rule 1).
                let work = unsafe { job.take_work() };
                catch_unwind(AssertUnwindSafe(work))
            }
        }
    }

    /// Returns the index of the oldest job that is left to take, if there is one.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<usize> {
        // ORDERING: oldest_first, oldest_top. Relaxed: a hint, or else a read of the sleep
        // protocol, which has a fence before it.
        let first = self.first.load(order!(oldest_first: Relaxed));
        (self.top.load(order!(oldest_top: Relaxed)) > first).then_some(first)
    }

    /// Marks a job, if it is not marked already.
    pub(crate) fn mark(&self, index: usize) -> Marked {
        let Some(entry) = self.jobs.get(index) else {
            return Marked::Now;
        };
        // ORDERING: mark_look. Relaxed: a hint.
        let job = entry.load(order!(mark_look: Relaxed));
        if job.addr() & MARK != 0 {
            return Marked::Before;
        }
        let marked = job.map_addr(|address| address | MARK);
        // ORDERING: mark, mark_failed. Relaxed: the mark is a hint, and does not change what the
        // address leads to.
        let _ = entry.compare_exchange(
            job,
            marked,
            order!(mark: Relaxed),
            order!(mark_failed: Relaxed),
        );
        Marked::Now
    }

    /// Takes the oldest job. Returns `None` if there is none, or if another thief is taking it.
    #[cold]
    pub(crate) fn steal(&self) -> Option<Taken> {
        let _thieves = self.thieves.try_lock().ok()?;
        let index = self.oldest()?;
        // ORDERING: steal. Relaxed: under the lock against other thieves, ordered by the fence
        // against the owner.
        self.first.store(index + 1, order!(steal: Relaxed));
        // ORDERING: steal_fence. SeqCst: T2, with `pop_fence`.
        self.fences.heavy(order!(steal_fence: SeqCst));
        // ORDERING: steal_look. Acquire, with `push` and `pop`: the entry and the job are whole.
        // RECHECK: steal_again. The owner has the job back.
        if recheck!(steal_again: self.top.load(order!(steal_look: Acquire)) <= index) {
            // ORDERING: retreat. Relaxed: a thread that acts on it holds the lock.
            self.first.store(index, order!(retreat: Relaxed));
            return None;
        }
        self.ask();
        // ORDERING: taken. Relaxed: after `steal_look`.
        let job = self.jobs[index].load(order!(taken: Relaxed));
        let job = NonNull::new(job.map_addr(|address| address & !MARK));
        let job = job.expect("every place below the top holds a job");
        // SAFETY: this is the one thief, by the argument in the header of this file. The owner
        // keeps the frame until it has the job back. Work and result are `Send`, because `join`
        // requires it.
        Some(unsafe { Taken::new(job) })
    }
}

// Here and not in `tests`, so that Miri sees the races without an executor around them.
#[cfg(test)]
mod tests {
    use alloc::{boxed::Box, string::String, vec::Vec};
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::thread;

    use super::{
        AssertUnwindSafe, CREDIT, Ended, Fences, Forks, KEPT_OPEN, Marked, Surroundings, Wait,
        catch_unwind, resume_unwind,
    };

    struct Alone;

    impl Surroundings for Alone {
        fn offered(&self) {}

        fn wait(&self, wait: Wait) -> Ended {
            wait.block()
        }
    }

    /// A join whose sides borrow and make values with memory of their own, nested to the given
    /// depth.
    fn words(forks: &Forks, depth: usize, word: &str) -> String {
        if depth == 0 {
            return word.into();
        }
        let a = || words(forks, depth - 1, word);
        // SAFETY: only the owner calls this, because `a` is never taken.
        let (a, b) = unsafe { forks.join(&Alone, a, || String::from(word)) };
        a + &b
    }

    #[test]
    fn an_owner_against_thieves() {
        let forks = Forks::new(8, Fences::ordinary());
        let over = AtomicUsize::new(0);
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    while over.load(Relaxed) == 0 {
                        if let Some(index) = forks.oldest() {
                            forks.mark(index);
                        }
                        if let Some(taken) = forks.steal() {
                            taken.run();
                        }
                        thread::yield_now();
                    }
                });
            }
            for _ in 0..if cfg!(miri) { 10 } else { 1_000 } {
                assert_eq!(words(&forks, 4, "ab"), "ab".repeat(5));
                thread::yield_now();
            }
            over.store(1, Relaxed);
        });
        assert_eq!(forks.oldest(), None);
    }

    #[test]
    fn panics_of_either_side_against_a_thief() {
        let forks = Forks::new(8, Fences::ordinary());
        let over = AtomicUsize::new(0);
        let quiet = || -> String { resume_unwind(Box::new("on purpose")) };
        thread::scope(|s| {
            s.spawn(|| {
                while over.load(Relaxed) == 0 {
                    if let Some(taken) = forks.steal() {
                        taken.run();
                    }
                    thread::yield_now();
                }
            });
            for round in 0..if cfg!(miri) { 10 } else { 1_000 } {
                let word = String::from("ab");
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    if round % 2 == 0 {
                        // SAFETY: only the owner calls this.
                        unsafe { forks.join(&Alone, || word.clone(), quiet) }
                    } else {
                        // SAFETY: only the owner calls this.
                        unsafe { forks.join(&Alone, quiet, || word.clone()) }
                    }
                }));
                assert!(outcome.is_err());
                thread::yield_now();
            }
            over.store(1, Relaxed);
        });
        assert_eq!(forks.oldest(), None);
    }

    #[test]
    fn a_job_is_marked_once_and_can_still_be_taken() {
        let forks = Forks::new(2, Fences::ordinary());
        let marks = || (0..2).map(|_| forks.mark(0)).collect::<Vec<_>>();
        let a = || {
            assert_eq!(marks(), [Marked::Now, Marked::Before]);
            assert_eq!(forks.mark(2), Marked::Now, "there is no third place");
            forks.steal().expect("the job is open").run();
        };
        // SAFETY: only the owner calls this.
        let ((), b) = unsafe { forks.join(&Alone, a, || 7) };
        assert_eq!(b, 7);
    }

    #[test]
    fn more_jobs_stay_open_for_a_while_after_a_thief_has_asked() {
        const MANY: usize = 2 * KEPT_OPEN;
        let forks = Forks::new(MANY, Fences::ordinary());
        let limit = || forks.limit.load(Relaxed);
        // Each has one push in excess.
        let push = || words(&forks, KEPT_OPEN + 1, "a");
        for _ in 0..3 {
            for _ in 0..CREDIT - 1 {
                push();
            }
            assert_eq!(limit(), MANY);
            push();
            assert_eq!(limit(), KEPT_OPEN);
            push();
            assert_eq!(limit(), KEPT_OPEN, "no more than `KEPT_OPEN` stay open");
            forks.ask();
            assert_eq!(limit(), MANY);
        }
    }
}
