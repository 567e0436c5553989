//! The receiving end.

use core::{
    future::Future,
    marker::PhantomData,
    mem::{self, ManuallyDrop},
    panic::{RefUnwindSafe, UnwindSafe},
    pin::Pin,
    ptr::{self, NonNull},
    task::{Context, Poll},
};

use super::{
    RecvError, TryRecvError,
    block::{Block, Owned},
};
use crate::completion::{Completed, Completion, Ended, Registration, Slotted};

/// The receiving end: a future, with blocking and non-blocking calls besides. Dropping it closes
/// the channel, and drops a value that was sent.
///
/// Once the receiver has given its answer, it holds no memory of the channel. Every further poll or
/// call returns [`RecvError`] at once, and neither panics nor hangs.
///
/// If it is polled with several wakers in turn, only the last one is woken, and once. It can be
/// awaited by `&mut receiver`, and used again if that future is dropped. No call takes the value
/// through `&self`, because a receiver is `Sync`: two threads could take it at once.
///
/// # Example
/// ```
/// use joint::oneshot::{self, RecvTimeoutError};
/// use std::time::Duration;
///
/// let (sender, mut receiver) = oneshot::channel();
/// let early = receiver.blocking_recv_timeout(Duration::from_millis(1));
/// assert_eq!(early, Err(RecvTimeoutError::Timeout));
/// sender.send("late").unwrap();
/// assert_eq!(joint::block_on(receiver), Ok("late"));
/// ```
#[must_use = "dropping a receiver closes the channel: await it, or call one of its blocking functions"]
pub struct Receiver<T> {
    /// The shared block. `None` once this end has freed it or left it to the sender.
    pub(super) block: Option<NonNull<Block<T>>>,
    registration: Registration,
    value: PhantomData<T>,
}

// SAFETY: the value comes from the sender's thread. Besides the value, the ends share only an
// atomic word.
unsafe impl<T: Send> Send for Receiver<T> {}
// SAFETY: a reference to a receiver only makes an atomic load.
unsafe impl<T: Send> Sync for Receiver<T> {}

impl<T> Unpin for Receiver<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Receiver<T> {
    /// Takes the value if it has been sent.
    ///
    /// # Cost
    /// One load, and no atomic read-modify-write. Wait-free.
    ///
    /// # Errors
    /// [`Empty`](TryRecvError::Empty) while the sender may still send.
    /// [`Closed`](TryRecvError::Closed) if there is no value and there will be none.
    ///
    /// # Example
    /// ```
    /// use joint::oneshot::{self, TryRecvError};
    ///
    /// let (sender, mut receiver) = oneshot::channel();
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    /// sender.send(8).unwrap();
    /// assert_eq!(receiver.try_recv(), Ok(8));
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    /// ```
    #[inline]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        Ok(self.answer().ok_or(TryRecvError::Empty)??)
    }

    /// Closes the channel. From now on [`Sender::send`](super::Sender::send) returns its value. A
    /// value that was sent before can still be received.
    ///
    /// A waker that a poll has registered is dropped, and will not be woken.
    ///
    /// # Cost
    /// One load if the sender has finished. Otherwise two atomic read-modify-writes, or three if
    /// the sender finishes at that very moment. Wait-free.
    ///
    /// # Example
    /// ```
    /// use joint::oneshot::{self, RecvError};
    ///
    /// let (sender, mut receiver) = oneshot::channel();
    /// receiver.close();
    /// assert!(sender.send(1).is_err());
    /// assert_eq!(receiver.blocking_recv(), Err(RecvError));
    /// ```
    pub fn close(&mut self) {
        let Some(block) = self.block else { return };
        self.block = None;
        // SAFETY: without a block this end makes no further call.
        let (ended, _waiter) = unsafe { detach(block) };
        if ended.is_some() {
            self.block = Some(block);
        }
    }

    /// Returns whether a wait would return at once, because the value has been sent or there will
    /// be none.
    ///
    /// # Happens-before
    /// If it returns true, everything that the sender did before it sent or was dropped happens
    /// before this call returns.
    ///
    /// # Cost
    /// One load.
    ///
    /// # Example
    /// ```
    /// let (sender, receiver) = joint::oneshot::channel();
    /// assert!(!receiver.is_finished());
    /// sender.send(1).unwrap();
    /// assert!(receiver.is_finished());
    /// ```
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.ended().is_some()
    }

    /// Returns whether a value has been sent and not yet received, so that the next call returns
    /// it. If so, all that [`is_finished`](Receiver::is_finished) says of the sender is true.
    ///
    /// # Example
    /// ```
    /// let (sender, mut receiver) = joint::oneshot::channel();
    /// assert!(!receiver.has_message() && receiver.is_empty());
    /// sender.send(1).unwrap();
    /// assert!(receiver.has_message() && !receiver.is_empty());
    /// assert_eq!(receiver.try_recv(), Ok(1));
    /// assert!(!receiver.has_message() && receiver.is_empty());
    /// ```
    #[inline]
    pub fn has_message(&self) -> bool {
        self.ended() == Some(Ended::Done)
    }

    /// Returns whether there is no value to receive now, which is the opposite of
    /// [`has_message`](Receiver::has_message).
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.has_message()
    }

    /// Returns whether there is no value and there will be none, so that every call returns
    /// [`RecvError`]: the sender was dropped without sending, the receiver was closed before a
    /// value was sent, or the value has been received.
    ///
    /// # Example
    /// ```
    /// let (sender, receiver) = joint::oneshot::channel::<u32>();
    /// assert!(!receiver.is_closed());
    /// drop(sender);
    /// assert!(receiver.is_closed());
    /// ```
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.ended() == Some(Ended::Abandoned)
    }

    #[inline]
    fn ended(&self) -> Option<Ended> {
        let Some(block) = self.block else {
            return Some(Ended::Abandoned);
        };
        // SAFETY: alive by this end.
        unsafe { Completion::raw_ended(Slotted::word(Block::word(block))) }
    }

    /// Returns whether the receiver has given its answer, or was closed before a value was sent, so
    /// that every further poll or call returns [`RecvError`].
    ///
    /// # Example
    /// ```
    /// let (sender, mut receiver) = joint::oneshot::channel();
    /// sender.send(1).unwrap();
    /// assert!(receiver.is_finished() && !receiver.is_terminated());
    /// assert_eq!(joint::block_on(&mut receiver), Ok(1));
    /// assert!(receiver.is_terminated());
    /// ```
    #[inline]
    pub fn is_terminated(&self) -> bool {
        self.block.is_none()
    }

    /// Turns the receiver into a pointer for [`Receiver::from_raw`].
    ///
    /// A null pointer stands for a receiver that holds no memory, because it has given its answer
    /// or was closed before a value was sent. `from_raw` turns null into such a receiver again. A
    /// waker that a poll has registered stays registered.
    ///
    /// # Example
    /// ```
    /// use joint::oneshot::{self, Receiver, RecvError};
    ///
    /// let (sender, receiver) = oneshot::channel();
    /// let raw = receiver.into_raw();
    /// sender.send(5).unwrap();
    /// // SAFETY: `raw` is that of a receiver of the same type, and is used once.
    /// let mut receiver = unsafe { Receiver::<u32>::from_raw(raw) };
    /// assert_eq!(receiver.try_recv(), Ok(5));
    ///
    /// let raw = receiver.into_raw();
    /// assert!(raw.is_null());
    /// // SAFETY: as above.
    /// let receiver = unsafe { Receiver::<u32>::from_raw(raw) };
    /// assert_eq!(receiver.blocking_recv(), Err(RecvError));
    /// ```
    #[inline]
    #[must_use = "the receiver is leaked unless `from_raw` makes it from the pointer again"]
    pub fn into_raw(self) -> *mut () {
        let block = ManuallyDrop::new(self).block;
        block.map_or(ptr::null_mut(), |block| block.as_ptr().cast())
    }

    /// Turns a pointer from [`Receiver::into_raw`] back into the receiver.
    ///
    /// # Safety
    /// `raw` came from [`Receiver::into_raw`] of a receiver with the same `T`, which was called
    /// once for each call of this function. If `T` is not [`Send`], it was called on the same
    /// thread.
    #[inline]
    pub unsafe fn from_raw(raw: *mut ()) -> Self {
        Self {
            block: NonNull::new(raw.cast()),
            registration: Registration::new(),
            value: PhantomData,
        }
    }

    /// Returns the answer if it is known.
    #[inline]
    pub(super) fn answer(&mut self) -> Option<Result<T, RecvError>> {
        let Some(block) = self.block else {
            return Some(Err(RecvError));
        };
        let ended = self.ended()?;
        // SAFETY: the word has just said so.
        Some(unsafe { self.finish(block, ended) })
    }

    /// Takes the value if there is one, and frees the block.
    ///
    /// # Safety
    /// The word of this receiver's block says that the sender has finished, and how.
    #[inline]
    unsafe fn finish(&mut self, block: NonNull<Block<T>>, ended: Ended) -> Result<T, RecvError> {
        self.block = None;
        // SAFETY: the sender has finished, and without a block this end does not access it again.
        let owned = unsafe { Owned::new(block) };
        match ended {
            // SAFETY: the sender put a value in before it completed.
            Ended::Done => Ok(unsafe { owned.take() }),
            Ended::Abandoned => Err(RecvError),
        }
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(block) = self.block else {
            return Poll::Ready(Err(RecvError));
        };
        let raw = block.as_ptr().cast();
        // SAFETY: alive by this end, which has no block after it has detached.
        let poll = unsafe { Self::raw_poll(raw, cx.waker(), &mut self.registration) };
        // SAFETY: the word has just said so.
        poll.map(|ended| unsafe { self.finish(block, ended) })
    }
}

#[cfg(feature = "futures-core")]
impl<T> futures_core::FusedFuture for Receiver<T> {
    fn is_terminated(&self) -> bool {
        Self::is_terminated(self)
    }
}

impl<T> Drop for Receiver<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(block) = self.block {
            // SAFETY: this is the receiver, and it has not detached.
            unsafe { give_up(block) };
        }
    }
}

/// Drops a receiver that has not given its answer.
///
/// # Safety
/// The caller is the receiver, which has not detached, and this is its last act.
#[inline(never)]
unsafe fn give_up<T>(block: NonNull<Block<T>>) {
    // SAFETY: passed on from the caller.
    let (ended, _waiter) = unsafe { detach(block) };
    let Some(ended) = ended else { return };
    // SAFETY: the sender has finished, and this is the receiver's last act.
    let owned = unsafe { Owned::new(block) };
    if ended == Ended::Done {
        // SAFETY: the sender put a value in before it completed.
        unsafe { owned.discard() };
    }
}

/// Detaches the receiver, unless the sender has finished. Returns how the sender has finished, in
/// which case the block is the receiver's, and what wakes a sender that waits for this.
///
/// # Safety
/// The caller is the receiver, which has not detached, and makes no further call unless this
/// returns an end.
#[inline]
unsafe fn detach<T>(block: NonNull<Block<T>>) -> (Option<Ended>, WakeOnDrop) {
    let word = Block::word(block);
    // SAFETY: alive by this end.
    if let Some(ended) = unsafe { Completion::raw_ended(Slotted::word(word)) } {
        return (Some(ended), WakeOnDrop(Completed::Unobserved));
    }
    // SAFETY: as above. The sender had not finished, so this end has not been here before.
    let waiter = WakeOnDrop(unsafe { Completion::raw_complete(Block::closed(block)) });
    // SAFETY: alive by this end up to the exchange, and the rest is passed on from the caller.
    (unsafe { Slotted::raw_detach(word) }, waiter)
}

/// Wakes the sender when the receiver has done all else.
struct WakeOnDrop(Completed);

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        mem::replace(&mut self.0, Completed::Unobserved).wake();
    }
}

shows!(<T> Receiver<T>: is_finished);
