//! The task that this thread polls, for its own code and for panic hooks.

use alloc::{
    boxed::Box,
    string::{String, ToString},
};
use std::{
    io::{Write, stderr},
    panic,
};

use super::{Id, error::Named, polled};

/// Returns the id of the current task: the one whose poll calls this, on any executor that is built
/// on this crate.
///
/// # Panics
/// Outside a poll of a task. There [`try_id`] returns `None`.
///
/// # Example
/// ```
/// use joint::task;
///
/// let (runnable, handle) = task::spawn(async { task::id() }, |_| {});
/// let id = handle.id();
/// runnable.run();
/// assert_eq!(joint::block_on(handle), id);
/// ```
#[track_caller]
pub fn id() -> Id {
    try_id().expect("`task::id` was called outside a poll of a task; call `task::try_id` there")
}

/// Returns the id of the current task, as [`id`] does, or `None` outside a poll of a task.
///
/// # Example
/// ```
/// assert_eq!(joint::task::try_id(), None);
/// ```
pub fn try_id() -> Option<Id> {
    // SAFETY: this thread polls the task, and so keeps it alive.
    polled::current().map(|task| unsafe { Id::of(task) })
}

/// Returns the current task's name, if it has one, and where it was spawned, for a message. Returns
/// `None` outside a poll of a task.
///
/// # Example
/// ```
/// use joint::task::{self, Builder};
///
/// let builder = Builder::new().name("flush");
/// let (runnable, handle) = builder.spawn(|()| async { task::describe() }, |_| {});
/// runnable.run();
/// let described = joint::block_on(handle).unwrap();
/// assert!(described.starts_with("task `flush` spawned at "));
/// ```
pub fn describe() -> Option<String> {
    // SAFETY: as for `try_id`.
    polled::current().map(|task| unsafe { Named::of(task) }.to_string())
}

/// Sets a panic hook that writes to standard error in which task a panic happens, and then calls
/// the hook that was set before.
///
/// The line has the task's name, if it has one, and where it was spawned. Panics outside a poll of
/// a task have none. Call it once, at the start of `main`: the hook belongs to the whole process.
///
/// # Panics
/// As [`std::panic::set_hook`].
///
/// # Example
/// ```
/// use joint::task::{self, Builder};
///
/// task::set_panic_hook();
/// let builder = Builder::new().name("flush");
/// let (runnable, handle) = builder.spawn(|()| async { panic!("no") }, |_| {});
/// // Before the line of the hook that was set before, this prints:
/// // The task `flush` spawned at src/main.rs:5:34 panics:
/// runnable.run();
/// assert!(joint::block_on(handle.result()).is_err());
/// ```
pub fn set_panic_hook() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if let Some(described) = describe() {
            // There is nowhere else to report to.
            let _ = writeln!(stderr(), "The {described} panics:");
        }
        before(info);
    }));
}
