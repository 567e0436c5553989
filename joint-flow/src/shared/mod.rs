//! [`channel`]: one value from one [`Sender`] for many waiters, each of which may start to wait,
//! poll again and stop at any time.
//!
//! Clone the [`Shared`] for each waiter. Awaiting it gives a clone of the value. [`Shared::wait`]
//! and the blocking waits give a reference. [`from_future`] makes a `Shared` of any
//! future.
//!
//! # Happens-before
//! Everything that the sending thread did before [`Sender::send`], or before it dropped the sender,
//! happens before a waiter sees the value or the end.
//!
//! # Progress and cost
//! There is no lock, nothing spins, and there is no state in which one side has to wait for
//! another. Sending, checking, polling again and ceasing to wait are wait-free on machines that
//! have an atomic swap, add and compare-exchange as instructions, apart from the allocator and the
//! user's own wakers and destructors. The first poll of a waiter that has to wait is lock-free,
//! because it may have to retry if other waiters start at the same time.
//!
//! | path | loads | atomic read-modify-writes |
//! |---|---|---|
//! | clone | | 1 |
//! | drop | 1 | 1, or none for the last handle |
//! | check, or the first poll once the value was sent | 1 | |
//! | the first poll of a waiter that has to wait | 3 to 5 | 2, or 1 and one for each place that it tries, not counting the waker's own |
//! | the same, of the first `Shared` of a channel, if no other has waited | 2 | 1, not counting the waker's own |
//! | poll again with the same waker | 2 | |
//! | poll again with another waker | 2 | 1, not counting the waker's own |
//! | poll after the wake-up | 2 | 1, or none for that first one |
//! | cease to wait | 1 | 2, or 1 for that first one |
//! | send, or drop the sender | 1 | 2; 3 if only that first one waits; otherwise 3 and one for each place |
//! | drop the sender after every `Shared`, if nobody has waited | 3 | none |
//!
//! # Memory
//! The value and six words take one block. One of these words is for the first `Shared` of the
//! channel, if it waits before any other waiter. Each other waiter has a place of three words
//! while it waits. A later waiter takes over the place of one that has stopped waiting, so there
//! are never more than twice as many places as the largest number of waiters at one time. A new
//! place is made as long as fewer than half of the places are free. Finding a free place therefore
//! takes two tries on average, and in the worst case as many tries as there are places. All places
//! are freed once the value was sent and every waiter has been polled again or dropped. A waker of
//! another crate is boxed while it is registered. The waker of a blocking call is not boxed.

mod awaited;
mod block;
mod driver;
mod place;
mod receiver;
mod sender;
mod shared_waiter;
mod waiters;

use std::{error::Error, fmt, io};

use joint::oneshot::RecvError;

pub(crate) use awaited::Awaited;
pub use driver::Driver;
#[doc(alias = "remote_handle")]
pub use driver::from_future;
pub use receiver::{Shared, Wait};
pub use sender::Sender;
pub(crate) use shared_waiter::SharedWaiter;

/// Creates a sender, and the first waiter for its value.
///
/// # Cost
/// At most one allocation, of a block that holds the value and six words. No atomic
/// read-modify-writes.
///
/// # Example
/// ```
/// let (sender, shared) = joint_flow::shared::channel();
/// sender.send("here");
/// assert_eq!(joint::block_on(shared.clone()), Ok("here"));
/// assert_eq!(joint::block_on(shared), Ok("here"));
/// ```
#[doc(alias = "SetOnce")]
#[must_use = "dropping a sender without `send` tells the waiters that no value will come"]
pub fn channel<T>() -> (Sender<T>, Shared<T>) {
    let (sender, shared) = block::Handle::pair();
    (Sender::new(sender), Shared::first(shared))
}

/// The error of a wait that cannot succeed any more: the other side was dropped or closed, so no
/// value, no error and no end will come.
///
/// It is the error of the waiters of a [`Shared`] whose sender was dropped without sending, and of
/// everything in this package that can be closed. [`RecvError`] converts to it, and it converts to
/// an [`io::Error`] of the kind `BrokenPipe`.
///
/// # Example
/// ```
/// use std::io;
/// use joint::oneshot;
/// use joint_flow::Closed;
///
/// async fn wait(number: oneshot::Receiver<u32>) -> Result<u32, Closed> {
///     Ok(number.await?)
/// }
///
/// let (sender, number) = oneshot::channel();
/// drop(sender);
/// assert_eq!(joint::block_on(wait(number)), Err(Closed));
/// assert_eq!(io::Error::from(Closed).kind(), io::ErrorKind::BrokenPipe);
/// ```
#[doc(alias = "broken_promise")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("closed: nothing more will come")
    }
}

impl Error for Closed {}

impl From<RecvError> for Closed {
    fn from(_: RecvError) -> Self {
        Self
    }
}

impl From<Closed> for io::Error {
    fn from(closed: Closed) -> Self {
        Self::new(io::ErrorKind::BrokenPipe, closed)
    }
}
