//! The sending end.

use core::{
    any::type_name,
    future::poll_fn,
    marker::PhantomData,
    mem::ManuallyDrop,
    panic::{RefUnwindSafe, UnwindSafe},
    ptr::NonNull,
    task::{Context, Poll},
};

use super::{
    Receiver, SendError,
    block::{Block, Owned},
};
use crate::{
    completion::{Completion, Ended, Registration, Slotted, noted},
    waker::ThinWaker,
};

/// The sending end. If it is dropped without sending, the [`Receiver`] ends with
/// an error instead of hanging.
///
/// # Example
/// ```
/// use joint::oneshot::{self, RecvError};
///
/// let (sender, receiver) = oneshot::channel::<u32>();
/// drop(sender);
/// assert_eq!(receiver.blocking_recv(), Err(RecvError));
/// ```
///
/// A sender is not turned into one of a shorter lifetime, which its receiver would not know of:
/// ```compile_fail
/// use joint::oneshot::Sender;
///
/// fn shorten<'a>(sender: Sender<&'static str>) -> Sender<&'a str> {
///     sender
/// }
/// ```
#[must_use = "dropping a sender without `send` tells the receiver that no value will come"]
pub struct Sender<T> {
    block: NonNull<Block<T>>,
    /// Invariant, because a sender takes values in, and its receiver gives them out.
    value: PhantomData<fn(T) -> T>,
}

// SAFETY: the value moves to the receiver's thread, or back to this one. Besides the value, the
// ends share only an atomic word.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: a reference to a sender only makes an atomic load.
unsafe impl<T: Send> Sync for Sender<T> {}

impl<T> Unpin for Sender<T> {}
impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}

impl<T> Sender<T> {
    /// Sends the value, and wakes the receiver if it waits.
    ///
    /// `Ok` does not mean that the value was received. The receiver may still be dropped, and the
    /// value with it.
    ///
    /// # Cost
    /// One atomic read-modify-write, or two if the receiver registers a waker or closes at that
    /// very moment, besides the wake-up. Wait-free where the [module](super#progress-and-cost) says
    /// so.
    ///
    /// # Errors
    /// Returns the value in a [`SendError`] if the receiver has been dropped or closed.
    ///
    /// # Panics
    /// Panics only if the receiver's waker panics. The value has been sent then.
    ///
    /// # Example
    /// ```
    /// use joint::oneshot::{self, SendError};
    ///
    /// let (sender, receiver) = oneshot::channel();
    /// assert_eq!(sender.send(1), Ok(()));
    /// assert_eq!(receiver.blocking_recv(), Ok(1));
    ///
    /// let (sender, receiver) = oneshot::channel();
    /// drop(receiver);
    /// assert_eq!(sender.send(2), Err(SendError(2)));
    /// ```
    #[inline]
    pub fn send(self, value: T) -> Result<(), SendError<T>> {
        let block = ManuallyDrop::new(self).block;
        // SAFETY: this is the sender, consumed here, before its exchange.
        unsafe { Block::put(block, value) };
        // SAFETY: a sender finishes once, because `self` is consumed and not dropped.
        match unsafe { finish(block, Ended::Done) } {
            None => Ok(()),
            // SAFETY: the value was put in above.
            Some(owned) => Err(SendError(unsafe { owned.take() })),
        }
    }

    /// Returns whether the receiver has been dropped or closed, so that [`send`](Sender::send)
    /// would return the value.
    ///
    /// `false` may be outdated at once, while `true` is final. This is one relaxed load, which
    /// orders nothing. To wait for it, use [`closed`](Sender::closed).
    ///
    /// # Example
    /// ```
    /// let (sender, receiver) = joint::oneshot::channel::<u32>();
    /// assert!(!sender.is_closed());
    /// drop(receiver);
    /// assert!(sender.is_closed());
    /// ```
    #[doc(alias = "is_canceled")]
    #[inline]
    pub fn is_closed(&self) -> bool {
        // SAFETY: alive by this end, and finishing consumes the sender.
        unsafe { Completion::raw_is_detached(Slotted::word(Block::word(self.block))) }
    }

    /// Returns whether `receiver` is the other end of this channel, and still connected: it has
    /// not given its answer, and was not closed.
    ///
    /// # Example
    /// ```
    /// let (sender, receiver) = joint::oneshot::channel::<u32>();
    /// let (_sender, other) = joint::oneshot::channel::<u32>();
    /// assert!(sender.is_connected_to(&receiver) && !sender.is_connected_to(&other));
    /// ```
    #[inline]
    pub fn is_connected_to(&self, receiver: &Receiver<T>) -> bool {
        receiver.block == Some(self.block)
    }

    /// Waits until the receiver is dropped or closed, for a sender that can stop working out the
    /// value then.
    ///
    /// A [`send`](Sender::send) at this very moment may still return `Ok`, as it does if the
    /// receiver is dropped right after it.
    ///
    /// # Happens-before
    /// Everything that the receiving thread did before it closed or dropped the receiver happens
    /// before this returns.
    ///
    /// # Cancel safety
    /// The future may be dropped at any time. The waker of its last poll stays registered until the
    /// sender sends, or is dropped.
    ///
    /// # Example
    /// ```
    /// let (mut sender, receiver) = joint::oneshot::channel::<u32>();
    /// std::thread::spawn(|| drop(receiver));
    /// joint::block_on(sender.closed());
    /// ```
    #[doc(alias = "cancellation")]
    pub async fn closed(&mut self) {
        poll_fn(|cx| self.poll_closed(cx)).await
    }

    /// Polls for the end of the receiver, as [`closed`](Sender::closed) does. Only the waker of the
    /// last poll is woken.
    ///
    /// # Cost
    /// A clone of the waker, and one atomic read-modify-write if the receiver is still open. A
    /// waker of another crate is boxed.
    #[doc(alias = "poll_canceled")]
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: alive by this end.
        let closed = unsafe { &*Block::closed(self.block) };
        let thin = |waker| ThinWaker::from(noted(waker, type_name::<Self>));
        // SAFETY: a sender that polls has not detached from this word.
        unsafe { closed.poll_as(cx.waker(), &mut Registration::new(), thin) }.map(drop)
    }

    /// Turns the sender into a pointer for [`Sender::from_raw`]. The pointer is never null.
    ///
    /// The channel stays open meanwhile. If the pointer is never turned back, the receiver waits
    /// forever and the memory is leaked.
    ///
    /// # Example
    /// ```
    /// use joint::oneshot::{self, Sender};
    ///
    /// let (sender, receiver) = oneshot::channel::<u32>();
    /// let raw = sender.into_raw();
    /// // SAFETY: `raw` is that of a sender of the same type, and is used once.
    /// let sender = unsafe { Sender::<u32>::from_raw(raw) };
    /// sender.send(5).unwrap();
    /// assert_eq!(receiver.blocking_recv(), Ok(5));
    /// ```
    #[inline]
    #[must_use = "the sender is leaked unless `from_raw` makes it from the pointer again"]
    pub fn into_raw(self) -> *mut () {
        ManuallyDrop::new(self).block.as_ptr().cast()
    }

    /// Turns a pointer from [`Sender::into_raw`] back into the sender.
    ///
    /// # Safety
    /// `raw` came from [`Sender::into_raw`] of a sender with the same `T`, which was called once
    /// for each call of this function. If `T` is not [`Send`], it was called on the same thread.
    #[inline]
    pub unsafe fn from_raw(raw: *mut ()) -> Self {
        Self {
            // SAFETY: `into_raw` gave the address of a block, which is not null.
            block: unsafe { NonNull::new_unchecked(raw.cast()) },
            value: PhantomData,
        }
    }
}

/// Ends the channel. Returns the block if the receiver has detached.
///
/// # Safety
/// The caller is the sender, and gives up its end.
#[inline]
unsafe fn finish<T>(block: NonNull<Block<T>>, how: Ended) -> Option<Owned<T>> {
    // SAFETY: alive by this end.
    if unsafe { &*Block::closed(block) }.registered().is_some() {
        // SAFETY: passed on from the caller.
        return unsafe { take_back_and_finish(block, how) };
    }
    // SAFETY: passed on from the caller.
    unsafe { finish_word(block, how) }
}

/// # Safety
/// As for `finish`.
#[inline(always)]
unsafe fn finish_word<T>(block: NonNull<Block<T>>, how: Ended) -> Option<Owned<T>> {
    // SAFETY: alive by this end up to the exchange, and this is the sender's one call.
    let is_last = unsafe { Slotted::raw_finish(Block::word(block), how) };
    // SAFETY: the receiver never touches the block again.
    is_last.then(|| unsafe { Owned::new(block) })
}

/// Takes back the waker that [`Sender::poll_closed`] has left, which would otherwise stay for as
/// long as the receiver. It is user code, and dropped last.
///
/// # Safety
/// As for `finish`.
#[cold]
#[inline(never)]
unsafe fn take_back_and_finish<T>(block: NonNull<Block<T>>, how: Ended) -> Option<Owned<T>> {
    // SAFETY: alive by this end, and the sender does not wait any more.
    let waker = unsafe { Completion::raw_detach(Block::closed(block)) };
    // SAFETY: passed on from the caller.
    let owned = unsafe { finish_word(block, how) };
    drop(waker);
    owned
}

impl<T> Drop for Sender<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `send` does not drop. There is no value.
        drop(unsafe { finish(self.block, Ended::Abandoned) });
    }
}

shows!(<T> Sender<T>: is_closed);
