//! A value whose changes can be awaited, [`AsyncVar`], and an event without a value, [`Trigger`].
//!
//! Both hold one promise for the next notification, a [`shared::channel`]. It is made when
//! somebody asks for it, so a change that nobody waits for costs a lock and no allocation. A
//! notification takes the promise out before it keeps it. Whoever asks again when it is woken, or
//! in its waker, gets the promise of the *next* change.
//!
//! # Difference from Flow
//! An [`AsyncVar`] may be shared between threads. A waiter that reads the value after it was woken
//! may read that of a later change, and is woken for the later one again if it has asked before.

use std::{
    fmt,
    future::Future,
    mem,
    pin::Pin,
    sync::TryLockError,
    task::{Context, Poll, ready},
};

use joint::budget::{self, Turn};

use crate::shared::{self, Closed, Sender, Shared};
use joint_switch::{Mutex, MutexGuard};

/// A value whose changes can be awaited.
///
/// Put it into an [`Arc`](std::sync::Arc) to share it. If it is dropped, its waiters get
/// [`Closed`].
///
/// # Example
/// ```
/// use std::sync::Arc;
/// use joint_flow::variable::AsyncVar;
///
/// let level = Arc::new(AsyncVar::new(0));
/// let reader = joint_executor::spawn({
///     let level = level.clone();
///     async move { level.wait_for(|level| *level >= 2).await }
/// });
/// level.set(1);
/// level.set(2);
/// assert_eq!(joint::block_on(reader), 2);
/// ```
pub struct AsyncVar<T> {
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    value: T,
    /// The promise of the next change, if somebody has asked for it.
    next: Option<(Sender<()>, Shared<()>)>,
}

impl<T> Inner<T> {
    fn on_change(&mut self) -> Changed {
        let (_, next) = self.next.get_or_insert_with(shared::channel);
        Changed(next.clone(), Turn::new())
    }
}

impl<T> AsyncVar<T> {
    /// Creates a variable.
    pub fn new(value: T) -> Self {
        let inner = Inner { value, next: None };
        Self {
            inner: Mutex::new(inner),
        }
    }

    /// Returns a clone of the value.
    ///
    /// The clone is made under a lock, as [`with`](AsyncVar::with) explains.
    pub fn get(&self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }

    /// Calls a function with the value, and returns its result.
    ///
    /// The function runs under the variable's lock, so it must not use the variable, and should be
    /// short.
    ///
    /// # Example
    /// ```
    /// let name = joint_flow::variable::AsyncVar::new(String::from("joint"));
    /// assert_eq!(name.with(|name| name.len()), 5);
    /// ```
    pub fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        f(&self.lock().value)
    }

    /// Sets the value. If it is equal to the old one, nothing else happens. If it is not, everybody
    /// is woken who has asked for the next change.
    ///
    /// Returns whether the value has changed. The comparison runs under the variable's lock. The
    /// old value is dropped after that.
    ///
    /// # Cost
    /// If nobody waits, a lock and a comparison. Otherwise also a [`Sender::send`].
    ///
    /// # Example
    /// ```
    /// use joint_flow::variable::AsyncVar;
    ///
    /// let variable = AsyncVar::new(1);
    /// let changed = variable.on_change();
    /// assert!(!variable.set(1));
    /// assert!(!changed.is_finished());
    /// assert!(variable.set(2));
    /// assert!(changed.is_finished());
    /// ```
    pub fn set(&self, value: T) -> bool
    where
        T: PartialEq,
    {
        let inner = self.lock();
        let is_change = inner.value != value;
        if is_change {
            Self::replace(inner, value);
        }
        is_change
    }

    /// Sets the value, and notifies as for a change even if it is equal to the old one.
    pub fn set_unconditional(&self, value: T) {
        Self::replace(self.lock(), value);
    }

    fn replace(mut inner: MutexGuard<'_, Inner<T>>, value: T) {
        let old = mem::replace(&mut inner.value, value);
        Self::notify(inner);
        drop(old);
    }

    fn notify(mut inner: MutexGuard<'_, Inner<T>>) {
        let next = inner.next.take();
        drop(inner);
        if let Some((sender, _)) = next {
            sender.send(());
        }
    }

    /// Changes the value in place, and notifies as for a change. Returns what the function returns.
    ///
    /// No other change comes between the function's look at the value and its change. The function
    /// runs under the variable's lock, as [`with`](AsyncVar::with) explains.
    ///
    /// # Panics
    /// If the function does. The value is as the function has left it, and nobody is notified.
    ///
    /// # Example
    /// ```
    /// use joint_flow::variable::AsyncVar;
    ///
    /// let level = AsyncVar::new(0);
    /// std::thread::scope(|threads| {
    ///     for _ in 0..2 {
    ///         threads.spawn(|| (0..1000).for_each(|_| level.modify(|level| *level += 1)));
    ///     }
    /// });
    /// assert_eq!(level.get(), 2000);
    /// ```
    pub fn modify<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let mut inner = self.lock();
        let result = f(&mut inner.value);
        Self::notify(inner);
        result
    }

    /// As [`modify`](AsyncVar::modify), but notifies only if the function returns `true`. Returns
    /// what it returns.
    ///
    /// # Panics
    /// As for [`modify`](AsyncVar::modify).
    ///
    /// # Example
    /// ```
    /// use joint_flow::variable::AsyncVar;
    ///
    /// let highest = AsyncVar::new(5_u32);
    /// let raise = |to: u32| {
    ///     highest.send_if_modified(|highest| {
    ///         let is_higher = to > *highest;
    ///         *highest = to.max(*highest);
    ///         is_higher
    ///     })
    /// };
    /// assert!(!raise(3));
    /// assert!(raise(7));
    /// assert_eq!(highest.get(), 7);
    /// ```
    pub fn send_if_modified(&self, f: impl FnOnce(&mut T) -> bool) -> bool {
        let mut inner = self.lock();
        let is_modified = f(&mut inner.value);
        if is_modified {
            Self::notify(inner);
        }
        is_modified
    }

    /// Waits until the condition holds, and returns a clone of the value for which it does.
    ///
    /// The condition is asked at once, and then at each wake-up by a change. A value that is
    /// replaced before this is polled is not asked for. The condition and the clone run under the
    /// variable's lock, as [`with`](AsyncVar::with) explains. The future may be dropped at any
    /// time.
    ///
    /// # Example
    /// ```
    /// use joint_flow::{all, variable::AsyncVar};
    ///
    /// let level = AsyncVar::new(0);
    /// let high = level.wait_for(|level| *level > 2);
    /// let (high, ()) = joint::block_on(all((high, async { level.modify(|level| *level = 3) })));
    /// assert_eq!(high, 3);
    /// ```
    pub async fn wait_for(&self, mut condition: impl FnMut(&T) -> bool) -> T
    where
        T: Clone,
    {
        // A condition that always holds would else never let another task run.
        joint_executor::point().await;
        loop {
            let changed = {
                let mut inner = self.lock();
                if condition(&inner.value) {
                    return inner.value.clone();
                }
                inner.on_change()
            };
            // The variable is borrowed, so it is not dropped meanwhile.
            let _ = changed.await;
        }
    }

    /// Waits for the next change after this call, even if the future is polled only later.
    ///
    /// [`wait_for`](AsyncVar::wait_for) waits for a condition. To do so by hand, call this first,
    /// then look at the value, and await this if the condition does not hold yet.
    ///
    /// # Errors
    /// The future gives [`Closed`] if the variable is dropped before it changes.
    ///
    /// # Example
    /// ```
    /// use joint_flow::{Closed, variable::AsyncVar};
    ///
    /// let variable = AsyncVar::new(1);
    /// let changed = variable.on_change();
    /// variable.set(2);
    /// assert_eq!(joint::block_on(changed), Ok(()));
    ///
    /// let changed = variable.on_change();
    /// drop(variable);
    /// assert_eq!(joint::block_on(changed), Err(Closed));
    /// ```
    pub fn on_change(&self) -> Changed {
        self.lock().on_change()
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        // Code of the user's may panic here. A function that changes the value has left it as its
        // documentation says, and the others change nothing.
        self.inner
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl<T: Default> Default for AsyncVar<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for AsyncVar<T> {
    /// Does not wait for the lock, so it can be used where the lock is held, as in
    /// [`with`](AsyncVar::with).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("AsyncVar");
        let inner = match self.inner.try_lock() {
            Ok(inner) => inner,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return f.field("value", &format_args!("<locked>")).finish();
            }
        };
        f.field("value", &inner.value)
            .field("is_awaited", &inner.next.is_some())
            .finish()
    }
}

/// An event that can happen again and again.
///
/// It is an [`AsyncVar`] without a value, for which each call of [`fire`](Trigger::fire) is a
/// change. A `fire` that nobody waits for is not stored.
///
/// # Example
/// ```
/// use joint_flow::variable::Trigger;
///
/// let flush = Trigger::new();
/// let first = flush.on_fire();
/// flush.fire();
/// assert_eq!(joint::block_on(first), Ok(()));
/// assert!(!flush.on_fire().is_finished());
/// ```
#[doc(alias = "Notify")]
#[derive(Debug, Default)]
pub struct Trigger(AsyncVar<()>);

impl Trigger {
    /// Creates a trigger.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes everybody who waits for the trigger.
    pub fn fire(&self) {
        self.0.set_unconditional(());
    }

    /// Waits for the next [`fire`](Trigger::fire) after this call, even if the future is polled
    /// only later.
    ///
    /// # Errors
    /// The future gives [`Closed`] if the trigger is dropped before it fires.
    pub fn on_fire(&self) -> Changed {
        self.0.on_change()
    }
}

/// The future of [`AsyncVar::on_change`] and [`Trigger::on_fire`].
///
/// It borrows nothing, and a clone waits for the same change. If it is polled again after it was
/// ready, it gives the same answer.
#[derive(Clone)]
#[must_use = "futures do nothing unless awaited"]
pub struct Changed(Shared<()>, Turn);

impl Changed {
    /// Returns whether a wait would return at once.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl Future for Changed {
    type Output = Result<(), Closed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(self.1.poll_proceed(cx));
        let changed = ready!(Pin::new(&mut self.0).poll(cx));
        budget::spend();
        Poll::Ready(changed)
    }
}

debug!(Changed, |it| is_finished: it.is_finished());
