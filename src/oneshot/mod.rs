//! [`channel`]: one value from one [`Sender`] to one [`Receiver`], which may await it or block for it.
//!
//! The channel is one block of memory: a [`Completion`](crate::Completion) and a place for the value. Nobody counts
//! references. The exchange that each end makes on the word tells it whether it is the last one, and the last one frees:
//!
//! | who comes | finds | and then |
//! |---|---|---|
//! | sender, with a value or without | the receiver may still look | touches nothing any more; wakes the receiver if it waits |
//! | sender, with a value | the receiver gone | takes the value back, frees |
//! | sender, without | the receiver gone | frees |
//! | receiver, for the value | a value | takes it, frees |
//! | receiver, for the value | the sender gone | frees |
//! | receiver, to go | a value | drops it, frees |
//! | receiver, to go | the sender gone | frees |
//! | receiver, to go | neither | touches nothing any more; drops its waker if it has waited |
//!
//! # Happens-before
//! All that the sending thread did before [`Sender::send`], or before it dropped the sender, happens before the receiver
//! learns of it. All that the receiving thread did before it closed or dropped the receiver happens before a `send` that gives
//! the value back.
//!
//! # Progress and cost
//! Every operation that does not block is wait-free where the machine has an atomic swap, beside the allocator and the user's
//! own wakers and destructors. Nothing spins.
//!
//! | path | atomic read-modify-writes, in all |
//! |---|---|
//! | send, then receive in whatever way | 1 |
//! | poll, send, poll again | 2, beside the waker's own |
//! | send, then drop the receiver; drop the sender, then receive | 1 |
//! | drop or close the receiver, then send or drop the sender | 2 |
//!
//! At most one allocation for a channel. A waker that is not of this crate is boxed as long as it is registered; the one by which a
//! blocking call waits is not.
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
mod error;
mod receiver;
mod sender;

#[cfg(feature = "std")]
pub use error::RecvTimeoutError;
pub use error::{RecvError, SendError, TryRecvError};
pub use receiver::Receiver;
pub use sender::Sender;

/// The two ends of a new channel for one value.
///
/// # Cost
/// One block of memory, which holds the value and one word: at most one allocation. No atomic read-modify-writes.
///
/// # Example
/// ```
/// let (sender, mut receiver) = joint::oneshot::channel();
/// sender.send("here").unwrap();
/// assert_eq!(receiver.try_recv(), Ok("here"));
/// ```
#[inline]
#[must_use = "ends that are dropped close the channel"]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let block = block::Block::allocate();
    // SAFETY: the block is fresh, and this is its one sender.
    let sender = unsafe { Sender::new(block) };
    // SAFETY: the block is fresh, and this is its one receiver.
    let receiver = unsafe { Receiver::new(block) };
    (sender, receiver)
}
