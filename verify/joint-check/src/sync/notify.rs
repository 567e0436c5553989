//! A flag that one thread waits for.

use core::sync::atomic::{AtomicBool, Ordering};

use super::atomic::{NONE, Word};
use crate::graph::{Op, Others};

/// A notification for one waiter, which is kept until somebody waits for it.
#[derive(Debug)]
pub struct Notify {
    word: Word,
    is_waited_for: AtomicBool,
}

impl Notify {
    /// Creates one without a notification.
    #[track_caller]
    pub fn new() -> Self {
        Self {
            word: Word::new("Notify", 0),
            is_waited_for: AtomicBool::new(false),
        }
    }

    /// Makes the current or next `wait` return.
    #[track_caller]
    pub fn notify(&self) {
        self.word
            .access("notify", Op::swap(1), Ordering::Release, NONE);
    }

    /// Waits for a notification. As on loom, one wait of a thread may return without any (see
    /// [`Builder::spurious`](crate::model::Builder::spurious)).
    ///
    /// # Panics
    /// If another thread waits.
    #[track_caller]
    pub fn wait(&self) {
        let was_waited_for = self.is_waited_for.swap(true, Ordering::Relaxed);
        assert!(!was_waited_for, "only one thread may wait on a `Notify`");
        let is_notified = |value, _: [u64; 2]| (value == 1).then_some(0);
        let may_spur = Others::Spurious { as_loom: true };
        self.word.wait_or("wait", 0, is_notified, may_spur);
        self.is_waited_for.store(false, Ordering::Relaxed);
    }
}

default! { Notify () }
