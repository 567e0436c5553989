//! [`Shared`] and [`Wait`]: the waiters.

use std::time::{Duration, Instant};
use std::{
    future::Future,
    mem::ManuallyDrop,
    panic::{RefUnwindSafe, UnwindSafe},
    pin::Pin,
    ptr,
    task::{Context, Poll},
};

use super::{Closed, block::Handle, shared_waiter::SharedWaiter};
use joint::{host, park};

/// A waiter for a value that is sent once. Clone it to get more waiters for the same value.
///
/// Awaiting it gives a clone of the value. [`wait`](Shared::wait) and the blocking calls give a
/// reference, and do not need `Clone`. The value lives until the last `Shared` is dropped.
///
/// Each clone and each [`Wait`] is a separate waiter. It may be polled with changing wakers, and
/// may be dropped at any time. Once there is an answer, every further poll or call gives the same
/// answer at once.
///
/// # Errors
/// The answer is [`Closed`] if the sender was dropped without sending.
///
/// # Cost
/// It is four words in size: one for the shared block and three for the waiter's registration. A
/// clone and its drop are one atomic read-modify-write each. For the cost of a wait see the
/// [module](super).
///
/// # Example
/// ```
/// let (sender, shared) = joint_flow::shared::channel();
/// let waiters: Vec<_> = (0..3)
///     .map(|n| {
///         let shared = shared.clone();
///         std::thread::spawn(move || n + joint::block_on(shared).unwrap())
///     })
///     .collect();
/// sender.send(10);
/// let answers: Vec<_> = waiters.into_iter().map(|waiter| waiter.join().unwrap()).collect();
/// assert_eq!(answers, [10, 11, 12]);
/// ```
#[must_use = "futures do nothing unless awaited"]
pub struct Shared<T> {
    waiter: SharedWaiter,
    handle: Handle<T>,
}

impl<T> Unpin for Shared<T> {}
impl<T: RefUnwindSafe> UnwindSafe for Shared<T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for Shared<T> {}

impl<T> Shared<T> {
    /// Creates the first waiter of a channel.
    pub(super) fn first(handle: Handle<T>) -> Self {
        Self {
            waiter: SharedWaiter::first(),
            handle,
        }
    }

    /// Returns the value, if it has been sent.
    ///
    /// # Happens-before
    /// If there is a value, everything that the sender did before it sent happens before this call
    /// returns.
    ///
    /// # Cost
    /// One load. Wait-free.
    ///
    /// # Example
    /// ```
    /// let (sender, shared) = joint_flow::shared::channel();
    /// assert_eq!(shared.get(), None);
    /// sender.send("here");
    /// assert_eq!(shared.get(), Some(&"here"));
    /// ```
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.try_get().ok().flatten()
    }

    /// Returns the value, or `None` while the sender may still send. Unlike [`get`](Shared::get),
    /// it reports that there will be no value.
    ///
    /// # Example
    /// ```
    /// use joint_flow::shared::{self, Closed};
    ///
    /// let (sender, shared) = shared::channel::<u32>();
    /// assert_eq!(shared.try_get(), Ok(None));
    /// drop(sender);
    /// assert_eq!(shared.try_get(), Err(Closed));
    /// ```
    #[inline]
    pub fn try_get(&self) -> Result<Option<&T>, Closed> {
        self.handle.awaited().answer().transpose()
    }

    /// Takes the value out of the last `Shared` of a channel, as
    /// [`Arc::try_unwrap`](std::sync::Arc::try_unwrap) does.
    ///
    /// # Errors
    /// Returns the `Shared` if there are others, or the sender, or if there is no value.
    ///
    /// If two threads with the last two `Shared` call this at once, neither may get the value.
    ///
    /// # Cost
    /// Two loads, and no atomic read-modify-write unless this `Shared` has waited.
    ///
    /// # Example
    /// ```
    /// let (sender, shared) = joint_flow::shared::channel();
    /// sender.send(String::from("here"));
    /// let other = shared.clone();
    /// let shared = shared.try_unwrap().unwrap_err();
    /// drop(other);
    /// assert_eq!(shared.try_unwrap().unwrap(), "here");
    /// ```
    #[doc(alias = "into_inner")]
    pub fn try_unwrap(self) -> Result<T, Self> {
        if !self.handle.references().are_last() || self.get().is_none() {
            return Err(self);
        }
        let mut this = ManuallyDrop::new(self);
        // SAFETY: the field of a `Shared` that is neither used nor dropped after this.
        let handle = unsafe { ptr::read(&this.handle) };
        // SAFETY: as in `poll`.
        unsafe { this.waiter.leave(handle.awaited().waiters()) };
        // SAFETY: the handle is alone: nobody else can add a reference.
        let value = unsafe { handle.take() };
        Ok(value.expect("there is a value, as the look has shown"))
    }

    /// Returns whether a wait would return at once, because the value was sent or there will be
    /// none. One load.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.handle.awaited().waiters().ended().is_some()
    }

    /// Waits for a reference to the value.
    ///
    /// # Example
    /// ```
    /// struct NoClone(u32);
    ///
    /// let (sender, shared) = joint_flow::shared::channel();
    /// let worker = std::thread::spawn(move || sender.send(NoClone(7)));
    /// assert_eq!(joint::block_on(async { shared.wait().await.unwrap().0 }), 7);
    /// worker.join().unwrap();
    /// ```
    #[inline]
    pub fn wait(&self) -> Wait<'_, T> {
        Wait {
            shared: self,
            waiter: SharedWaiter::new(),
        }
    }

    /// Blocks the thread until the value is sent or the sender is dropped.
    ///
    /// # Cost
    /// One load if the answer is known already. A call on a worker of an executor blocks that
    /// worker, so await there instead.
    ///
    /// # Example
    /// ```
    /// let (sender, shared) = joint_flow::shared::channel();
    /// let worker = std::thread::spawn(move || sender.send(3));
    /// assert_eq!(shared.blocking_wait(), Ok(&3));
    /// worker.join().unwrap();
    /// ```
    #[cfg_attr(joint_loom, track_caller)]
    pub fn blocking_wait(&self) -> Result<&T, Closed> {
        match self.handle.awaited().answer() {
            Some(answer) => answer,
            None => park::block_on(self.wait()),
        }
    }

    /// Blocks as [`blocking_wait`](Shared::blocking_wait) does, but for `limit` at most. Returns
    /// `None` if the limit has passed. A limit beyond the range of the clock is no limit. A limit
    /// of zero only checks, and registers nothing.
    ///
    /// # Example
    /// ```
    /// use std::time::Duration;
    ///
    /// let (sender, shared) = joint_flow::shared::channel();
    /// assert_eq!(shared.blocking_wait_timeout(Duration::from_millis(1)), Ok(None));
    /// sender.send(4);
    /// assert_eq!(shared.blocking_wait_timeout(Duration::from_millis(1)), Ok(Some(&4)));
    /// ```
    #[cfg_attr(joint_loom, track_caller)]
    pub fn blocking_wait_timeout(&self, limit: Duration) -> Result<Option<&T>, Closed> {
        let answer = match self.handle.awaited().answer() {
            None if !limit.is_zero() => park::block_on_timeout(self.wait(), limit),
            answer => answer,
        };
        answer.transpose()
    }

    /// Blocks as [`blocking_wait`](Shared::blocking_wait) does, but until `deadline` at most.
    /// Returns `None` if the deadline has passed. If it has passed before the call, the call only
    /// checks.
    #[cfg_attr(joint_loom, track_caller)]
    pub fn blocking_wait_deadline(&self, deadline: Instant) -> Result<Option<&T>, Closed> {
        let answer = match self.handle.awaited().answer() {
            None if deadline > host::now() => park::block_on_deadline(self.wait(), deadline),
            answer => answer,
        };
        answer.transpose()
    }
}

/// Creates another waiter for the same value.
///
/// # Panics
/// Panics if there are more than `isize::MAX` clones, which is only possible if clones are leaked
/// in a loop.
impl<T> Clone for Shared<T> {
    #[inline]
    fn clone(&self) -> Self {
        Self {
            waiter: SharedWaiter::new(),
            handle: self.handle.clone(),
        }
    }
}

impl<T: Clone> Future for Shared<T> {
    type Output = Result<T, Closed>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // SAFETY: the waiter is always polled with the waiters of this handle, which keeps them
        // alive.
        let poll = unsafe {
            this.waiter
                .poll(this.handle.awaited().waiters(), cx.waker())
        };
        // SAFETY: the waiters have just said so.
        poll.map(|ended| unsafe { this.handle.awaited().answer_of(ended) }.cloned())
    }
}

impl<T> Drop for Shared<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: as in `poll`. The handle is dropped after this, even if dropping the waker here
        // panics.
        unsafe { self.waiter.leave(self.handle.awaited().waiters()) };
    }
}

debug!(<T> Shared<T>, |it| is_finished: it.is_finished());

/// The future of [`Shared::wait`], which gives a reference to the value. It is a separate waiter,
/// and may be dropped at any time.
///
/// If it is polled again after it was ready, it gives the same answer.
#[must_use = "futures do nothing unless awaited"]
pub struct Wait<'a, T> {
    shared: &'a Shared<T>,
    waiter: SharedWaiter,
}

impl<'a, T> Future for Wait<'a, T> {
    type Output = Result<&'a T, Closed>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let shared = self.shared;
        // SAFETY: the waiter is always polled with the waiters of this one `Shared`, which the
        // borrow keeps alive.
        let poll = unsafe {
            self.waiter
                .poll(shared.handle.awaited().waiters(), cx.waker())
        };
        // SAFETY: the waiters have just said so.
        poll.map(|ended| unsafe { shared.handle.awaited().answer_of(ended) })
    }
}

impl<T> Drop for Wait<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: as in `poll`.
        unsafe { self.waiter.leave(self.shared.handle.awaited().waiters()) };
    }
}

debug!(<T> Wait<'_, T>, |it| is_finished: it.shared.is_finished());
