//! The register of a local executor's waiting tasks. The executor's end has to find them, and no
//! queue holds them.
//!
//! A task is entered the first time that a poll of it is pending, and struck off when its future is
//! gone. A task that is ready at its first poll is never entered. The entry is not a reference: a
//! task that can no longer be woken or joined still ends.
//!
//! Invariant: a task's future is polled and dropped by its own executor alone, which is then the
//! current executor of its thread.

use core::{
    future::Future,
    mem::ManuallyDrop,
    num::NonZeroU32,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use slab::Slab;

use super::state;
use crate::sync::UnsafeCell;

/// Wakers that are lent. The task of each is alive while its future exists, and so while its entry
/// is here.
pub(super) struct Register(UnsafeCell<Slab<ManuallyDrop<Waker>>>);

impl Register {
    pub(super) fn new() -> Self {
        Self(UnsafeCell::new(Slab::new()))
    }

    /// Each use must be over before anything else of the executor is called.
    fn with<R>(&self, f: impl FnOnce(&mut Slab<ManuallyDrop<Waker>>) -> R) -> R {
        // SAFETY: the register stays on its thread, and no two uses overlap, because `f` does not
        // lead back here.
        self.0.with_mut(|slab| f(unsafe { &mut *slab }))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.with(|slab| slab.is_empty())
    }

    /// Wakes all entered tasks, which puts them into a queue.
    pub(super) fn wake_all(&self) {
        self.with(|slab| slab.iter().for_each(|(_, waker)| waker.wake_by_ref()));
    }

    fn insert(&self, waker: ManuallyDrop<Waker>) -> Key {
        self.with(|slab| {
            let key = u32::try_from(slab.vacant_key() + 1).ok();
            // Checked before anything is entered, because an entry without its key would never be
            // struck off.
            let key = key.expect("a `LocalExecutor` cannot have 2^32 - 1 tasks or more that wait");
            slab.insert(waker);
            Key(NonZeroU32::new(key))
        })
    }

    fn remove(&self, key: NonZeroU32) {
        self.with(|slab| slab.remove(key.get() as usize - 1));
    }
}

/// A task's future, which enters itself into the register of the executor that polls it.
pub(super) struct Registered<F> {
    // Dropped before the task is struck off, so that the executor waits for it.
    future: F,
    key: Key,
}

/// The number of an entry, above 0.
struct Key(Option<NonZeroU32>);

impl<F> Registered<F> {
    pub(super) fn new(future: F) -> Self {
        Self {
            future,
            key: Key(None),
        }
    }
}

impl<F: Future> Future for Registered<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is pinned with `self` and is not moved out. `key` is never pinned.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let poll = unsafe { Pin::new_unchecked(&mut this.future) }.poll(cx);
        if poll.is_pending() && this.key.0.is_none() {
            this.key = enter(cx.waker());
        }
        poll
    }
}

#[inline(never)]
fn enter(waker: &Waker) -> Key {
    // SAFETY: the copy is lent. It is not dropped, and it is gone with the entry, before the task
    // is.
    let lent = unsafe {
        core::ptr::from_ref(waker)
            .cast::<ManuallyDrop<Waker>>()
            .read()
    };
    state::with_current(|state| state.map_or(Key(None), |state| state.register().insert(lent)))
}

impl Drop for Key {
    #[inline]
    fn drop(&mut self) {
        let Some(key) = self.0 else { return };
        state::with_current(|state| {
            if let Some(state) = state {
                state.register().remove(key);
            }
        });
    }
}
