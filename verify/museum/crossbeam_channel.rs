//! crossbeam-channel 0.5.12 to 0.5.14, repaired in 0.5.15: RUSTSEC-2025-0024. The receiver of an
//! unbounded channel is dropped while two senders send its first messages: the first block is freed
//! by the receiver and again by the channel.
//!
//! 0.5.1 to 0.5.7 fail as well, by crossbeam-rs/crossbeam#971, repaired in 0.5.8: the receiver
//! dereferences the null pointer that is there before the first block.

use std::thread;

#[test]
fn a_receiver_is_dropped_during_the_first_sends() {
    let (sender, receiver) = crossbeam_channel::unbounded();
    let another = sender.clone();
    let sends = thread::spawn(move || _ = sender.send(7));
    let sends_too = thread::spawn(move || _ = another.send(8));
    drop(receiver);
    sends.join().unwrap();
    sends_too.join().unwrap();
}
