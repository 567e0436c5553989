//! spin up to 0.5.1, repaired in 0.5.2: RUSTSEC-2019-0013. A write guard of an `RwLock` unlocks it
//! with a relaxed operation, so the next holder may not see what was written.

use std::{sync::Arc, thread};

#[test]
fn two_threads_write() {
    let lock = Arc::new(spin::RwLock::new(0));
    let theirs = lock.clone();
    let other = thread::spawn(move || *theirs.write() += 1);
    *lock.write() += 1;
    other.join().unwrap();
    assert_eq!(*lock.read(), 2);
}
