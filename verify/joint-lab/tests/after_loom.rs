//! A program that runs a model with loom alone first. It has one test, because the order in which
//! the two install their panic hooks counts.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use joint_lab::{Builder, check_bare, explain_with, model, sync::atomic, thread};

#[test]
fn the_end_of_a_models_threads_is_no_failure() {
    let two_threads = || {
        let other = thread::spawn(|| atomic::AtomicBool::new(false).load(Relaxed));
        other.join().expect("no panic");
    };
    check_bare(&Builder::new(), two_threads);
    let told = Arc::new(AtomicUsize::new(0));
    let counted = told.clone();
    let tell = move |_: &_| {
        counted.fetch_add(1, Relaxed);
    };
    assert!(explain_with(tell, || model(two_threads)).is_ok());
    assert_eq!(told.load(Relaxed), 0);
}
