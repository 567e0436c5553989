//! arc-swap up to 1.8.2, repaired in 1.9.1: vorner/arc-swap#200 and #204. A value is loaded while
//! another is stored: the orderings let the writer miss the debt of the reader, and free the value.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use arc_swap::ArcSwap;

#[test]
fn a_value_is_loaded_while_another_is_stored() {
    let shared = Arc::new(ArcSwap::from_pointee(AtomicUsize::new(1)));
    let theirs = shared.clone();
    let stores = thread::spawn(move || theirs.store(Arc::new(AtomicUsize::new(2))));
    assert_ne!(shared.load().load(Relaxed), 0);
    stores.join().unwrap();
}
