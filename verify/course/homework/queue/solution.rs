//! A queue with two slots, from one thread to one other.

use loom::{
    cell::UnsafeCell,
    sync::atomic::{AtomicUsize, Ordering},
};

const SLOTS: usize = 2;

pub struct Queue<T> {
    slots: [UnsafeCell<Option<T>>; SLOTS],
    /// How many values were pushed. Only the pusher writes it.
    pushed: AtomicUsize,
    /// How many values were popped. Only the popper writes it.
    popped: AtomicUsize,
}

// SAFETY: the two counts say which side may use a slot.
unsafe impl<T: Send> Sync for Queue<T> {}

impl<T> Queue<T> {
    pub fn new() -> Self {
        Self {
            slots: [(); SLOTS].map(|()| UnsafeCell::new(None)),
            pushed: AtomicUsize::new(0),
            popped: AtomicUsize::new(0),
        }
    }

    /// Puts a value behind the others, or returns it if the queue is full. Called by one thread.
    pub fn push(&self, value: T) -> Result<(), T> {
        let pushed = self.pushed.load(Ordering::Relaxed);
        if pushed - self.popped.load(Ordering::Acquire) == SLOTS {
            return Err(value);
        }
        // SAFETY: the slot was popped, or never used.
        self.slots[pushed % SLOTS].with_mut(|slot| unsafe { *slot = Some(value) });
        self.pushed.store(pushed + 1, Ordering::Release);
        Ok(())
    }

    /// Takes the first value. Called by one thread.
    pub fn pop(&self) -> Option<T> {
        let popped = self.popped.load(Ordering::Relaxed);
        if self.pushed.load(Ordering::Acquire) == popped {
            return None;
        }
        // SAFETY: the slot was pushed, and not popped.
        let value = self.slots[popped % SLOTS].with_mut(|slot| unsafe { (*slot).take() });
        self.popped.store(popped + 1, Ordering::Release);
        value
    }
}
