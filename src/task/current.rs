//! The task that this thread polls, for its own code and for panic hooks.

use alloc::{boxed::Box, format};
use std::{
    io::{Write, stderr},
    panic,
};

use super::{Id, TaskView, payload::Described, polled};

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
    with_current(|task| task.id())
}

/// Calls `f` with the current task, or returns `None` outside a poll of a task.
///
/// # Example
/// ```
/// use joint::task::{self, Builder};
///
/// let name = || task::with_current(|task| task.name().map(String::from));
/// assert_eq!(name(), None);
/// let (runnable, handle) = Builder::new().name("flush").spawn(|()| async move { name() }, |_| {});
/// runnable.run();
/// assert_eq!(joint::block_on(handle), Some(Some("flush".into())));
/// ```
pub fn with_current<R>(f: impl FnOnce(TaskView<'_>) -> R) -> Option<R> {
    // SAFETY: this thread polls the task, and so keeps it alive until `f` returns.
    polled::current().map(|task| f(unsafe { task.view() }))
}

/// Calls `f` as if outside a poll of a task. For executors that run code of other tasks inside a
/// poll, such as a side of a fork and join that was stolen.
///
/// # Example
/// ```
/// use joint::task;
///
/// let inside = async { (task::try_id().is_some(), task::without_current(task::try_id)) };
/// let (runnable, handle) = task::spawn(inside, |_| {});
/// runnable.run();
/// assert_eq!(joint::block_on(handle), (true, None));
/// ```
#[inline]
pub fn without_current<R>(f: impl FnOnce() -> R) -> R {
    polled::without_current(f)
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
        // There is nowhere else to report to.
        let _ = with_current(|task| {
            let described = Described(task.name(), task.spawned());
            // In one write, so that no other process's output tears the line.
            stderr().write_all(format!("The {described} panics:\n").as_bytes())
        });
        before(info);
    }));
}
