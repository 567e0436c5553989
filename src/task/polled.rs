//! Which task this thread polls, so that a task that wakes itself needs no atomic operation.
//!
//! A wake-up of a task by the code of its own poll causes what the runner can do by itself: it runs
//! the task once more. So the waker only leaves a mark for the runner, in a record that a
//! thread-local leads to. There it is found by that poll's thread alone, and is no data race,
//! although wakers are shared. A signal handler that interrupts the poll leaves the same mark.
//! Wake-ups from anywhere else take the ordinary path. That includes a poll inside of this one,
//! which hides this one until it is over. The same thread-local answers which task is current.
//!
//! Without the feature `std` there are no thread-locals, and every wake-up takes the ordinary path.

use core::{cell::Cell, ptr};
use std::{
    io::{Write, stderr},
    panic,
};

use super::{Id, TaskView, header::Task, payload::Described};
use crate::guard::OnDrop;
use joint_switch::{compiler_fence, order, thread_local};

/// A poll that is under way, on the stack of its thread.
struct Poll {
    task: Task,
    /// Whether the task has woken itself.
    is_woken: Cell<bool>,
}

thread_local! {
    /// The poll that this thread makes, or null. A signal handler sets that poll's mark, and
    /// leaves this as it is, so it loses no mark at a moment when this is being replaced.
    static POLLED: Cell<*const Poll> = const { Cell::new(ptr::null()) };
}

/// Calls `poll`, which polls `task` and does not unwind. Also returns whether the task has
/// woken itself meanwhile.
#[inline(always)]
pub(super) fn watch<R>(task: Task, poll: impl FnOnce() -> R) -> (R, bool) {
    let this = Poll {
        task,
        is_woken: Cell::new(false),
    };
    let outer = replace(&raw const this);
    let result = poll();
    replace(outer);
    // ORDERING: handler_marked. SeqCst, for the compiler alone: a signal handler that runs from
    // here on leaves no mark here.
    compiler_fence(order!(handler_marked: SeqCst));
    (result, this.is_woken.get())
}

/// Sets what this thread polls, and returns what it polled before.
#[inline]
fn replace(poll: *const Poll) -> *const Poll {
    POLLED.with(|polled| polled.replace(poll))
}

/// Calls `f` with the poll that this thread makes.
#[inline(always)]
fn with_poll<R>(f: impl FnOnce(&Poll) -> R) -> Option<R> {
    // A thread whose thread-locals are gone polls nothing.
    let poll = POLLED.try_with(Cell::get).unwrap_or(ptr::null());
    // SAFETY: the thread is inside of `watch`, whose frame has it. `f` does not leave that.
    unsafe { poll.as_ref() }.map(f)
}

/// Marks `task` as woken if this is code of its own poll. Returns whether it is.
#[inline(always)]
pub(super) fn wake(task: Task) -> bool {
    let mark = |poll: &Poll| (poll.task == task).then(|| poll.is_woken.set(true));
    with_poll(mark).flatten().is_some()
}

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
    with_poll(|poll| f(unsafe { poll.task.view() }))
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
    let before = replace(ptr::null());
    let _restore = OnDrop(|| _ = replace(before));
    f()
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
