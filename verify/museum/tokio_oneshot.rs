//! tokio 0.1.14 to 1.13.0, repaired in 1.13.1: RUSTSEC-2021-0124. A receiver is closed while a
//! value is sent, and then tries to receive: both use the place of the value.

use std::thread;

use tokio::sync::oneshot;

#[test]
fn a_receiver_is_closed_during_a_send() {
    let (sender, mut receiver) = oneshot::channel();
    let sends = thread::spawn(move || sender.send(7).is_ok());
    receiver.close();
    _ = receiver.try_recv();
    sends.join().unwrap();
}
