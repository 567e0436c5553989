//! [`yield_now`].

use core::{
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll},
};

/// Lets the other tasks that are due on the same worker run first.
///
/// The task goes to the end of its worker's queue. If no other task is in that queue, then of the
/// tasks that were spawned on that worker and have not run yet, 32 run first, or all if there are
/// fewer ([fairness](crate#fairness)). Under another crate's executor the task is woken
/// at once, and that executor decides when it runs again.
///
/// # Cost
/// Under the executors of this crate, and under any other that is made of [`task`](joint::task):
/// no atomic read-modify-write, besides those of the queue.
///
/// # Example
/// ```
/// joint_executor::block_on(async {
///     joint_executor::yield_now().await;
/// });
/// ```
pub fn yield_now() -> YieldNow {
    YieldNow { yielded: false }
}

/// The future of [`yield_now`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct YieldNow {
    yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if mem::replace(&mut self.yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
