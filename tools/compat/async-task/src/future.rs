//! Wrappers around a task's future: they decide where the output of a cancelled task goes, and
//! which thread may touch a local future.

use core::{
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    task::{Context, Poll},
};

/// A future whose output is `None` if the task is found cancelled in the poll that ends it.
///
/// The output is dropped immediately, after the future and before the task's awaiter is woken.
pub(crate) struct Cancellable<'a, F> {
    /// `None` after the future was dropped ahead of an output that nothing awaits.
    future: Option<F>,
    cancelled: &'a AtomicBool,
}

impl<'a, F> Cancellable<'a, F> {
    pub(crate) fn new(future: F, cancelled: &'a AtomicBool) -> Self {
        Self {
            future: Some(future),
            cancelled,
        }
    }
}

impl<F: Future> Future for Cancellable<'_, F> {
    type Output = Option<F::Output>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let cancelled = self.cancelled;
        // SAFETY: the future is pinned with `self`, and nothing moves it out.
        let mut future = unsafe { self.map_unchecked_mut(|this| &mut this.future) };
        let Some(running) = future.as_mut().as_pin_mut() else {
            panic!("a future was polled again after it was ready");
        };
        running.poll(cx).map(|output| {
            if cancelled.load(Relaxed) {
                future.set(None);
                return None;
            }
            Some(output)
        })
    }
}

#[cfg(feature = "std")]
pub(crate) use local::Local;

#[cfg(feature = "std")]
mod local {
    use core::mem::ManuallyDrop;
    use std::thread::{self, ThreadId};

    use super::{Context, Pin, Poll};

    /// A future that panics if a thread other than its maker's polls or drops it.
    ///
    /// If it was never polled, it is then leaked. If it was polled, it is pinned, and the memory
    /// that is about to be freed cannot keep it, so the program is aborted.
    pub(crate) struct Local<F> {
        future: ManuallyDrop<F>,
        thread: ThreadId,
        polled: bool,
    }

    fn this_thread() -> ThreadId {
        std::thread_local! {
            static ID: ThreadId = thread::current().id();
        }
        // If the thread-locals are gone, the thread still knows its id.
        ID.try_with(|id| *id)
            .unwrap_or_else(|_| thread::current().id())
    }

    impl<F> Local<F> {
        pub(crate) fn new(future: F) -> Self {
            Self {
                future: ManuallyDrop::new(future),
                thread: this_thread(),
                polled: false,
            }
        }

        fn check(&self, what: &str) {
            assert!(
                self.thread == this_thread(),
                "local task {what} by a thread that didn't spawn it"
            );
        }
    }

    impl<F: Future> Future for Local<F> {
        type Output = F::Output;

        fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
            self.check("polled");
            // SAFETY: the future is pinned with `self`, and nothing moves it out.
            let this = unsafe { self.get_unchecked_mut() };
            this.polled = true;
            // SAFETY: as above.
            unsafe { Pin::new_unchecked(&mut *this.future) }.poll(cx)
        }
    }

    /// A panic that passes this is a second one, and aborts the program.
    struct End;

    impl Drop for End {
        fn drop(&mut self) {
            panic!(
                "a local future that has been polled must be dropped by the thread that polled it"
            );
        }
    }

    impl<F> Drop for Local<F> {
        fn drop(&mut self) {
            let end = self.polled.then(|| End);
            self.check("dropped");
            core::mem::forget(end);
            // SAFETY: dropped here, once.
            unsafe { ManuallyDrop::drop(&mut self.future) };
        }
    }
}
