//! [`channel`]: a channel for one value, from one [`Sender`] to one [`Receiver`], which awaits it
//! or blocks.
//!
//! The channel is one block of memory with a [`Completion`](crate::Completion) that has a [place
//! for a waker of another crate](crate::completion::Slotted), and the value. The sender completes
//! it, and the receiver waits for it. There is no reference count. Each end makes one exchange on
//! the word, which tells it whether the other end has already finished. If so, this end is the
//! last, and frees the block:
//!
//! | end | finds | action |
//! |---|---|---|
//! | sender, with or without a value | the receiver still open | touches nothing else; wakes the receiver if it waits |
//! | sender, with a value | the receiver closed or dropped | takes the value back, frees |
//! | sender, without a value | the receiver closed or dropped | frees |
//! | receiver, to receive | a value | takes it, frees |
//! | receiver, to receive | the sender dropped | frees |
//! | receiver, dropped | a value | drops it, frees |
//! | receiver, dropped | the sender dropped | frees |
//! | receiver, dropped | neither | touches nothing else; drops its waker if it has waited |
//!
//! A second completion is for a sender that waits until the receiver is gone. A receiver that goes
//! before the sender has finished completes it first, and wakes the sender last.
//!
//! # Happens-before
//! Everything that the sending thread did before [`Sender::send`], or before it dropped the sender,
//! happens before the receiver sees the value or the end. Everything that the receiving thread did
//! before it closed or dropped the receiver happens before a `send` that gives the value back.
//!
//! # Progress and cost
//! Every operation that does not block is wait-free on machines that have an atomic swap and an
//! atomic compare-exchange as instructions, apart from the allocator and the user's own wakers and
//! destructors. On other machines it is lock-free. Nothing spins.
//!
//! | path | atomic read-modify-writes in total |
//! |---|---|
//! | send, then receive in any way | 1 |
//! | poll, send, poll again | 2, not counting the waker's own |
//! | send, then drop the receiver; drop the sender, then receive | 1 |
//! | drop or close the receiver, then send or drop the sender | 2 |
//!
//! The sender's end makes one more if the receiver registers a waker or closes at that very moment.
//!
//! A sender that [waits](Sender::closed) for the receiver to go makes one for each poll.
//!
//! A channel makes at most one allocation, with room for the receiver's waker. If the receiver is
//! polled with a second waker, and that one is of another crate, that waker is boxed while it is
//! registered.
//!
//! # Example
//! ```
//! use joint::oneshot;
//!
//! let (sender, receiver) = oneshot::channel();
//! let worker = std::thread::spawn(move || sender.send(6 * 7));
//! assert_eq!(joint::block_on(receiver), Ok(42));
//! assert_eq!(worker.join().unwrap(), Ok(()));
//! ```

mod block;
#[cfg(feature = "std")]
mod blocking;
mod error;
mod raw;
mod receiver;
mod sender;

#[cfg(feature = "std")]
pub use blocking::RecvTimeoutError;
pub use error::{RecvError, SendError, TryRecvError};
pub use receiver::Receiver;
pub use sender::Sender;

/// Creates a channel for one value, and returns its two ends.
///
/// # Cost
/// At most one allocation, of a block that holds the value and four words. No atomic
/// read-modify-writes.
///
/// # Example
/// ```
/// let (sender, mut receiver) = joint::oneshot::channel();
/// sender.send("here").unwrap();
/// assert_eq!(receiver.try_recv(), Ok("here"));
/// ```
#[inline]
#[must_use = "dropping either end closes the channel"]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let block = block::Block::<T>::allocate().as_ptr().cast();
    // SAFETY: a fresh block, of which this is the one sender, as if from its `into_raw`.
    let sender = unsafe { Sender::from_raw(block) };
    // SAFETY: as above, of which this is the one receiver.
    let receiver = unsafe { Receiver::from_raw(block) };
    (sender, receiver)
}
