//! Which task this thread polls, so that a task that wakes itself needs no atomic operation.
//!
//! A wake-up of a task by the code of its own poll causes what the runner can do by itself: it runs
//! the task once more. So the waker only leaves a mark for the runner, in a thread-local. There it
//! is found by that poll's thread alone, and is no data race, although wakers are shared. Wake-ups
//! from anywhere else take the ordinary path. That includes a poll inside of this one, which hides
//! this one until it is over. The same thread-local answers which task is current (`current.rs`).
//!
//! Without the feature `std` there are no thread-locals, and every wake-up takes the ordinary path.

use super::header::Task;

#[cfg(feature = "std")]
mod with_std {
    use core::{cell::Cell, ptr};

    use super::Task;
    use joint_switch::thread_local;

    /// Added to the address of a task that has woken itself. Headers are aligned to more.
    const WOKEN: usize = 1;

    thread_local! {
        /// The address of the task that this thread polls, or null.
        static POLLED: Cell<*mut ()> = const { Cell::new(ptr::null_mut()) };
    }

    /// Calls `poll`, which polls `task` and does not unwind. Also returns whether the task has
    /// woken itself meanwhile.
    #[inline(always)]
    pub(in super::super) fn watch<R>(task: Task, poll: impl FnOnce() -> R) -> (R, bool) {
        let address = task.as_ptr().as_ptr();
        let outer = POLLED.with(|polled| polled.replace(address));
        let result = poll();
        let end = POLLED.with(|polled| polled.replace(outer));
        (result, end.addr() == address.addr() + WOKEN)
    }

    /// Marks `task` as woken if this is code of its own poll. Returns whether it is.
    #[inline(always)]
    pub(in super::super) fn wake(task: Task) -> bool {
        let marked = task.as_ptr().as_ptr().map_addr(|address| address + WOKEN);
        // A thread whose thread-locals are gone polls nothing.
        let is_own = POLLED.try_with(|polled| {
            let is_own = polled.get().addr() | WOKEN == marked.addr();
            if is_own {
                polled.set(marked);
            }
            is_own
        });
        is_own.unwrap_or(false)
    }

    /// Calls `f`, for which this thread polls no task. A mark that is there already stays.
    pub(in super::super) fn without_current<R>(f: impl FnOnce() -> R) -> R {
        struct Restore(*mut ());
        impl Drop for Restore {
            fn drop(&mut self) {
                POLLED.with(|polled| polled.set(self.0));
            }
        }
        let _restore = Restore(POLLED.with(|polled| polled.replace(ptr::null_mut())));
        f()
    }

    /// Returns the task that this thread polls. It is alive until that poll is over.
    pub(in super::super) fn current() -> Option<Task> {
        let polled = POLLED.try_with(Cell::get).unwrap_or(ptr::null_mut());
        ptr::NonNull::new(polled.map_addr(|address| address & !WOKEN)).map(Task::from_ptr)
    }
}

#[cfg(not(feature = "std"))]
mod without_std {
    use super::Task;

    /// Calls `poll`.
    #[inline(always)]
    pub(in super::super) fn watch<R>(_: Task, poll: impl FnOnce() -> R) -> (R, bool) {
        (poll(), false)
    }

    /// Returns false.
    #[inline(always)]
    pub(in super::super) fn wake(_: Task) -> bool {
        false
    }
}

#[cfg(feature = "std")]
pub(super) use with_std::{current, wake, watch, without_current};
#[cfg(not(feature = "std"))]
pub(super) use without_std::{wake, watch};
