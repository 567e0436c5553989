//! [`channel`]: one value from one [`Sender`] for many waiters. Any of them may come, poll again and go at any time.
//!
//! A [`Shared`] is cloned for each who waits. Awaited, it gives a clone of the value; [`Shared::wait`] gives a reference, and so
//! do the blocking waits (feature `std`). [`from_future`] makes a shared one of any future.
//!
//! # Happens-before
//! All that the sending thread did before [`Sender::send`], or before it dropped the sender, happens before anyone learns of it.
//!
//! # Progress and cost
//! There is no lock, nobody spins, and no state in which one side has to wait for another. To send, to look, to poll again and
//! to go are wait-free where the machine has an atomic swap, beside the allocator and the user's own wakers and destructors. To
//! come (the first poll of a waiter that has to wait) is lock-free: it may have to try again where others come too.
//!
//! | path | loads | atomic read-modify-writes |
//! |---|---|---|
//! | clone, drop | | 1 |
//! | look, or the first poll when the value is there | 1 | |
//! | the first poll of one who has to wait | 3 to 5 | 2, beside the waker's own, or 1 and one for each place that it looks at |
//! | poll again with the same waker | 2 | |
//! | poll again with another waker | 2 | 1, beside the waker's own |
//! | poll after the wake-up | 2 | 1 |
//! | go while waiting | 1 | 2 |
//! | send, or go without | | 2; when somebody has waited, 3 and one for each place |
//!
//! # Memory
//! One block for the value and five words. While somebody waits, each waiter has a place of three words. The place of one who
//! has gone is taken by one who comes later: there are never more than twice as many places as there were waiters at one
//! time, however many came and went. A new place is made as long as less than half of them are free, so that to find a free one
//! takes a look at two on average; the worst case is to look at each. All places are freed once the value was sent and every
//! waiter has been polled again or dropped. A waker that is not of this crate is boxed as long as it is registered; the
//! one by which a blocking call waits is not.
//!
//! # Example
//! ```
//! use joint::shared;
//!
//! let (sender, shared) = shared::channel();
//! let waiters: Vec<_> = (0..3)
//!     .map(|_| {
//!         let shared = shared.clone();
//!         std::thread::spawn(move || shared.blocking_wait().map(String::len))
//!     })
//!     .collect();
//! sender.send(String::from("here"));
//! for waiter in waiters {
//!     assert_eq!(waiter.join().unwrap(), Ok(4));
//! }
//! assert_eq!(shared.get().map(String::as_str), Some("here"));
//! ```

mod block;
mod driver;
mod place;
mod receiver;
mod seat;
mod sender;
mod waiters;

use core::{error::Error, fmt};

pub use driver::{Driver, from_future};
pub use receiver::{Shared, Wait};
pub use sender::Sender;

/// A new sender, and the first of those who may wait for its value.
///
/// # Cost
/// One block of memory, which holds the value and five words: at most one allocation. No atomic read-modify-writes.
///
/// # Example
/// ```
/// let (sender, shared) = joint::shared::channel();
/// sender.send("here");
/// assert_eq!(joint::block_on(shared.clone()), Ok("here"));
/// assert_eq!(joint::block_on(shared), Ok("here"));
/// ```
#[must_use = "a sender that is dropped tells those who wait that no value will come"]
pub fn channel<T>() -> (Sender<T>, Shared<T>) {
    let (sender, shared) = block::Handle::pair();
    (Sender::new(sender), Shared::new(shared))
}

/// No value will come any more: the sender was dropped without sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the sender was dropped without sending")
    }
}

impl Error for Closed {}
