//! The store-load handshake of a sleeper and its waker, without the fences that it needs: each can
//! miss the other.
//!
//! Run it in this folder: `cargo run --example store_load`.

fn main() {
    let failure = joint_lab::explain(|| joint_lab::model(handshake::model))
        .expect_err("release and acquire do not make a handshake");
    print!("{}", failure.text());
}

mod handshake {
    use std::sync::Arc;

    use joint_lab::{
        name_thread,
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    pub(crate) fn model() {
        name_thread("sleeper");
        let sleeping = Arc::new(AtomicBool::new(false).named("sleeping"));
        let work = Arc::new(AtomicBool::new(false).named("work"));

        let (seen, made) = (sleeping.clone(), work.clone());
        let waker = thread::spawn(move || {
            name_thread("waker");
            made.store(true, Ordering::Release);
            seen.load(Ordering::Acquire)
        });

        sleeping.store(true, Ordering::Release);
        let found = work.load(Ordering::Acquire);
        let woken = waker.join().expect("a panic ends the model before");
        assert!(found || woken, "the sleeper sleeps, and there is work");
    }
}
