//! The register of tasks that wait: what a shutdown has to find, because no queue holds it.
//!
//! A task is entered the first time that a poll of it is pending, and struck off when its future is dropped. A task that is
//! ready at its first poll is never entered. The entry is a waker, and it keeps the executor's [`Shared`] alive: so a task that
//! can still be woken can always reach the queues that it is to be put into.

use alloc::{sync::Arc, vec::Vec};
use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use std::sync::PoisonError;

use crossbeam_utils::CachePadded;
use slab::Slab;

use super::{shared::Shared, worker};
use crate::sync::Mutex;

/// One shard for each worker, so that workers do not meet on one lock.
pub(super) struct Registry {
    shards: Vec<CachePadded<Mutex<Slab<Waker>>>>,
}

impl Registry {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            shards: (0..workers)
                .map(|_| CachePadded::new(Mutex::new(Slab::new())))
                .collect(),
        }
    }

    fn insert(&self, shard: usize, waker: Waker) -> usize {
        self.shards[shard]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(waker)
    }

    /// Strikes an entry off. The waker is dropped by the caller, outside of the lock.
    fn remove(&self, shard: usize, key: usize) -> Option<Waker> {
        self.shards[shard]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .try_remove(key)
    }

    /// Strikes all entries off. To be called when no task is polled any more: an entry made later could get the key of one
    /// that was taken here.
    pub(super) fn take_all(&self) -> Vec<Waker> {
        let take = |shard: &CachePadded<Mutex<Slab<Waker>>>| {
            core::mem::take(&mut *shard.lock().unwrap_or_else(PoisonError::into_inner))
        };
        self.shards
            .iter()
            .flat_map(take)
            .map(|(_key, waker)| waker)
            .collect()
    }
}

/// A task's future, which enters itself into the register of the executor that polls it.
pub(super) struct Registered<F> {
    // Dropped before the entry: what the future does then may still need the executor.
    future: F,
    entry: Option<Entry>,
}

struct Entry {
    shared: Arc<Shared>,
    shard: u32,
    key: u32,
}

impl<F> Registered<F> {
    pub(super) fn new(future: F) -> Self {
        Self {
            future,
            entry: None,
        }
    }
}

impl<F: Future> Future for Registered<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is pinned with `self` and is not moved out; `entry` is never pinned.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let poll = unsafe { Pin::new_unchecked(&mut this.future) }.poll(cx);
        if poll.is_pending() && this.entry.is_none() {
            this.entry = worker::with_current(|local| {
                local.map(|local| Entry::new(local, cx.waker().clone()))
            });
        }
        poll
    }
}

impl Entry {
    fn new(local: &worker::Local, waker: Waker) -> Self {
        let shard = local.index();
        let key = local.shared().registry.insert(shard, waker);
        let narrow = |n| u32::try_from(n).expect("an executor has fewer than 2^32 tasks");
        Self {
            shared: local.shared().clone(),
            shard: narrow(shard),
            key: narrow(key),
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        drop(
            self.shared
                .registry
                .remove(self.shard as usize, self.key as usize),
        );
    }
}
