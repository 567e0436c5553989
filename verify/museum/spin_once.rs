//! spin 0.9.0 to 0.9.2, repaired in 0.9.3: zesterer/spin-rs#117. Two threads initialize a `Once`,
//! and both run the function.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

#[test]
fn two_threads_initialize() {
    let once = Arc::new((spin::Once::<()>::new(), AtomicUsize::new(0)));
    let theirs = once.clone();
    let other =
        thread::spawn(move || _ = theirs.0.call_once(|| _ = theirs.1.fetch_add(1, Relaxed)));
    once.0.call_once(|| _ = once.1.fetch_add(1, Relaxed));
    other.join().unwrap();
    assert_eq!(once.1.load(Relaxed), 1);
}
