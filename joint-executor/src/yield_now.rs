//! [`yield_now`] and [`point`].

use core::{
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use joint::budget::{self, Turn};

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

/// Takes one from the [budget] of the task's poll. If that is used up, other tasks run first.
///
/// The futures of this crate do the same, so a task that only awaits what is ready lets others run
/// after 128 operations. Put this beside an operation that does not, such as the lock of another
/// crate, which is never pending while it is free. An owner that [chooses the
/// tasks](crate::hosted#choosing-the-tasks) can then let another one run at this place.
///
/// # Cost
/// A read and a write of a thread-local.
///
/// # Example
/// ```
/// async fn transfer(from: &async_lock::Mutex<u32>, to: &async_lock::Mutex<u32>) {
///     let mut from = from.lock().await;
///     joint_executor::point().await;
///     let mut to = to.lock().await;
///     *from -= 1;
///     *to += 1;
/// }
/// # let [from, to] = [7, 7].map(async_lock::Mutex::new);
/// # joint_executor::block_on(transfer(&from, &to));
/// ```
pub fn point() -> Point {
    Point(Turn::new())
}

/// The future of [`point`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Point(Turn);

impl Future for Point {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.0.poll_proceed(cx));
        budget::spend();
        Poll::Ready(())
    }
}
