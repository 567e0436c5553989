//! What is demanded of the lock.

use homework::Lock;
use loom::{cell::UnsafeCell, model, sync::Arc, thread};

struct Guarded {
    lock: Lock,
    value: UnsafeCell<u32>,
}

impl Guarded {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            lock: Lock::new(),
            value: UnsafeCell::new(0),
        })
    }

    /// Only with the lock.
    fn add_one(&self) {
        // SAFETY: the model shows that nobody else uses the value.
        self.value.with_mut(|value| unsafe { *value += 1 });
    }

    fn value(&self) -> u32 {
        // SAFETY: as above.
        self.value.with(|value| unsafe { *value })
    }
}

#[test]
fn two_threads_exclude_each_other() {
    model(|| {
        let guarded = Guarded::new();
        let others = guarded.clone();
        let other = thread::spawn(move || {
            others.lock.lock();
            others.add_one();
            others.lock.unlock();
        });
        guarded.lock.lock();
        guarded.add_one();
        guarded.lock.unlock();
        other.join().unwrap();
        assert_eq!(guarded.value(), 2);
    });
}

#[test]
fn a_try_takes_the_lock_or_changes_nothing() {
    model(|| {
        let guarded = Guarded::new();
        let others = guarded.clone();
        let other = thread::spawn(move || {
            let taken = others.lock.try_lock();
            if taken {
                others.add_one();
                others.lock.unlock();
            }
            taken
        });
        guarded.lock.lock();
        guarded.add_one();
        guarded.lock.unlock();
        let both = other.join().unwrap();
        assert_eq!(guarded.value(), 1 + u32::from(both));
        assert!(guarded.lock.try_lock());
    });
}

#[test]
fn a_lock_that_is_taken_cannot_be_taken() {
    model(|| {
        let lock = Lock::new();
        assert!(lock.try_lock());
        assert!(!lock.try_lock());
        lock.unlock();
        lock.lock();
        assert!(!lock.try_lock());
    });
}
