//! loom, with atomics that one environment variable can weaken, split, delete or blind.
//!
//! A model that passes says nothing until it has been seen to fail. With this crate in the place of
//! loom, the command `cargo ordering-mutants` changes one atomic operation at a time and runs the
//! tests that reach it. If no test fails, the operation is stronger than it needs to be, or no test
//! needs it.
//!
//! A crate switches by one line. Either in its manifest, which makes `loom` mean this crate:
//!
//! ```toml
//! [target.'cfg(loom)'.dependencies]
//! loom = { package = "joint-mutants", version = "0.1" }
//! ```
//!
//! or where it imports loom's atomics:
//!
//! ```
//! use joint_mutants::sync::atomic::{AtomicUsize, Ordering, fence};
//! ```
//!
//! Everything else is loom's own and re-exported, so types of both crates fit together. Without
//! the environment variables the atomics do what loom's do:
//!
//! ```
//! use joint_mutants::sync::{Arc, atomic::{AtomicBool, Ordering::{Acquire, Release}}};
//!
//! joint_mutants::model(|| {
//!     let flag = Arc::new(AtomicBool::new(false));
//!     let setter = flag.clone();
//!     let thread = joint_mutants::thread::spawn(move || setter.store(true, Release));
//!     thread.join().unwrap();
//!     assert!(flag.load(Acquire));
//! });
//! ```
//!
//! # Places and changes
//!
//! A place is an operation in the source: file, line, column, the operation's name and its
//! orderings. A helper function with `#[track_caller]` passes on the place of its caller.
//!
//! | change | what happens at the place |
//! |---|---|
//! | `acq_rel`, `acquire`, `release`, `relaxed` | the operation has this ordering; a relaxed fence is none |
//! | `failure_acquire`, `failure_relaxed` | the same for the ordering of a failed exchange, or for the loads of `fetch_update` |
//! | `split` | a read-modify-write is a load and then a store |
//! | `deleted` | a store does nothing; a read-modify-write only loads, and returns what it loaded as if it had succeeded; a `lock`, `read` or `write` takes no lock; a `notify`, `notify_one`, `notify_all` or `unpark` wakes nobody; a `park` returns at once; a `spawn` drops its closure |
//! | `blind` | a load returns the value that the atomic was made with; a compare-exchange fails |
//!
//! A crate that has wrappers of its own around a model checker's atomics, or gives its orderings
//! names, calls [`named`] instead. That needs no loom: `default-features = false`.
//!
//! Cost without a request: one load of a static for each operation.

#[cfg(feature = "loom")]
mod atomic;
#[cfg(feature = "loom")]
mod locks;
pub mod named;
#[doc(hidden)]
pub mod place;
mod request;
#[cfg(feature = "loom")]
mod wake;

#[cfg(feature = "loom")]
pub use loom::*;
pub use request::leave_out;

/// loom's `thread`, whose spawns, parks and unparks can be deleted.
#[cfg(feature = "loom")]
pub mod thread {
    pub use crate::wake::{Builder, JoinHandle, Thread, current, park, spawn};
    pub use loom::thread::*;
}

/// loom's `sync`, with atomics, locks and notifications that can be changed.
#[cfg(feature = "loom")]
pub mod sync {
    pub use crate::locks::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
    pub use crate::wake::{Condvar, Notify};
    pub use loom::sync::*;

    /// loom's atomics, each of whose operations can be changed at run time.
    pub mod atomic {
        pub use crate::atomic::*;
        pub use loom::sync::atomic::{Ordering, spin_loop_hint};
    }
}
