//! A flag that one thread waits for.

use core::sync::atomic::{AtomicBool, Ordering};

use super::atomic::{NONE, Word};
use crate::graph::Op;

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

    /// Waits for a notification.
    ///
    /// # Panics
    /// If another thread waits.
    #[track_caller]
    pub fn wait(&self) {
        let was_waited_for = self.is_waited_for.swap(true, Ordering::Relaxed);
        assert!(!was_waited_for, "only one thread may wait on a `Notify`");
        self.word
            .wait("wait", 0, |value, _| (value == 1).then_some(0));
        self.is_waited_for.store(false, Ordering::Relaxed);
    }
}

default! { Notify () }
