//! [`Due`]: wakers of strangers that are due, until some worker wakes them.
//!
//! A worker takes one at a time, and leaves the others here, where every worker finds them, because
//! the one that it wakes may take any time and may wait for the others.

use alloc::collections::VecDeque;
use core::task::Waker;

use crate::guard::lock;
use joint_switch::{AtomicUsize, Mutex, order};

pub(crate) struct Due {
    wakers: Mutex<VecDeque<Waker>>,
    len: AtomicUsize,
}

impl Due {
    pub(crate) fn new() -> Self {
        Self {
            wakers: Mutex::default(),
            len: AtomicUsize::new(0),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        // ORDERING: due_look. Relaxed: a hint, or a look of the sleep protocol, which has a fence
        // before it.
        self.len.load(order!(due_look: Relaxed)) == 0
    }

    /// Takes over a waker. The caller must announce it as it does a task, unless it takes it out
    /// again.
    pub(crate) fn push(&self, new: Waker) {
        let mut wakers = lock(&self.wakers);
        wakers.push_back(new);
        // ORDERING: due. Relaxed: the lock publishes the wakers.
        self.len.store(wakers.len(), order!(due: Relaxed));
    }

    pub(crate) fn pop(&self) -> Option<Waker> {
        if self.is_empty() {
            return None;
        }
        let mut wakers = lock(&self.wakers);
        let first = wakers.pop_front()?;
        // ORDERING: due_left. Relaxed: as for `due`.
        self.len.store(wakers.len(), order!(due_left: Relaxed));
        Some(first)
    }
}
