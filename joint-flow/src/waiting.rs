//! [`poll_locked`]: how one task waits for a state under a lock.

use std::task::{Context, Poll, Waker};

use joint_switch::MutexGuard;

/// Returns the state once it is ready. Until then, the waker of the task is in the `slot`.
///
/// Wakers are code of strangers, so they are cloned and dropped outside of the lock, and before the
/// caller takes anything out of the state.
#[inline]
pub(crate) fn poll_locked<'a, S>(
    cx: &Context<'_>,
    lock: impl Fn() -> MutexGuard<'a, S>,
    is_ready: impl Fn(&S) -> bool,
    slot: impl Fn(&mut S) -> &mut Option<Waker>,
) -> Poll<MutexGuard<'a, S>> {
    let mut waker = None;
    loop {
        let mut state = lock();
        let is_ready = is_ready(&state);
        if is_ready && waker.is_none() {
            return Poll::Ready(state);
        }
        if !is_ready {
            let slot = slot(&mut state);
            if slot.as_ref().is_some_and(|old| old.will_wake(cx.waker())) {
                return Poll::Pending;
            }
            if waker.is_some() {
                let old = std::mem::replace(slot, waker);
                drop(state);
                drop(old);
                return Poll::Pending;
            }
        }
        drop(state);
        // The next look may find another state.
        waker = (!is_ready).then(|| cx.waker().clone());
    }
}
