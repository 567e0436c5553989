//! The queue, which is in the tasks themselves: each has a link for that.

use core::{
    ptr::{self, NonNull},
    sync::atomic::{
        AtomicPtr,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use joint::task::Runnable;

/// The tasks that are due, the newest first.
pub(crate) static DUE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Called by wakers, and so also in interrupts.
pub(crate) fn schedule(runnable: Runnable) {
    let raw = runnable.into_raw();
    let mut top = DUE.load(Relaxed);
    loop {
        // SAFETY: it is not in the queue yet.
        unsafe { Runnable::<()>::raw_link(raw) }.set(top, Relaxed);
        match DUE.compare_exchange(top, raw.as_ptr(), Release, Relaxed) {
            Ok(_) => return,
            Err(now) => top = now,
        }
    }
}

/// Runs the tasks that are due, and returns whether there were any.
pub(crate) fn run() -> bool {
    let mut next = NonNull::new(DUE.swap(ptr::null_mut(), Acquire));
    let any = next.is_some();
    while let Some(raw) = next {
        // SAFETY: `schedule` put it into the queue, from which only this takes it.
        let runnable: Runnable = unsafe { Runnable::from_raw(raw) };
        next = NonNull::new(runnable.link().get(Relaxed));
        runnable.run();
    }
    any
}
