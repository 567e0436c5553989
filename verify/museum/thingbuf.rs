//! thingbuf 0.1.6, the newest. A waiting sender is told that it was taken out of the queue, and its
//! place in the queue is written to after that. A sender that is polled in between ends, and frees
//! the place.

use std::thread;

use joint_check::block_on;

#[test]
fn a_waiting_sender_is_polled_while_the_receiver_leaves() {
    let (sender, receiver) = thingbuf::mpsc::channel::<u32>(1);
    sender.try_send(1).unwrap();
    let leaves = thread::spawn(move || drop(receiver));
    _ = block_on(sender.send(2));
    leaves.join().unwrap();
}
