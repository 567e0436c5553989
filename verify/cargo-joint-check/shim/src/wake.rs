//! [`std::task::Wake`] for the `Arc` of a model.

use core::{
    mem::ManuallyDrop,
    task::{RawWaker, RawWakerVTable, Waker},
};

use crate::arc::Arc;

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
