//! A model checker for concurrent Rust, with the names of [loom](https://docs.rs/loom).
//!
//! [`model()`] runs a closure in every execution that the memory model RC11 allows, `SeqCst`
//! accesses and fences included, and in each of them once. It finds panics, data races, deadlocks
//! and leaks, and says why an execution fails. loom tries schedules instead, so it repeats
//! executions, leaves some out, and takes `SeqCst` accesses for weaker ones.
//!
//! The types of this crate take the place of std's in the code under test, and have the same names:
//! [`sync`], [`thread`], [`cell`], [`hint`]. Only they may carry something from one thread to
//! another. A value that threads share by other means, such as a static of std's, is not seen.
//!
//! # Example
//! A message whose flag is only relaxed. The model fails, and names the half that is missing:
//! ```
//! use joint_check::{cell::UnsafeCell, model, sync::Arc, thread};
//! use joint_check::sync::atomic::{AtomicBool, Ordering::*};
//!
//! struct Message(UnsafeCell<u32>, AtomicBool);
//! // SAFETY: the model looks for races.
//! unsafe impl Sync for Message {}
//! unsafe impl Send for Message {}
//!
//! fn send_and_receive(publish: std::sync::atomic::Ordering) {
//!     model(move || {
//!         let message = Arc::new(Message(UnsafeCell::new(0), AtomicBool::new(false)));
//!         let theirs = message.clone();
//!         let sender = thread::spawn(move || {
//!             theirs.0.with_mut(|value| unsafe { *value = 7 });
//!             theirs.1.store(true, publish);
//!         });
//!         if message.1.load(Acquire) {
//!             assert_eq!(message.0.with(|value| unsafe { *value }), 7);
//!         }
//!         sender.join().unwrap();
//!     });
//! }
//!
//! send_and_receive(Release);
//! assert!(std::panic::catch_unwind(|| send_and_receive(Relaxed)).is_err());
//! let why = joint_check::model::last_failure().unwrap();
//! let half = "The release half of the first (Release instead of Relaxed) would order them.";
//! assert!(why.contains(half));
//! ```
//!
//! # Limits
//! * Load buffering is not explored: a read never reads from a write that comes later in
//!   `po ∪ rf`, which RC11 forbids as well.
//! * A model has at most [`MAX_THREADS`] threads, and a thread at most 1,000 accesses (see
//!   [`model::Builder::max_branches`]). A loop that waits has to call
//!   [`hint::spin_loop`] or [`thread::yield_now`], also if it only repeats an exchange that fails:
//!   the memory model lets such an exchange read an old value as often as it likes. Where the
//!   rounds of a loop differ only in what they write, as where each is counted, eight without news
//!   are explored, and [`model::Count::is_cut`] says that more were left out. A loop that gives up
//!   is explored in each of its rounds, up to 100, after which it is taken to be endless.
//! * Time does not pass: a wait with a limit ends by itself at each point where it may.
//! * A lock of std's may not be held over an operation of the model, because the checker may change
//!   threads there. A model that waits for one hangs, and after five seconds its last step is
//!   printed.
//! * A thread has a stack of 8 MiB. One that needs more kills the process without a message.
//! * Nothing fails or returns for no reason, except what does so on loom, unless
//!   [`model::Builder::spurious`] allows it.
//! * The end of an access to a cell is no step: an access lasts until the last step of its thread
//!   before that.
//! * The drops of atomics and cells are checked against all accesses, those of locks are not.

#[macro_use]
mod common;

pub mod alloc;
pub mod cell;
mod explore;
pub mod future;
mod graph;
mod heap;
pub mod hint;
pub mod lazy_static;
pub mod model;
mod pool;
mod run;
mod sc;
pub mod sync;
pub mod thread;
mod watch;

pub use graph::MAX_THREADS;
/// For the package that stands for std.
#[doc(hidden)]
pub use joint_facade as __facade;
pub use model::model;

/// Does nothing: every operation is explored. For models that are written for loom.
pub fn explore() {}

/// Does nothing: every operation is explored. For models that are written for loom.
pub fn stop_exploring() {}

/// Does nothing: every operation is explored. For models that are written for loom.
pub fn skip_branch() {}
