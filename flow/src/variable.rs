//! A value whose changes can be awaited, [`AsyncVar`], and an event without a value, [`Trigger`].
//!
//! Both hold one promise for the next notification, a [`joint::shared::channel`]. It is made when
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
    task::{Context, Poll},
};

use joint::shared::{self, Sender, Shared};

use crate::BrokenPromise;
use joint_switch::{Mutex, MutexGuard};

/// A value whose changes can be awaited.
///
/// Put it into an [`Arc`](std::sync::Arc) to share it. If it is dropped, its waiters get
/// [`BrokenPromise`].
///
/// # Example
/// ```
/// use std::sync::Arc;
/// use joint_flow::variable::AsyncVar;
///
/// let level = Arc::new(AsyncVar::new(0));
/// let reader = joint_executor::spawn({
///     let level = level.clone();
///     async move {
///         loop {
///             // In this order, so that no change is missed between the two.
///             let changed = level.on_change();
///             if level.get() >= 2 {
///                 return level.get();
///             }
///             changed.await.unwrap();
///         }
///     }
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
        let next = inner.next.take();
        drop(inner);
        if let Some((sender, _)) = next {
            sender.send(());
        }
        drop(old);
    }

    /// Waits for the next change after this call, even if the future is polled only later.
    ///
    /// To wait for a condition, call this first, then look at the value, and await this if the
    /// condition does not hold yet.
    ///
    /// # Errors
    /// The future gives [`BrokenPromise`] if the variable is dropped before it changes.
    ///
    /// # Example
    /// ```
    /// use joint_flow::{BrokenPromise, variable::AsyncVar};
    ///
    /// let variable = AsyncVar::new(1);
    /// let changed = variable.on_change();
    /// variable.set(2);
    /// assert_eq!(joint::block_on(changed), Ok(()));
    ///
    /// let changed = variable.on_change();
    /// drop(variable);
    /// assert_eq!(joint::block_on(changed), Err(BrokenPromise));
    /// ```
    pub fn on_change(&self) -> Changed {
        let mut inner = self.lock();
        let (_, next) = inner.next.get_or_insert_with(shared::channel);
        Changed(next.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        // A comparison, a clone or a function of the user's may panic here, but changes nothing.
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
    /// The future gives [`BrokenPromise`] if the trigger is dropped before it fires.
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
pub struct Changed(Shared<()>);

impl Changed {
    /// Returns whether a wait would return at once.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl Future for Changed {
    type Output = Result<(), BrokenPromise>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map_err(|closed| closed.into())
    }
}

impl fmt::Debug for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changed")
            .field("is_finished", &self.is_finished())
            .finish()
    }
}
