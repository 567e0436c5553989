//! [`Yield`]: yields once.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// Wakes its own task, and is ready at the next poll. For runtimes without a `yield_now`.
#[derive(Default)]
pub struct Yield(bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
