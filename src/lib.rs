//! The lock-free join between a task and whoever waits for it.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod sync;

pub mod completion;
pub mod oneshot;
pub mod task;
pub mod waker;

#[doc(inline)]
pub use crate::completion::{Abandoned, Completer, Completion, Waiter};
#[doc(inline)]
pub use crate::task::{JoinError, JoinHandle};
#[cfg(feature = "std")]
#[doc(inline)]
pub use crate::waker::park::block_on;

#[cfg(joint_loom)]
#[doc(hidden)]
pub mod model {
    pub use crate::sync::model::{Weakened, rmw_count, set_wake_limit, sites_seen};
}
