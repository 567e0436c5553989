//! A lock with permits: [`FlowLock`], of which several can be held at once.
//!
//! # Difference from other semaphores
//! * A request for more permits than the lock has is admitted as soon as no permit is held, and
//!   then runs alone. It neither fails nor waits forever.
//! * The queue is first in, first out without exception. A small request does not overtake a large
//!   one that waits, not even by [`FlowLock::try_take`].
//!
//! # Differences from Flow
//! * A request takes its place in the queue when its future is first polled, because a future does
//!   nothing before that.
//! * A request that finds enough permits is granted at once. Flow's takes one trip through the run
//!   loop. In both, a grant by somebody who gives permits back is a wake-up: the taker never runs
//!   on the stack of the releaser.
//! * [`close`](FlowLock::close) is Flow's `kill`. It has one error for everybody, and later
//!   requests fail too.
//! * A lock cannot vanish under its waiters, because each has a handle to it.
//!
//! A `FlowMutex` is a `FlowLock::new(1)`.

// # Invariants
//
// 1. `State::taken` counts the permits of every `Permit` that exists, wherever it is: with its
//    holder, or in a grant that is on its way. A `Permit` is counted before it is made, under the
//    lock, and uncounted after it is gone.
// 2. A request is in the queue or has been granted, but never both: the same critical section that
//    removes it counts its permits.
// 3. Whenever the lock is open and nobody is in `admit`, the first request in the queue does not
//    fit. Whatever can make it fit calls `admit`: a permit that is given back, and the cancellation
//    of a request, which may have been the first. A call from a waker that is woken in `admit` by
//    the same thread leaves it to that one, which looks at the queue after each waker.
//
// No waker and no destructor of a user runs in a critical section.

use std::{
    collections::BTreeMap,
    error::Error,
    fmt,
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use joint::{
    budget::{self, Turn},
    oneshot::{self, SendError},
};

use self::admitting::Admitting;
use crate::Closed;
use joint_switch::{Mutex, MutexGuard};

mod admitting;

/// A lock with a number of permits, which are granted in the order of the requests.
///
/// A clone is another handle to the same lock.
///
/// # Cost
/// A request that is granted at once, and giving its permits back, takes a short critical section
/// each. A request that waits also takes one allocation for its grant, and O(log n) for n requests
/// that wait. A cancelled request leaves nothing behind.
///
/// # Example
/// ```
/// use joint_flow::lock::FlowLock;
///
/// // At most two downloads at a time.
/// let lock = FlowLock::new(2);
/// let downloads: Vec<_> = (0..10)
///     .map(|n| {
///         let lock = lock.clone();
///         joint_executor::spawn(async move {
///             let _permit = lock.take(1).await?;
///             assert!(lock.taken() <= 2);
///             Ok::<_, joint_flow::Closed>(n)
///         })
///     })
///     .collect();
/// for (n, download) in downloads.into_iter().enumerate() {
///     assert_eq!(joint::block_on(download), Ok(n));
/// }
/// ```
#[doc(alias = "Semaphore")]
#[derive(Clone)]
pub struct FlowLock {
    shared: Arc<Shared>,
}

struct Shared {
    permits: usize,
    state: Mutex<State>,
}

struct State {
    /// How many permits are held or on their way to a taker (invariant 1).
    taken: usize,
    /// The requests that wait, by their tickets.
    queue: BTreeMap<u64, Request>,
    next_ticket: u64,
    is_closed: bool,
}

/// A request that has left the queue, and what it gets.
type Granted = (oneshot::Sender<Permit>, Permit);

struct Request {
    amount: usize,
    grant: oneshot::Sender<Permit>,
}

impl State {
    /// Returns whether the first request in line, for this amount, is to be admitted now.
    fn fits(&self, amount: usize, permits: usize) -> bool {
        // A sum that overflows does not fit, not even if there are `usize::MAX` permits.
        let sum = self.taken.checked_add(amount);
        self.taken == 0 || sum.is_some_and(|taken| taken <= permits)
    }
}

impl FlowLock {
    /// Creates a lock with so many permits.
    ///
    /// With 0 permits, every request runs alone, as with 1.
    pub fn new(permits: usize) -> Self {
        let state = State {
            taken: 0,
            queue: BTreeMap::new(),
            next_ticket: 0,
            is_closed: false,
        };
        Self {
            shared: Arc::new(Shared {
                permits,
                state: Mutex::new(state),
            }),
        }
    }

    /// Takes an amount of permits, all at once, as soon as it is this request's turn.
    ///
    /// The request takes its place in the queue when the future is first polled. If the future is
    /// dropped before it was granted, it leaves the queue. If it is dropped after that, the permits
    /// are given back. In either case the requests behind it move up.
    ///
    /// # Errors
    /// The future gives [`Closed`] if the lock has been [closed](FlowLock::close) before the
    /// request was granted.
    ///
    /// # Example
    /// ```
    /// use joint_flow::lock::FlowLock;
    ///
    /// joint::block_on(async {
    ///     let lock = FlowLock::new(3);
    ///     let permit = lock.take(2).await?;
    ///     assert_eq!((lock.taken(), lock.available()), (2, 1));
    ///     drop(permit);
    ///     assert_eq!((lock.taken(), lock.available()), (0, 3));
    ///
    ///     let all = lock.take(5).await?; // more than there are: alone
    ///     assert_eq!((lock.taken(), lock.available()), (5, 0));
    ///     # drop(all);
    ///     # Ok::<_, joint_flow::Closed>(())
    /// }).unwrap();
    /// ```
    pub fn take(&self, amount: usize) -> Take {
        Take {
            shared: self.shared.clone(),
            amount,
            stage: Stage::New,
            turn: Turn::new(),
        }
    }

    /// Takes an amount of permits if that is possible without waiting, and without overtaking a
    /// request that waits.
    ///
    /// # Errors
    /// [`TryTakeError::Empty`] if it would have to wait. [`TryTakeError::Closed`] if the lock has
    /// been closed.
    ///
    /// # Example
    /// ```
    /// use joint_flow::lock::{FlowLock, TryTakeError};
    ///
    /// let lock = FlowLock::new(1);
    /// let permit = lock.try_take(1).unwrap();
    /// assert_eq!(lock.try_take(1).unwrap_err(), TryTakeError::Empty);
    /// drop(permit);
    /// assert!(lock.try_take(1).is_ok());
    /// ```
    pub fn try_take(&self, amount: usize) -> Result<Permit, TryTakeError> {
        self.shared.try_take(&mut self.shared.lock(), amount)
    }

    /// Closes the lock. Every request that waits fails with [`Closed`], and so does every later
    /// one.
    ///
    /// Permits that are held stay valid, and so does a grant that is on its way to its taker.
    ///
    /// # Example
    /// ```
    /// use joint_flow::{Closed, lock::FlowLock};
    ///
    /// let lock = FlowLock::new(1);
    /// lock.close();
    /// assert_eq!(joint::block_on(lock.take(1)).unwrap_err(), Closed);
    /// ```
    pub fn close(&self) {
        let mut state = self.shared.lock();
        state.is_closed = true;
        let queue = mem::take(&mut state.queue);
        drop(state);
        // Each sender that is dropped here wakes its waiter.
        drop(queue);
    }

    /// Returns how many permits the lock has, whether they are held or not.
    pub fn permits(&self) -> usize {
        self.shared.permits
    }

    /// Returns how many permits are held. That is more than [`permits`](FlowLock::permits) while a
    /// request for more than those is admitted.
    pub fn taken(&self) -> usize {
        self.shared.lock().taken
    }

    /// Returns how many permits are not held.
    pub fn available(&self) -> usize {
        self.shared.permits.saturating_sub(self.taken())
    }

    /// Returns how many requests wait.
    pub fn waiters(&self) -> usize {
        self.shared.lock().queue.len()
    }
}

impl fmt::Debug for FlowLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        f.debug_struct("FlowLock")
            .field("permits", &self.shared.permits)
            .field("taken", &state.taken)
            .field("waiters", &state.queue.len())
            .field("is_closed", &state.is_closed)
            .finish()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in a critical section leaves the state half changed if it panics.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes permits past an empty queue.
    fn try_take(
        self: &Arc<Self>,
        state: &mut State,
        amount: usize,
    ) -> Result<Permit, TryTakeError> {
        if state.is_closed {
            return Err(TryTakeError::Closed);
        }
        if !self.is_free(state, amount) {
            return Err(TryTakeError::Empty);
        }
        Ok(self.count(state, amount))
    }

    fn is_free(&self, state: &State, amount: usize) -> bool {
        state.queue.is_empty() && state.fits(amount, self.permits)
    }

    /// Makes a permit, which counts from now on.
    fn count(self: &Arc<Self>, state: &mut State, amount: usize) -> Permit {
        state.taken += amount;
        Permit {
            shared: self.clone(),
            amount,
        }
    }

    /// Admits requests from the queue for as long as the first one fits.
    fn admit(self: &Arc<Self>) {
        let address = Arc::as_ptr(self).addr();
        if Admitting::is_here(address) {
            return;
        }
        if let Some(first) = self.next() {
            let _admitting = Admitting::begin(address);
            self.grant_from(first);
        }
    }

    /// Grants this request, and those after it.
    ///
    /// One at a time, so that no grant is in this function's hands while a waker runs: if it
    /// panics, the guard admits the rest.
    fn grant_from(self: &Arc<Self>, first: Granted) {
        struct OnUnwind<'a>(&'a Arc<Shared>);
        impl Drop for OnUnwind<'_> {
            fn drop(&mut self) {
                if let Some(next) = self.0.next() {
                    self.0.grant_from(next);
                }
            }
        }

        let mut next = Some(first);
        while let Some((grant, permit)) = next {
            let rest = OnUnwind(self);
            let refused = grant.send(permit);
            mem::forget(rest);
            // The request was cancelled after it had left the queue. This loop goes on with what
            // its permit was; dropping that would call this function again, once for each.
            if let Err(SendError(mut permit)) = refused {
                permit.reduce(permit.amount);
            }
            next = self.next();
        }
    }

    /// Removes the first request from the queue, if it fits.
    fn next(self: &Arc<Self>) -> Option<Granted> {
        let mut state = self.lock();
        let amount = state.queue.first_key_value()?.1.amount;
        if !state.fits(amount, self.permits) {
            return None;
        }
        let (_, request) = state.queue.pop_first()?;
        Some((request.grant, self.count(&mut state, amount)))
    }
}

/// Permits of a [`FlowLock`]. Dropping it gives them back, and admits the requests that fit then.
///
/// The takers of these requests are woken. They do not run before the drop returns, unless they run
/// on other threads. If a waker drops a permit of the same lock, the requests that fit then are
/// admitted when that waker returns.
///
/// # Panics
/// If a waker panics, that passes through after the other requests have been admitted. A second
/// panic ends the program.
#[must_use = "dropping a permit gives it back"]
pub struct Permit {
    shared: Arc<Shared>,
    amount: usize,
}

impl Permit {
    /// Returns how many permits this is.
    pub fn amount(&self) -> usize {
        self.amount
    }

    /// Gives some of the permits back, and keeps the others.
    ///
    /// # Panics
    /// Panics if `amount` is greater than [`amount()`](Permit::amount).
    ///
    /// # Example
    /// ```
    /// use joint_flow::lock::FlowLock;
    ///
    /// let lock = FlowLock::new(5);
    /// let mut permit = lock.try_take(5).unwrap();
    /// permit.give_back(2);
    /// assert_eq!((permit.amount(), lock.available()), (3, 2));
    /// ```
    pub fn give_back(&mut self, amount: usize) {
        assert!(
            amount <= self.amount,
            "a permit of {} cannot give {amount} back",
            self.amount
        );
        self.reduce(amount);
        self.shared.admit();
    }

    /// Uncounts permits, and admits nobody: the caller does.
    fn reduce(&mut self, amount: usize) {
        self.amount -= amount;
        self.shared.lock().taken -= amount;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.amount > 0 {
            self.give_back(self.amount);
        }
    }
}

debug!(Permit, |it| amount: it.amount, ..);

/// The future of [`FlowLock::take`].
///
/// # Panics
/// Panics if it is polled again after it was ready.
#[must_use = "futures do nothing unless awaited"]
pub struct Take {
    shared: Arc<Shared>,
    amount: usize,
    stage: Stage,
    turn: Turn,
}

enum Stage {
    New,
    /// In the queue with this ticket, or granted.
    Queued {
        ticket: u64,
        grant: oneshot::Receiver<Permit>,
    },
    Ended,
}

impl Take {
    /// Takes the permits, or a place in the queue. Returns `None` if the permits are free and the
    /// budget is used up.
    fn begin(&mut self) -> Option<Result<Permit, TryTakeError>> {
        let mut state = self.shared.lock();
        if self.shared.is_free(&state, self.amount) && !budget::has_left() {
            return None;
        }
        let taken = self.shared.try_take(&mut state, self.amount);
        if let Err(TryTakeError::Empty) = taken {
            let ticket = state.next_ticket;
            state.next_ticket += 1;
            let (sender, grant) = oneshot::channel();
            let request = Request {
                amount: self.amount,
                grant: sender,
            };
            state.queue.insert(ticket, request);
            self.stage = Stage::Queued { ticket, grant };
        }
        Some(taken)
    }
}

impl Future for Take {
    type Output = Result<Permit, Closed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Stage::New = this.stage {
            let begun = loop {
                match this.begin() {
                    Some(begun) => break begun,
                    // A lock that is free would otherwise never let another task run.
                    None => ready!(this.turn.poll_proceed(cx)),
                }
            };
            if !matches!(begun, Err(TryTakeError::Empty)) {
                budget::spend();
                this.stage = Stage::Ended;
                return Poll::Ready(begun.map_err(|_| Closed));
            }
        }
        let Stage::Queued { grant, .. } = &mut this.stage else {
            panic!("a `Take` was polled again after it was ready; do not poll it after that");
        };
        // A sender that is dropped without a grant is that of a lock that has been closed.
        let granted = ready!(Pin::new(grant).poll(cx));
        this.stage = Stage::Ended;
        Poll::Ready(granted.map_err(|_| Closed))
    }
}

impl Drop for Take {
    fn drop(&mut self) {
        let Stage::Queued { ticket, grant } = mem::replace(&mut self.stage, Stage::Ended) else {
            return;
        };
        let left = self.shared.lock().queue.remove(&ticket);
        if left.is_some() {
            // It may have been the first, and too large.
            self.shared.admit();
        }
        // If it has left the queue before, the grant is here, and gives its permits back now, or is
        // on its way, and comes back to the one who sends it.
        drop(grant);
        // The receiver has gone first, so that its own task is not woken.
        drop(left);
    }
}

impl fmt::Debug for Take {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::New => "new",
            Stage::Queued { .. } => "queued",
            Stage::Ended => "ended",
        };
        f.debug_struct("Take")
            .field("amount", &self.amount)
            .field("stage", &stage)
            .finish_non_exhaustive()
    }
}

/// The error of [`FlowLock::try_take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TryTakeError {
    /// The request would have to wait.
    Empty,
    /// The lock has been closed.
    Closed,
}

impl fmt::Display for TryTakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("too few permits, or others wait for them"),
            Self::Closed => Closed.fmt(f),
        }
    }
}

impl Error for TryTakeError {}
