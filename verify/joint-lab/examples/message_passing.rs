//! Message passing with a flag that is only relaxed: the model fails, and joint-lab says which
//! halves are missing.
//!
//! Run it in this folder: `cargo run --example message_passing`.

fn main() {
    let failure = joint_lab::explain(|| joint_lab::model(race::model))
        .expect_err("a relaxed flag publishes nothing");
    print!("{}", failure.text());
}

mod race {
    use std::sync::Arc;

    use joint_lab::{
        cell::UnsafeCell,
        name_thread,
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    struct Channel {
        message: UnsafeCell<u32>,
        flag: AtomicUsize,
    }

    // SAFETY: the flag should say which thread may use the message. The model shows that it does
    // not.
    unsafe impl Send for Channel {}
    // SAFETY: as for `Send`.
    unsafe impl Sync for Channel {}

    pub(crate) fn model() {
        name_thread("receiver");
        let channel = Arc::new(Channel {
            message: UnsafeCell::new(0).named("message"),
            flag: AtomicUsize::new(0).named("flag"),
        });
        let senders = channel.clone();
        thread::spawn(move || {
            name_thread("sender");
            // SAFETY: the flag is not raised yet.
            senders.message.with_mut(|message| unsafe { *message = 7 });
            senders.flag.store(1, Ordering::Relaxed);
        });
        if channel.flag.load(Ordering::Relaxed) == 1 {
            // SAFETY: the flag is raised.
            let message = channel.message.with(|message| unsafe { *message });
            assert_eq!(message, 7);
        }
    }
}
