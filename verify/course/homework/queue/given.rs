//! A queue with two slots, from one thread to one other. Make it right.

use loom::{
    cell::UnsafeCell,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

const SLOTS: usize = 2;

struct Queue<T> {
    slots: [UnsafeCell<Option<T>>; SLOTS],
    /// How many values were pushed. Only the pusher writes it.
    pushed: AtomicUsize,
    /// How many values were popped. Only the popper writes it.
    popped: AtomicUsize,
}

// SAFETY: the two counts say which side may use a slot.
unsafe impl<T: Send> Sync for Queue<T> {}

/// The end that pushes. There is one, and `push` takes it exclusively.
pub struct Pusher<T>(Arc<Queue<T>>);

/// The end that pops. There is one, and `pop` takes it exclusively.
pub struct Popper<T>(Arc<Queue<T>>);

/// Makes a queue, and returns its two ends.
pub fn queue<T>() -> (Pusher<T>, Popper<T>) {
    let queue = Arc::new(Queue {
        slots: [(); SLOTS].map(|()| UnsafeCell::new(None)),
        pushed: AtomicUsize::new(0),
        popped: AtomicUsize::new(0),
    });
    (Pusher(queue.clone()), Popper(queue))
}

impl<T> Pusher<T> {
    /// Puts a value behind the others, or returns it if the queue is full.
    pub fn push(&mut self, value: T) -> Result<(), T> {
        let queue = &*self.0;
        let pushed = queue.pushed.load(Ordering::SeqCst);
        if pushed - queue.popped.load(Ordering::SeqCst) == SLOTS {
            return Err(value);
        }
        queue.pushed.store(pushed + 1, Ordering::SeqCst);
        // SAFETY: the slot was popped, or never used.
        queue.slots[pushed % SLOTS].with_mut(|slot| unsafe { *slot = Some(value) });
        Ok(())
    }
}

impl<T> Popper<T> {
    /// Takes the first value.
    pub fn pop(&mut self) -> Option<T> {
        let queue = &*self.0;
        let popped = queue.popped.load(Ordering::SeqCst);
        if queue.pushed.load(Ordering::SeqCst) == popped {
            return None;
        }
        // SAFETY: the slot was pushed, and not popped.
        let value = queue.slots[popped % SLOTS].with_mut(|slot| unsafe { (*slot).take() });
        queue.popped.store(popped + 1, Ordering::SeqCst);
        value
    }
}
