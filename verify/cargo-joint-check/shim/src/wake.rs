//! [`std::task::Wake`] for the `Arc` of a model, and the wait for a future.

use core::{
    future::Future,
    mem::ManuallyDrop,
    pin::pin,
    task::{Context, Poll, RawWaker, RawWakerVTable, Waker},
};
use real::{sync::Arc as StdArc, task::Wake as StdWake};

use joint_check::sync::Notify;

use crate::{arc::Arc, memory::checker};

pub trait Wake {
    fn wake(self: Arc<Self>);

    #[track_caller]
    fn wake_by_ref(self: &Arc<Self>) {
        self.clone().wake();
    }
}

impl<W: Wake + Send + Sync + 'static> From<Arc<W>> for Waker {
    fn from(waker: Arc<W>) -> Self {
        // SAFETY: the functions of the table are for such a pointer.
        unsafe { Self::from_raw(raw(waker)) }
    }
}

fn raw<W: Wake + Send + Sync + 'static>(waker: Arc<W>) -> RawWaker {
    let pointer = Arc::into_raw(waker).cast();
    RawWaker::new(
        pointer,
        &const { RawWakerVTable::new(clone::<W>, wake::<W>, wake_by_ref::<W>, drop_it::<W>) },
    )
}

/// # Safety
/// The pointer is that of a handle.
unsafe fn clone<W: Wake + Send + Sync + 'static>(waker: *const ()) -> RawWaker {
    // SAFETY: as the caller says.
    let waker = ManuallyDrop::new(unsafe { Arc::from_raw(waker.cast::<W>()) });
    raw(Arc::clone(&waker))
}

/// # Safety
/// The pointer is that of a handle.
unsafe fn wake<W: Wake + Send + Sync + 'static>(waker: *const ()) {
    // SAFETY: as the caller says.
    W::wake(unsafe { Arc::from_raw(waker.cast::<W>()) });
}

/// # Safety
/// The pointer is that of a handle.
unsafe fn wake_by_ref<W: Wake + Send + Sync + 'static>(waker: *const ()) {
    // SAFETY: as the caller says.
    let waker = ManuallyDrop::new(unsafe { Arc::from_raw(waker.cast::<W>()) });
    W::wake_by_ref(&waker);
}

/// # Safety
/// The pointer is that of a handle.
unsafe fn drop_it<W: Wake + Send + Sync + 'static>(waker: *const ()) {
    // SAFETY: as the caller says.
    drop(unsafe { Arc::from_raw(waker.cast::<W>()) });
}

struct Notification(Notify);

impl StdWake for Notification {
    #[track_caller]
    fn wake(self: StdArc<Self>) {
        self.wake_by_ref();
    }

    #[track_caller]
    fn wake_by_ref(self: &StdArc<Self>) {
        let _side = checker();
        self.0.notify();
    }
}

/// Polls a future until it is ready. The thread is blocked until its waker is woken.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let notification = {
        let _side = checker();
        StdArc::new(Notification(Notify::new()))
    };
    let waker = Waker::from(notification.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        let _side = checker();
        notification.0.wait();
    }
}
