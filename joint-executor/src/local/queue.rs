//! The runnables of one local executor that are due.

use std::collections::VecDeque;

use super::register::Runnable;
use joint_switch::UnsafeCell;

/// The runnables that are due, for one thread.
pub(super) struct Queue(UnsafeCell<VecDeque<Runnable>>);

impl Queue {
    pub(super) fn new() -> Self {
        Self(UnsafeCell::new(VecDeque::new()))
    }

    /// `f` must not call anything that leads back here.
    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut VecDeque<Runnable>) -> R) -> R {
        // SAFETY: the queue stays on its thread, and no two uses overlap.
        self.0.with_mut(|queue| f(unsafe { &mut *queue }))
    }

    #[inline]
    pub(super) fn push(&self, runnable: Runnable) {
        self.with(|queue| queue.push_back(runnable));
    }

    #[inline]
    pub(super) fn pop(&self) -> Option<Runnable> {
        self.with(VecDeque::pop_front)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.with(|queue| queue.len())
    }
}
