//! spin 0.9.3 to 0.9.7, repaired in 0.9.8: RUSTSEC-2023-0031. An initialization of a `Once` fails
//! while another thread waits for it: that thread panics, or in a release build does anything.

use std::{sync::Arc, thread};

#[test]
fn an_initialization_fails_while_another_waits() {
    let once = Arc::new(spin::Once::<u8>::new());
    let theirs = once.clone();
    let fails = thread::spawn(move || _ = theirs.try_call_once(|| Err(())));
    assert_eq!(*once.call_once(|| 7), 7);
    fails.join().unwrap();
}
