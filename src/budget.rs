//! The budget: how many operations one poll of a task may do before it has to yield.
//!
//! A task whose descriptor is always ready never has to wait. It would keep its thread from other
//! tasks, and its own timeouts from being checked. Each operation of a descriptor,
//! a timer or a channel that is ready therefore takes one from the budget, which is refilled at
//! each poll of a task ([`refill`]). Once the budget is used up, the next operation is *refused*:
//! it wakes the task, and is pending without having done anything ([`poll_proceed`]). For a task of
//! this crate, that takes no atomic read-modify-write.
//!
//! # Fairness
//! A future that is polled after the one that has used up the budget, such as its sibling in a
//! join, must make progress too, and so must all other tasks. So whoever was refused goes first in
//! the next poll, and every poll ends:
//!
//! | an operation | once the budget is used up, it is let through |
//! |---|---|
//! | with a [`Turn`] that outlasts the poll | in each poll, after one that has refused it |
//! | without one | by chance: the n-th that a poll refuses in one of n + 2 polls, the first in one of 64 |
//!
//! * **Nobody is refused for ever.** A [`Turn`] remembers which poll has refused it, and no two in
//!   a row do, whatever the others do. Each combinator around it that has a turn of its own, such
//!   as a timeout, may take one more poll. Operations without a turn are chosen by chance because
//!   any fixed order can fall into step with the program.
//! * **A poll ends.** Besides its budget, it does at most one operation for each turn that an
//!   earlier poll has refused. The chance of the others falls with each one that is refused.
//! * **Who never returns makes progress.** If more than 64 operations in a row are refused, the
//!   future is probably polled again and again by an executor of another crate inside the task. The
//!   budget is refilled then. That takes one refusal more each time, so that a poll of very many
//!   operations ends as well.
//!
//! Each thread has its own budget, which never runs out unless the thread's executor calls
//! [`refill`]. A future that is polled by hand, or by an executor that knows nothing of budgets, is
//! never refused.
//!
//! # Who calls what
//! An executor calls [`refill`] before each poll. If it may itself be called inside a poll, as a
//! `block_on` may, it [saves](save) the outer budget meanwhile. A future that does operations of
//! its own, such as a channel, keeps a [`Turn`]. It calls [`Turn::poll_proceed`] before an
//! operation, and [`Turn::spend`] if that was ready. [`poll_proceed`] and [`spend`] are for those
//! that have no place for a turn.
//!
//! # Example
//! A future that counts, and is always ready to go on, lets other tasks run after every 128 steps.
//! ```
//! use joint::{budget, task};
//! use std::cell::Cell;
//! use std::future::poll_fn;
//! use std::rc::Rc;
//! use std::sync::mpsc;
//! use std::task::{Poll, ready};
//!
//! async fn count(steps: Rc<Cell<u32>>) {
//!     while steps.get() < 300 {
//!         poll_fn(|cx| {
//!             ready!(budget::poll_proceed(cx));
//!             budget::spend();
//!             Poll::Ready(())
//!         })
//!         .await;
//!         steps.set(steps.get() + 1);
//!     }
//! }
//!
//! let (sender, queue) = mpsc::channel();
//! let steps = Rc::new(Cell::new(0));
//! let push = move |runnable| sender.send(runnable).unwrap();
//! let (runnable, handle) = task::spawn_local(count(steps.clone()), push);
//! runnable.schedule();
//! let mut after_each_poll = Vec::new();
//! while let Ok(runnable) = queue.try_recv() {
//!     budget::refill();
//!     runnable.run();
//!     after_each_poll.push(steps.get());
//! }
//! assert!(handle.is_finished());
//! assert_eq!(after_each_poll, [128, 256, 300]);
//! ```

use core::{
    cell::Cell,
    marker::PhantomData,
    task::{Context, Poll},
};

use super::host;
use joint_switch::thread_local;

/// The number of operations that one poll of a task may do.
const OPERATIONS: u64 = 128;
/// One operation in [`Budget::left`].
const ONE: u64 = 2;
/// A bit of [`Budget::left`]: this poll has refused an operation.
const REFUSED: u64 = 1;
/// A budget that no poll uses up.
const UNLIMITED: u64 = u64::MAX - REFUSED;
/// More refusals in a row than this refill the budget.
const IN_A_ROW: u32 = 64;
/// The chance of the first newcomer of a poll is one in so many.
const FIRST_CHANCE: u32 = 64;
/// Any number but 0, at which the generator would stay.
const SEED: u32 = 0x9E37_79B9;

/// The budget of a thread.
struct Budget {
    /// The number of operations that this poll may still do, and whether it has refused one.
    left: Cell<u64>,
    /// What this poll has refused, if the bit in `left` is set.
    refusals: Cell<Refusals>,
    /// The latest ticket, or 0 if there was none. It never goes back.
    ticket: Cell<u32>,
    /// The state of the random numbers.
    chance: Cell<u32>,
}

thread_local! {
    static BUDGET: Budget = const {
        Budget {
            left: Cell::new(UNLIMITED),
            refusals: Cell::new(Refusals {
                first: 0,
                newcomers: 0,
                in_a_row: 0,
                refills: 0,
            }),
            ticket: Cell::new(0),
            chance: Cell::new(SEED),
        }
    };
}

/// What one poll has refused.
#[derive(Clone, Copy, Debug, Default)]
struct Refusals {
    /// The first ticket since the budget was refilled. Older ones are of an earlier poll.
    first: u32,
    newcomers: u32,
    /// The number of refusals since an operation was let through, without those of operations that
    /// have not been polled since.
    in_a_row: u32,
    /// How often the budget was refilled within the poll.
    refills: u32,
}

impl Budget {
    /// Judges an operation for which no budget is left. Returns whether it is let through.
    fn judge(&self, ticket: &mut u32) -> bool {
        let mut refusals = match self.left.replace(REFUSED) & REFUSED {
            0 => Refusals {
                first: self.next_ticket(),
                ..Refusals::default()
            },
            _ => self.refusals.get(),
        };
        let let_through = self.let_through(&mut refusals, *ticket);
        if let Some(operations) = let_through {
            // What is refused from now on can be told from what was refused before.
            self.next_ticket();
            self.left.set((operations * ONE) | REFUSED);
        }
        *ticket = self.ticket.get();
        if refusals.first == 0 {
            refusals.first = *ticket;
        }
        self.refusals.set(refusals);
        let_through.is_some()
    }

    /// Returns how many operations may be done, beginning with this one, or `None` if it is
    /// refused.
    fn let_through(&self, refusals: &mut Refusals, ticket: u32) -> Option<u64> {
        let is_new = ticket == 0;
        let latest = self.ticket.get();
        let age = latest.wrapping_sub(ticket);
        if !is_new && age > latest.wrapping_sub(refusals.first) {
            refusals.in_a_row = 0;
            return Some(1);
        }
        // An operation that was refused, and that is polled again although nothing was let through
        // meanwhile, is polled by somebody who does not return to the executor.
        if is_new || age == 0 {
            refusals.in_a_row += 1;
            // One more each time, so that also a poll with many newcomers ends.
            if refusals.in_a_row > IN_A_ROW + refusals.refills {
                *refusals = Refusals {
                    refills: refusals.refills + 1,
                    ..Refusals::default()
                };
                return Some(OPERATIONS);
            }
        }
        if is_new {
            refusals.newcomers += 1;
            // The first one usually is the one that has used up the budget.
            let chance = match refusals.newcomers {
                1 => FIRST_CHANCE,
                others => others + 2,
            };
            if self.random() % chance == 0 {
                refusals.in_a_row = 0;
                return Some(1);
            }
        }
        None
    }

    /// Returns a random number, by Marsaglia's xorshift.
    fn random(&self) -> u32 {
        let mut x = self.chance.get();
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.chance.set(x);
        x
    }

    /// Returns a ticket that is the latest from now on. Each thread begins somewhere else, so that
    /// an operation that has come from another thread is seldom taken for one of this poll.
    fn next_ticket(&self) -> u32 {
        let before = match self.ticket.get() {
            0 => (&raw const self.ticket).addr().wrapping_mul(SEED as usize) as u32,
            before => before,
        };
        self.ticket.set(before.wrapping_add(1).max(1));
        self.ticket.get()
    }
}

/// Refills the budget of this thread to 128 operations. Call it before each poll of a task.
///
/// From then on, operations on this thread can be refused. Call it only on threads that poll only
/// tasks, or after a [`save`].
#[inline]
pub fn refill() {
    BUDGET.with(|budget| budget.left.set(OPERATIONS * ONE));
}

/// Refills the budget of this thread as [`refill`] does, but to another number of operations.
///
/// This is for an owner of a thread that gives its tasks longer or shorter turns, for simulators,
/// and for tests of how a future bears that it is refused.
///
/// # Example
/// ```
/// use joint::budget;
///
/// budget::refill_to(1);
/// assert!(budget::has_left());
/// budget::spend();
/// assert!(!budget::has_left());
/// ```
#[inline]
pub fn refill_to(operations: u64) {
    BUDGET.with(|budget| budget.left.set(operations.min(UNLIMITED / ONE) * ONE));
}

/// The budget of the current poll, kept while other futures are polled inside it. It is restored
/// when this is dropped, which must be on the same thread, so it cannot be sent to another.
#[derive(Debug)]
#[must_use = "dropping it restores the budget"]
pub struct Saved {
    left: u64,
    refusals: Option<Refusals>,
    /// It stays on its thread.
    thread: PhantomData<*mut ()>,
}

/// Keeps the budget of the current poll until the returned value is dropped.
#[inline]
pub fn save() -> Saved {
    let left = BUDGET.with(|budget| budget.left.get());
    Saved {
        left,
        refusals: (left & REFUSED != 0).then(|| BUDGET.with(|budget| budget.refusals.get())),
        thread: PhantomData,
    }
}

impl Drop for Saved {
    #[inline]
    fn drop(&mut self) {
        BUDGET.with(|budget| budget.left.set(self.left));
        if let Some(refusals) = self.refusals {
            BUDGET.with(|budget| budget.refusals.set(refusals));
        }
    }
}

/// Sets the seed of the random numbers by which this thread lets operations without a [`Turn`]
/// through, and returns the one to restore. With the same seed, the same are let through.
pub fn set_seed(seed: u32) -> u32 {
    BUDGET.with(|budget| budget.chance.replace(seed.max(1)))
}

/// Returns how many operations may be done.
#[inline]
pub fn left() -> u64 {
    BUDGET.with(|budget| budget.left.get()) / ONE
}

/// Returns whether an operation may be done.
#[inline]
pub fn has_left() -> bool {
    BUDGET.with(|budget| budget.left.get()) >= ONE
}

/// Returns whether at most one operation is left, or this poll has refused one. For code that
/// relies on other tasks running meanwhile.
#[inline]
pub fn is_used_up() -> bool {
    let left = BUDGET.with(|budget| budget.left.get());
    left <= ONE || left & REFUSED != 0
}

/// Returns `Ready` if an operation may be tried, and [`spend`] must be called if that operation is
/// ready. Returns `Pending` if the operation is refused, after waking the waker.
///
/// It does not know which operations were refused before. A [`Turn`] is [fairer](self#fairness).
#[inline]
pub fn poll_proceed(cx: &mut Context<'_>) -> Poll<()> {
    Turn::new().poll_proceed(cx)
}

/// Records that an operation was ready.
#[inline]
pub fn spend() {
    BUDGET.with(|Budget { left, .. }| {
        if left.get() >= ONE {
            left.set(left.get() - ONE);
        }
    });
}

/// Remembers that an operation was refused, so that it is let through in the next poll, whatever is
/// left of the budget then.
///
/// Keep it where it outlasts the poll: in a channel's receiver, or in the future of an operation.
#[derive(Debug, Default)]
pub struct Turn {
    /// The ticket of the last refusal, or 0 if there was none.
    ticket: u32,
}

/// A clone has not been refused yet.
impl Clone for Turn {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Turn {
    /// Returns the turn of an operation that has never been refused.
    #[inline]
    pub const fn new() -> Self {
        Self { ticket: 0 }
    }

    /// Does what [`poll_proceed`] does, and is also `Ready` if the operation was refused in an
    /// earlier poll and has not been let through in this one since the budget was used up.
    #[inline]
    pub fn poll_proceed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match has_left() {
            true => Poll::Ready(()),
            false => self.poll_refused(cx),
        }
    }

    /// Records that the operation was ready, as [`spend`] does, and forgets that it was refused.
    #[inline]
    pub fn spend(&mut self) {
        self.ticket = 0;
        spend();
    }

    #[cold]
    fn poll_refused(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if BUDGET.with(|budget| budget.judge(&mut self.ticket)) {
            return Poll::Ready(());
        }
        if let Some(f) = host::part(|host| host.on_refused) {
            f();
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
