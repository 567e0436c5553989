//! The lock-free join between a task and whoever waits for it.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod sync;

pub mod completion;
#[cfg(feature = "std")]
pub mod executor;
pub mod oneshot;
pub mod task;
pub mod waker;

#[doc(inline)]
pub use crate::completion::{Abandoned, Completer, Completion, Waiter};
#[cfg(feature = "std")]
#[doc(inline)]
pub use crate::executor::{Executor, spawn, yield_now};
#[doc(inline)]
pub use crate::task::{JoinError, JoinHandle};
#[cfg(feature = "std")]
#[doc(inline)]
pub use crate::waker::park::block_on;

/// What models of the crate need of it. It exists under the model-checking cfg alone, and promises nothing.
#[cfg(joint_loom)]
#[doc(hidden)]
pub mod model {
    pub use crate::sync::model::{Weakened, rmw_count, set_wake_limit, sites_seen};

    /// The executor's sleep protocol, for models with queues of their own.
    #[cfg(feature = "std")]
    pub struct Sleep(crate::executor::sleep::Sleep);

    #[cfg(feature = "std")]
    #[allow(
        missing_docs,
        missing_debug_implementations,
        reason = "forwarded as it is"
    )]
    impl Sleep {
        pub fn new(workers: usize) -> Self {
            Self(crate::executor::sleep::Sleep::new(workers))
        }

        pub fn notify(&self) {
            self.0.notify();
        }

        pub fn search(&self) {
            self.0.search();
        }

        pub fn found(&self, has_work: impl Fn() -> bool) {
            self.0.found(has_work);
        }

        pub fn sleep(&self, worker: usize, has_work: impl Fn() -> bool) -> bool {
            self.0.sleep(worker, has_work)
        }

        pub fn wake_all(&self) {
            self.0.wake_all();
        }
    }
}
