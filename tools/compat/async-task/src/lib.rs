//! The API of `async-task` 4.7 on [`joint::task`], for `[patch.crates-io]`.
//!
//! [`spawn`] makes a [`Runnable`], which polls the future each time that it is run, and a [`Task`],
//! which awaits the output. The task calls its schedule function with the runnable whenever it is
//! woken.
//!
//! ```
//! use std::sync::mpsc::channel;
//!
//! let (sender, queue) = channel();
//! let (runnable, task) = async_task::spawn(async { 6 * 7 }, move |r| sender.send(r).unwrap());
//! runnable.schedule();
//! while let Ok(runnable) = queue.try_recv() {
//!     runnable.run();
//! }
//! assert_eq!(joint::block_on(task), 42);
//! ```
//!
//! The README says how to put this in the place of the original, and where the two differ.
#![no_std]

#[cfg(feature = "std")]
extern crate std;

mod builder;
mod future;
mod runnable;
mod schedule;
mod task;

#[cfg(feature = "std")]
pub use builder::spawn_local;
pub use builder::{Builder, spawn, spawn_unchecked};
pub use runnable::Runnable;
pub use schedule::{Schedule, ScheduleInfo, WithInfo};
pub use task::{FallibleTask, Task};

use core::sync::atomic::AtomicBool;

/// The metadata of `joint`'s task: the user's own, and what `joint` does not keep.
struct Metadata<M> {
    user: M,
    /// Set when [`Task::cancel`] is called on the unfinished task, whose output nothing then
    /// awaits.
    ///
    /// It orders nothing, because each side that reads or writes it only acts on its own data.
    /// Relaxed everywhere.
    cancelled: AtomicBool,
}
