//! [`Forks`]: one worker's jobs that other workers may take, and [`join`](Forks::join) on them.
//!
//! The jobs are addresses in a [`Ring`], as the spawned tasks of a worker are: the owner takes back
//! the newest one, and thieves take the oldest. Joins nest. When a join wants its job back, all
//! jobs that were pushed later have been popped or taken, and if the job itself has been taken, so
//! have all older ones. The newest job is therefore its own, or there is none.
//!
//! # Limit
//! A push and a pop cost more than many closures, and the oldest jobs are the largest. A join that
//! finds [`KEPT_OPEN`] jobs open therefore runs its two closures in turn. But a job that is skipped
//! in this way is never offered again, and it need not be small: a chain of joins descends to its
//! end at once, and does its work on the way back. A worker that has nothing to do therefore
//! [asks](Forks::ask) for more jobs. After such a request, and after each theft, the owner pushes
//! [`MANY`] jobs regardless of how many are open.

use alloc::boxed::Box;
use core::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::job::{Job, Taken, Wait};
use crate::{
    fences::Fences,
    guard::drop_quietly,
    policy::{FEW, MANY},
    ring::{End, Ring, STACK},
};
use joint::completion::Ended;
use joint_switch::{AtomicUsize, order};

/// The number of forks that a worker keeps open if no thief has asked for more.
pub(crate) const KEPT_OPEN: usize = FEW as usize;

pub(crate) struct Forks {
    jobs: Ring<Taken, STACK>,
    /// The number of open jobs at which pushing stops.
    limit: AtomicUsize,
    /// The number of further pushes before the owner sets the limit.
    credit: AtomicUsize,
    capacity: usize,
    is_alone: bool,
}

impl Forks {
    /// A join beyond `capacity` jobs runs its closures in turn.
    pub(crate) fn new(capacity: usize, fences: Fences) -> Self {
        Self {
            jobs: Ring::new(),
            limit: AtomicUsize::new(capacity),
            credit: AtomicUsize::new(MANY),
            capacity,
            is_alone: fences.is_alone(),
        }
    }

    /// Runs both closures. `b` runs here after `a`, unless a thief takes it. `offered` is called
    /// after a job was pushed while no other job was left to take, and `wait` returns after a job's
    /// taker has finished. Neither of them may panic.
    ///
    /// # Safety
    /// Called by the one thread that owns this.
    #[inline]
    pub(crate) unsafe fn join<RA, RB: Send>(
        &self,
        offered: impl FnOnce(),
        wait: impl FnOnce(Wait) -> Ended,
        a: impl FnOnce() -> RA,
        b: impl FnOnce() -> RB + Send,
    ) -> (RA, RB) {
        // ORDERING: limit_look. Relaxed: a hint.
        if self.jobs.len() >= self.limit.load(order!(limit_look: Relaxed)) {
            return (a(), b());
        }
        // SAFETY: the caller promises it.
        unsafe { self.join_open(offered, wait, a, b) }
    }

    /// Like [`join`](Forks::join), with `b` pushed where thieves can take it.
    ///
    /// # Safety
    /// Called by the one thread that owns this.
    #[inline(never)]
    unsafe fn join_open<RA, RB: Send>(
        &self,
        offered: impl FnOnce(),
        wait: impl FnOnce(Wait) -> Ended,
        a: impl FnOnce() -> RA,
        b: impl FnOnce() -> RB + Send,
    ) -> (RA, RB) {
        let mut job = Job::new(b);
        // SAFETY: the job stays in this frame, and is back before it is used again below.
        let (open, lent) = unsafe { job.lend() };
        // SAFETY: the caller is the owner.
        let pushed = unsafe { self.jobs.push(open, usize::MAX) };
        pushed.unwrap_or_else(|_| unreachable!("a ring has room for more jobs than the limit"));
        match self.jobs.len() {
            0 | 1 => offered(),
            open if open > KEPT_OPEN => self.use_credit(),
            _ => {}
        }
        let of_a = catch_unwind(AssertUnwindSafe(a));
        // SAFETY: the caller is the owner.
        if let Some(open) = unsafe { self.jobs.pop(End::Newest, self.is_alone) } {
            lent.take_back(open);
            // SAFETY: the job was popped, so it was not taken and will not be.
            let b = unsafe { job.take_work() };
            job.retire();
            return match of_a {
                Ok(ra) => (ra, b()),
                Err(payload) => panicked(payload, b),
            };
        }
        let of_b = Self::collect(&job, lent, wait);
        job.retire();
        let ra = match of_a {
            Ok(ra) => ra,
            Err(payload) => panicked(payload, of_b),
        };
        (ra, of_b.unwrap_or_else(|payload| resume_unwind(payload)))
    }

    /// Counts down the pushes in excess.
    #[inline]
    fn use_credit(&self) {
        // ORDERING: credit_look, credit. Relaxed: only the owner uses it.
        let left = self.credit.load(order!(credit_look: Relaxed)) - 1;
        self.credit
            .store(if left == 0 { MANY } else { left }, order!(credit: Relaxed));
        if left == 0 {
            // ORDERING: limit. Relaxed: a hint.
            self.limit.store(KEPT_OPEN, order!(limit: Relaxed));
        }
    }

    /// Asks the owner to leave more jobs open, for up to [`MANY`] pushes.
    pub(crate) fn ask(&self) {
        // ORDERING: ask. Relaxed: a hint.
        self.limit.store(self.capacity, order!(ask: Relaxed));
    }

    #[cold]
    #[inline(never)]
    fn collect<F: FnOnce() -> R, R>(
        job: &Job<F, R>,
        lent: Wait,
        wait: impl FnOnce(Wait) -> Ended,
    ) -> std::thread::Result<R> {
        match wait(lent) {
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
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.jobs.oldest()
    }

    /// Takes the oldest job. Returns `None` if there is none, or if others take jobs all the time.
    #[cold]
    pub(crate) fn steal(&self) -> Option<Taken> {
        let taken = self.jobs.steal_one()?;
        self.ask();
        Some(taken)
    }
}

/// Resumes the panic of `a`, after dropping the rest of `b`: its closure or its result. A panic in
/// that drop is caught, as it is where a thief has taken `b`. During unwinding it would abort.
#[cold]
fn panicked<T>(payload: Box<dyn Any + Send>, left_of_b: T) -> ! {
    drop_quietly(left_of_b);
    resume_unwind(payload)
}
