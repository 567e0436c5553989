//! [`Executor::block_on`]: a thread that drives a future of its own, and spawns on an executor.
//!
//! While it does, the thread is in that executor: whatever finds no worker on this thread takes the
//! executor that the thread is in, and not the global one. On a worker of another executor, the
//! thread is no worker meanwhile, but for what it does for others while it is blocked.

use core::{cell::Cell, future::Future, ptr};

use super::{Executor, current, local};
use crate::sync::thread_local;

thread_local! {
    static ENTERED: Cell<*const Executor> = const { Cell::new(ptr::null()) };
}

/// The executor that this thread is in, or else the global one. Not to be kept.
///
/// # Panics
/// When the global executor is needed and cannot be started.
pub(super) fn ambient<'a>() -> &'a Executor {
    let entered = ENTERED.with(Cell::get);
    // SAFETY: set by `enter` to what is borrowed for as long, and reset before that ends.
    let entered = unsafe { entered.as_ref() };
    entered.unwrap_or_else(Executor::global)
}

/// Calls `f` in an executor.
fn enter<R>(executor: &Executor, f: impl FnOnce() -> R) -> R {
    struct Leave(*const Executor);
    impl Drop for Leave {
        fn drop(&mut self) {
            ENTERED.with(|entered| entered.set(self.0));
        }
    }
    let _leave = Leave(ENTERED.with(|entered| entered.replace(executor)));
    current::without_current(|| local::without_current(f))
}

impl Executor {
    /// Runs a future to its end on this thread, as [`block_on`](crate::block_on) does. Inside of it,
    /// [`spawn`](crate::spawn) and all else that takes the current executor take this one: timers,
    /// descriptors, [`join`](crate::join), [`async_scope`](crate::async_scope), a
    /// [`JoinSet`](crate::JoinSet).
    ///
    /// The future is no task, and need be neither `Send` nor `'static`. Tasks that it has not
    /// awaited run on when it has ended.
    ///
    /// On one of this executor's own workers it is [`block_on`](crate::block_on), which blocks that
    /// worker.
    ///
    /// # Panics
    /// When the future's `poll` does.
    ///
    /// # Example
    /// ```
    /// let executor = joint::Executor::builder().workers(2).build()?;
    /// let sum = executor.block_on(async {
    ///     let halves = [0..50u64, 50..101].map(|half| joint::spawn(async move { half.sum::<u64>() }));
    ///     let mut sum = 0;
    ///     for half in halves {
    ///         sum += half.await;
    ///     }
    ///     sum
    /// });
    /// assert_eq!((sum, executor.metrics().spawned), (5050, 2));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        if self.runs_this_thread() {
            return crate::block_on(future);
        }
        enter(self, || crate::block_on(future))
    }
}
