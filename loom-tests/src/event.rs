//! [`Event`]: what a task of a model waits for.

#[cfg(not(joint_check))]
use std::sync::Mutex;
use std::{
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

// joint-check has to see what one thread learns from another.
#[cfg(joint_check)]
use loom::sync::Mutex;

/// Something that one task at a time waits for. It is no atomic of joint's, and so not counted.
#[derive(Clone, Debug, Default)]
pub struct Event(Arc<Mutex<(bool, Option<Waker>)>>);

impl Event {
    /// Wakes the task that waits, if there is one, or lets the next wait return at once.
    ///
    /// # Panics
    /// If a thread has panicked while it held the event.
    pub fn happen(&self) {
        let mut state = self.0.lock().expect("no panics");
        state.0 = true;
        let waiter = state.1.take();
        drop(state);
        waiter.into_iter().for_each(Waker::wake);
    }
}

impl Future for Event {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().expect("no panics");
        if mem::take(&mut state.0) {
            return Poll::Ready(());
        }
        state.1 = Some(cx.waker().clone());
        Poll::Pending
    }
}
