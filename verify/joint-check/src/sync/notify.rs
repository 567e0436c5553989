//! A flag that one thread waits for.

use core::sync::atomic::{AtomicBool, Ordering};

use super::atomic::{NONE, Word};
use crate::graph::{Freely, Op, Others};

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

    /// Waits for a notification. One wait of a thread may neither take the notification nor order
    /// anything, and with [`Builder::spurious`](crate::model::Builder::spurious) waits return
    /// without any.
    ///
    /// # Panics
    /// If another thread waits.
    #[track_caller]
    pub fn wait(&self) {
        self.wait_or(Freely::Ignores);
    }

    /// Waits for a notification, or does what may happen for no reason.
    #[track_caller]
    pub(crate) fn wait_or(&self, freely: Freely) {
        let was_waited_for = self.is_waited_for.swap(true, Ordering::Relaxed);
        assert!(!was_waited_for, "only one thread may wait on a `Notify`");
        let is_notified = |value, _: [u64; 2]| (value == 1).then_some(0);
        let others = Others::Spurious(freely);
        self.word.wait_or("wait", 0, is_notified, others);
        self.is_waited_for.store(false, Ordering::Relaxed);
    }
}

joint_facade::made_by_new! { Notify }
