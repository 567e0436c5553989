//! The receiving ends.
//!
//! Upstream's [`Receiver`] is one word, takes its value by shared reference and is not `Sync`. It
//! is therefore the pointer of a receiver of `joint`, which keeps the memory of the channel until
//! it is dropped. An [`AsyncReceiver`] is `joint`'s receiver as it is.

use core::{fmt, marker::PhantomData, mem::ManuallyDrop, ptr::NonNull};

use joint::{completion::Ended, oneshot};

#[cfg(any(feature = "async", feature = "std"))]
use crate::RecvError;
use crate::TryRecvError;

/// The receiving end. Dropping it closes the channel, and drops a value that was sent.
///
/// With the feature `async` it can be awaited, as an [`AsyncReceiver`].
pub struct Receiver<T> {
    /// Of a receiver that has not been turned back. Not null: the value is taken only through the
    /// pointer, which leaves the memory to it.
    raw: NonNull<()>,
    value: PhantomData<T>,
}

// SAFETY: a receiver of `joint` is `Send` then, and this is one. It is not `Sync`, because no two
// threads may take the value at once.
unsafe impl<T: Send> Send for Receiver<T> {}

impl<T> Unpin for Receiver<T> {}

impl<T> Receiver<T> {
    #[inline]
    pub(crate) fn new(receiver: oneshot::Receiver<T>) -> Self {
        // SAFETY: the pointer of a receiver.
        unsafe { Self::from_raw(receiver.into_raw()) }
    }

    /// Takes the value if it has been sent. It only loads, and never waits.
    ///
    /// # Errors
    /// [`Empty`](TryRecvError::Empty) while the sender may still send, and otherwise
    /// [`Disconnected`](TryRecvError::Disconnected).
    #[inline]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let ended = self.ended().ok_or(TryRecvError::Empty)?;
        self.taken(ended).ok_or(TryRecvError::Disconnected)
    }

    /// Returns whether there is no value and there will be none.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.ended() == Some(Ended::Abandoned)
    }

    /// Returns whether there is a value, which the next call returns.
    #[inline]
    pub fn has_message(&self) -> bool {
        self.ended() == Some(Ended::Done)
    }

    /// Turns the receiver into a pointer for [`Receiver::from_raw`].
    #[inline]
    pub fn into_raw(self) -> *mut () {
        ManuallyDrop::new(self).raw.as_ptr()
    }

    /// Turns a pointer from [`Receiver::into_raw`] back into the receiver.
    ///
    /// # Safety
    /// `raw` came from [`Receiver::into_raw`] of a receiver with the same `T`, which was called
    /// once for each call of this function.
    #[inline]
    pub unsafe fn from_raw(raw: *mut ()) -> Self {
        Self {
            // SAFETY: passed on from the caller.
            raw: unsafe { NonNull::new_unchecked(raw) },
            value: PhantomData,
        }
    }

    #[inline]
    fn ended(&self) -> Option<Ended> {
        // SAFETY: the pointer of a receiver that is turned back when this is consumed.
        unsafe { oneshot::Receiver::<T>::raw_ended(self.raw.as_ptr()) }
    }

    /// Takes the value if the channel has just said that there is one.
    #[inline]
    fn taken(&self, ended: Ended) -> Option<T> {
        match ended {
            // SAFETY: as in `ended`, and this is not `Sync`, so nothing was taken since.
            Ended::Done => Some(unsafe { oneshot::Receiver::raw_take(self.raw.as_ptr()) }),
            Ended::Abandoned => None,
        }
    }

    #[cfg(any(feature = "async", feature = "std"))]
    #[inline]
    fn into_inner(self) -> oneshot::Receiver<T> {
        // SAFETY: the pointer of a receiver of `T`, which is not used again.
        unsafe { oneshot::Receiver::from_raw(self.into_raw()) }
    }
}

#[cfg(feature = "std")]
mod blocking {
    extern crate std;

    use core::{
        task::{Poll, Waker},
        time::Duration,
    };
    use std::time::Instant;

    use joint::{
        completion::{Ended, Registration},
        host, oneshot,
        park::{Parked, Parker, park_until},
    };

    use super::{Receiver, RecvError};
    use crate::RecvTimeoutError;

    impl<T> Receiver<T> {
        /// Blocks the thread until the value is sent or the sender is dropped.
        ///
        /// # Errors
        /// [`RecvError`] if there is no value and there will be none.
        #[inline]
        pub fn recv(self) -> Result<T, RecvError> {
            self.into_inner().blocking_recv()
        }

        /// Blocks as [`recv`](Receiver::recv) does, and keeps the receiver.
        ///
        /// # Errors
        /// As for [`recv`](Receiver::recv).
        pub fn recv_ref(&self) -> Result<T, RecvError> {
            let ended = self.ended().or_else(|| self.wait(None));
            ended.and_then(|ended| self.taken(ended)).ok_or(RecvError)
        }

        /// Blocks as [`recv`](Receiver::recv) does, but for `timeout` at most.
        ///
        /// # Errors
        /// [`Timeout`](RecvTimeoutError::Timeout) if the time has passed, and
        /// [`Disconnected`](RecvTimeoutError::Disconnected) if there is no value and there will be
        /// none.
        pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
            let ended = match self.ended() {
                None if !timeout.is_zero() => self.wait(host::now().checked_add(timeout)),
                ended => ended,
            };
            self.in_time(ended)
        }

        /// Blocks as [`recv`](Receiver::recv) does, but until `deadline` at most.
        ///
        /// # Errors
        /// As for [`recv_timeout`](Receiver::recv_timeout).
        pub fn recv_deadline(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
            let ended = match self.ended() {
                None if deadline > host::now() => self.wait(Some(deadline)),
                ended => ended,
            };
            self.in_time(ended)
        }

        fn in_time(&self, ended: Option<Ended>) -> Result<T, RecvTimeoutError> {
            let ended = ended.ok_or(RecvTimeoutError::Timeout)?;
            self.taken(ended).ok_or(RecvTimeoutError::Disconnected)
        }

        /// Waits until the sender has finished, or until `deadline`.
        fn wait(&self, deadline: Option<Instant>) -> Option<Ended> {
            let parker = Parker::new();
            loop {
                // The host may run code that waits here as well, and so replaces the waker. The
                // last check before the thread parks puts it back.
                let parked = park_until(deadline, || {
                    self.poll(parker.waker()).is_ready() || parker.take_wake()
                });
                match self.ended() {
                    None if parked != Parked::TimedOut => {}
                    ended => return ended,
                }
            }
        }

        fn poll(&self, waker: &Waker) -> Poll<Ended> {
            let (raw, mut new) = (self.raw.as_ptr(), Registration::new());
            // SAFETY: as in `ended`. This is not `Sync`, and the registration is new.
            unsafe { oneshot::Receiver::<T>::raw_poll(raw, waker, &mut new) }
        }
    }
}

impl<T> Drop for Receiver<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the pointer of a receiver of `T`, which is not used again.
        drop(unsafe { oneshot::Receiver::<T>::from_raw(self.raw.as_ptr()) });
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receiver").field(&self.ended()).finish()
    }
}

#[cfg(feature = "async")]
mod future {
    use core::{
        future::IntoFuture,
        pin::Pin,
        task::{Context, Poll},
    };

    use joint::oneshot;

    use super::{Receiver, RecvError};

    /// A receiver that is awaited. Polled after its end, it says again that the channel is closed.
    #[derive(Debug)]
    pub struct AsyncReceiver<T>(oneshot::Receiver<T>);

    impl<T> AsyncReceiver<T> {
        pub(crate) fn new(receiver: oneshot::Receiver<T>) -> Self {
            Self(receiver)
        }

        /// Returns whether there is no value and there will be none.
        #[inline]
        pub fn is_closed(&self) -> bool {
            self.0.is_closed()
        }

        /// Returns whether there is a value, with which the next poll is ready.
        #[inline]
        pub fn has_message(&self) -> bool {
            self.0.has_message()
        }
    }

    impl<T> Future for AsyncReceiver<T> {
        type Output = Result<T, RecvError>;

        #[inline]
        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
            Pin::new(&mut self.0).poll(cx)
        }
    }

    impl<T> IntoFuture for Receiver<T> {
        type Output = Result<T, RecvError>;
        type IntoFuture = AsyncReceiver<T>;

        #[inline]
        fn into_future(self) -> AsyncReceiver<T> {
            AsyncReceiver(self.into_inner())
        }
    }
}

#[cfg(feature = "async")]
pub use future::AsyncReceiver;
