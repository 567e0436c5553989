//! Polls a future in a model.

use core::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};
use std::{sync::Arc, task::Wake};

use crate::{
    graph::Freely,
    sync::{Mutex, Notify},
};

struct Notification(Notify);

impl Wake for Notification {
    #[track_caller]
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }

    #[track_caller]
    fn wake_by_ref(self: &Arc<Self>) {
        self.0.notify();
    }
}

/// Polls a future until it is ready. The thread is blocked until its waker is woken, and once for
/// each call it may poll without that, as on loom. See
/// [`Builder::spurious`](crate::model::Builder::spurious).
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    poll(future, Freely::Ends)
}

/// Does the same without the poll for no reason, for the package that stands for std.
#[doc(hidden)]
#[track_caller]
pub fn block_until_woken<F: Future>(future: F) -> F::Output {
    poll(future, Freely::Ignores)
}

#[track_caller]
fn poll<F: Future>(future: F, freely: Freely) -> F::Output {
    let mut future = pin!(future);
    let notification = Arc::new(Notification(Notify::new()));
    let waker = Waker::from(notification.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        notification.0.wait_or(freely);
    }
}

/// Holds the waker of one task, behind a lock.
#[derive(Debug, Default)]
pub struct AtomicWaker(Mutex<Option<Waker>>);

impl AtomicWaker {
    /// Creates one without a waker.
    #[track_caller]
    pub fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Stores a waker. If another thread is taking one out, wakes the new one instead.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        if let Ok(mut place) = self.0.try_lock() {
            *place = Some(waker);
        } else {
            waker.wake();
            crate::thread::yield_now();
        }
    }

    /// Does the same with a clone of the waker.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker.clone());
    }

    /// Wakes the waker, if there is one.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Takes the waker out.
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        self.0.lock().expect("it is never poisoned").take()
    }
}
