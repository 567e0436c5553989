//! Memory that a model frees.

use std::{ptr::null_mut, sync::Arc};

use joint_check::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicPtr, Ordering::*},
    thread,
};

use crate::{Shared, count};

struct Node {
    waits: AtomicBool,
    next: AtomicPtr<Node>,
}

/// The lock of Mellor-Crummey and Scott. Each thread that holds it or waits has a node, and
/// compares its address with the last one.
struct Lock {
    last: AtomicPtr<Node>,
    value: Shared,
}

impl Lock {
    fn add(&self) {
        let node = Box::into_raw(Box::new(Node {
            waits: AtomicBool::new(true),
            next: AtomicPtr::new(null_mut()),
        }));
        // SAFETY: the thread frees its node at the end.
        let own = unsafe { &*node };
        let before = self.last.swap(node, AcqRel);
        if !before.is_null() {
            // SAFETY: its thread waits for this one.
            unsafe { &*before }.next.store(node, Release);
            while own.waits.load(Acquire) {
                spin_loop();
            }
        }
        self.value.write(self.value.read() + 1);
        let is_last = || {
            self.last
                .compare_exchange(node, null_mut(), AcqRel, Acquire)
        };
        if own.next.load(Acquire).is_null() && is_last().is_err() {
            while own.next.load(Acquire).is_null() {
                spin_loop();
            }
        }
        let next = own.next.load(Acquire);
        if !next.is_null() {
            // SAFETY: its thread waits for this one.
            unsafe { &*next }.waits.store(false, Release);
        }
        // SAFETY: the node is in no list.
        drop(unsafe { Box::from_raw(node) });
    }
}

/// If the address of a node were given to another one, a comparison would find another result when
/// the execution is run again.
#[test]
fn an_address_is_not_given_out_again_in_an_execution() {
    let found = count(|| {
        let lock = Arc::new(Lock {
            last: AtomicPtr::new(null_mut()),
            value: Shared::new(),
        });
        let theirs = lock.clone();
        let other = thread::spawn(move || (0..2).for_each(|_| theirs.add()));
        (0..2).for_each(|_| lock.add());
        other.join().unwrap();
        assert_eq!(lock.value.read(), 4);
    });
    assert!(found.complete > 100, "{found:?}");
}
