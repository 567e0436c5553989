//! What can be asked of a receiver that is a pointer.
//!
//! A type of another crate that embeds a receiver may have to be one word, to take its value by
//! shared reference, or to keep the memory of the channel until it is dropped. It holds the pointer
//! of [`Receiver::into_raw`] and calls these functions, and in the end turns the pointer back.

use core::{
    any::type_name,
    ptr::NonNull,
    task::{Poll, Waker},
};

use super::{Receiver, block::Block};
use crate::completion::{Completion, Ended, Registration, Slotted};

impl<T> Receiver<T> {
    /// Returns whether a value has been sent, which is [`Ended::Done`], or there will be none,
    /// which is [`Ended::Abandoned`]. `None` means that the sender may still send.
    ///
    /// # Happens-before
    /// As for [`is_finished`](Receiver::is_finished).
    ///
    /// # Cost
    /// One load.
    ///
    /// # Safety
    /// `raw` came from [`Receiver::into_raw`] of a receiver with the same `T`, is not null, and has
    /// not been turned back since.
    ///
    /// # Example
    /// A receiver that takes its value by shared reference. It is not `Sync`, so no two threads
    /// take it at once.
    /// ```
    /// use joint::{completion::Ended, oneshot::{self, Receiver, TryRecvError}};
    /// use std::marker::PhantomData;
    ///
    /// struct OneWord<T>(*mut (), PhantomData<T>);
    ///
    /// impl<T> OneWord<T> {
    ///     fn try_recv(&self) -> Result<T, TryRecvError> {
    ///         // SAFETY: the pointer is that of a receiver of `T`, and not turned back before the
    ///         // drop.
    ///         match unsafe { Receiver::<T>::raw_ended(self.0) } {
    ///             None => Err(TryRecvError::Empty),
    ///             Some(Ended::Abandoned) => Err(TryRecvError::Closed),
    ///             // SAFETY: as above, and there is a value.
    ///             Some(Ended::Done) => Ok(unsafe { Receiver::raw_take(self.0) }),
    ///         }
    ///     }
    /// }
    ///
    /// impl<T> Drop for OneWord<T> {
    ///     fn drop(&mut self) {
    ///         // SAFETY: as above, and the pointer is not used again.
    ///         drop(unsafe { Receiver::<T>::from_raw(self.0) });
    ///     }
    /// }
    ///
    /// let (sender, receiver) = oneshot::channel::<String>();
    /// let receiver = OneWord::<String>(receiver.into_raw(), PhantomData);
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    /// sender.send("here".to_owned()).unwrap();
    /// assert_eq!(receiver.try_recv().as_deref(), Ok("here"));
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    /// ```
    #[inline]
    pub unsafe fn raw_ended(raw: *mut ()) -> Option<Ended> {
        // SAFETY: the word is the first field of a block that is alive, because its receiver has
        // not been turned back, let alone dropped.
        unsafe { Completion::raw_ended(raw.cast()) }
    }

    /// Polls as a receiver is polled, but takes no value. Once it is ready, [`raw_ended`] has the
    /// same answer. Only the waker of the last poll is woken.
    ///
    /// # Happens-before
    /// As for a poll of the receiver, if it returns [`Poll::Ready`].
    ///
    /// # Cost
    /// As for a poll of the receiver.
    ///
    /// # Safety
    /// As for [`raw_ended`]. No other call for this receiver is made at the same time, unless the
    /// `on_wait` of this thread's host makes it inside of this one. `registration` is new or was
    /// last passed to the latest poll of this receiver.
    ///
    /// [`raw_ended`]: Receiver::raw_ended
    #[inline]
    pub unsafe fn raw_poll(
        raw: *mut (),
        waker: &Waker,
        registration: &mut Registration,
    ) -> Poll<Ended> {
        let name = Some(type_name::<Self> as _);
        // SAFETY: the word is the first field of a block that is alive, and only this receiver is
        // its waiter.
        unsafe { Slotted::raw_poll(raw.cast(), waker, registration, name) }
    }

    /// Takes the value, and keeps the memory of the channel. From then on the channel is as if its
    /// sender had been dropped without sending, also for a receiver that is made of the pointer.
    ///
    /// # Safety
    /// As for [`raw_poll`](Receiver::raw_poll), and [`raw_ended`](Receiver::raw_ended) is
    /// [`Ended::Done`].
    #[inline]
    pub unsafe fn raw_take(raw: *mut ()) -> T {
        // SAFETY: the address of a block, which is not null.
        let block = unsafe { NonNull::new_unchecked(raw.cast::<Block<T>>()) };
        // SAFETY: the sender has put the value in and finished, so it is the receiver's.
        let value = unsafe { Block::read(block) };
        // SAFETY: as above. No user code runs between the two, so the value is not taken twice.
        unsafe { &*raw.cast::<Completion>() }.restore(Ended::Abandoned);
        value
    }
}
