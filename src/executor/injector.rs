//! The tasks that come from outside of the workers: pushed one by one, taken in batches, oldest first.
//!
//! Two parts, both linked through the tasks themselves: the [`Inbox`], and the backlog, which is what a worker took out of it and
//! has not taken home yet. The backlog has a lock, which only workers try, and nobody waits for.

use std::sync::TryLockError;

use super::inbox::{Chain, Inbox};
use crate::{
    sync::{AtomicUsize, Mutex, order},
    task::Runnable,
};

pub(crate) struct Injector<M> {
    inbox: Inbox<M>,
    backlog: Mutex<Chain<M>>,
    /// Whether the backlog holds anything, or is about to.
    has_backlog: AtomicUsize,
}

impl<M> Injector<M> {
    pub(crate) fn new() -> Self {
        Self {
            inbox: Inbox::new(),
            backlog: Mutex::new(Chain::new()),
            has_backlog: AtomicUsize::new(0),
        }
    }

    pub(crate) fn push(&self, runnable: Runnable<M>) {
        self.inbox.push(runnable);
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // ORDERING: backlog_look. Relaxed: whoever must not miss a push has a fence before this look. What is on its way from one
        // part to the other is in the taker's hands, and the taker's to tell of.
        self.inbox.is_empty() && self.has_backlog.load(order!(backlog_look: Relaxed)) == 0
    }

    /// Takes up to `most`, and gives each to `take`. Nothing, when another worker is taking. Once they are where they can be seen
    /// again, the caller tells the others of them and of what is left.
    pub(crate) fn take(&self, most: usize, take: impl FnMut(Runnable<M>)) {
        if self.is_empty() {
            return;
        }
        let mut backlog = match self.backlog.try_lock() {
            Ok(backlog) => backlog,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if backlog.is_empty() {
            // ORDERING: backlog_begins. Relaxed: see `is_empty`.
            self.has_backlog.store(1, order!(backlog_begins: Relaxed));
            *backlog = self.inbox.take_all();
        }
        backlog.by_ref().take(most).for_each(take);
        if backlog.is_empty() {
            // ORDERING: backlog_ends. Relaxed: see `is_empty`.
            self.has_backlog.store(0, order!(backlog_ends: Relaxed));
        }
    }
}
