//! Which task this thread polls, so that a task that wakes itself needs no atomic operation.
//!
//! A wake-up of a task by the code of its own poll causes what the runner can do by itself: it runs
//! the task once more. So the waker only leaves a mark for the runner, in a record that a
//! thread-local leads to. There it is found by that poll's thread alone, and is no data race,
//! although wakers are shared. A signal handler that interrupts the poll leaves the same mark.
//! Wake-ups from anywhere else take the ordinary path. That includes a poll inside of this one,
//! which hides this one until it is over. The same thread-local answers which task is current
//! (`current.rs`).
//!
//! Without the feature `std` there are no thread-locals, and every wake-up takes the ordinary path.

use core::{cell::Cell, ptr};

use super::header::Task;
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
    let outer = POLLED.with(|polled| polled.replace(&raw const this));
    let result = poll();
    POLLED.with(|polled| polled.set(outer));
    // ORDERING: handler_marked. SeqCst, for the compiler alone: a signal handler that runs from
    // here on leaves no mark here.
    compiler_fence(order!(handler_marked: SeqCst));
    (result, this.is_woken.get())
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
    let is_own = with_poll(|poll| {
        let is_own = poll.task == task;
        if is_own {
            poll.is_woken.set(true);
        }
        is_own
    });
    is_own.unwrap_or(false)
}

/// Calls `f`, for which this thread polls no task. A mark that is there already stays.
#[inline]
pub(super) fn without_current<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(*const Poll);
    impl Drop for Restore {
        #[inline]
        fn drop(&mut self) {
            POLLED.with(|polled| polled.set(self.0));
        }
    }
    let _restore = Restore(POLLED.with(|polled| polled.replace(ptr::null())));
    f()
}

/// Returns the task that this thread polls. It is alive until that poll is over.
pub(super) fn current() -> Option<Task> {
    with_poll(|poll| poll.task)
}
