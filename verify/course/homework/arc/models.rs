//! What is demanded of the counted reference.

use std::sync::{
    Arc as Std,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use homework::Arc;
use loom::{cell::UnsafeCell, model, thread};

/// A value whose uses the model watches, and whose drop is counted.
struct Value(UnsafeCell<()>, Std<AtomicUsize>);

// SAFETY: the model shows that the handles order the uses.
unsafe impl Sync for Value {}

impl Value {
    fn new() -> (Arc<Self>, Std<AtomicUsize>) {
        let drops = Std::new(AtomicUsize::new(0));
        (Arc::new(Self(UnsafeCell::new(()), drops.clone())), drops)
    }

    fn read(&self) {
        self.0.with(|_| ());
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.0.with_mut(|_| ());
        self.1.fetch_add(1, Relaxed);
    }
}

#[test]
fn the_value_is_dropped_once_and_after_each_use() {
    model(|| {
        let (mine, drops) = Value::new();
        let other = mine.clone();
        let other = thread::spawn(move || {
            other.read();
            drop(other);
        });
        mine.read();
        drop(mine);
        other.join().unwrap();
        assert_eq!(drops.load(Relaxed), 1);
    });
}

#[test]
fn two_threads_make_handles_at_once() {
    model(|| {
        let (mine, drops) = Value::new();
        let other = mine.clone();
        let other = thread::spawn(move || drop((other.clone(), other)));
        drop(mine.clone());
        assert_eq!(drops.load(Relaxed), 0);
        other.join().unwrap();
        mine.read();
        assert_eq!(drops.load(Relaxed), 0);
        drop(mine);
        assert_eq!(drops.load(Relaxed), 1);
    });
}

#[test]
fn the_only_handle_comes_after_each_use_by_the_others() {
    model(|| {
        let (mut mine, _drops) = Value::new();
        let other = mine.clone();
        thread::spawn(move || {
            other.read();
            drop(other);
        });
        if let Some(value) = Arc::get_mut(&mut mine) {
            value.0.with_mut(|_| ());
        }
    });
}

#[test]
fn a_value_that_is_shared_cannot_be_written() {
    model(|| {
        let (mut mine, _drops) = Value::new();
        let other = mine.clone();
        assert!(Arc::get_mut(&mut mine).is_none());
        drop(other);
        assert!(Arc::get_mut(&mut mine).is_some());
    });
}
