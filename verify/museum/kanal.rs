//! kanal 0.1.0-pre3: fereidani/kanal#14 and #15. The future of a receiver gets another waker while
//! a sender sends: both use the waker's place, and the sender may wake the old one alone.

use std::{
    future::Future,
    pin::pin,
    task::{Context, Waker},
    thread,
};

use joint_check::block_on;

#[test]
fn a_receiver_gets_another_waker_while_a_value_is_sent() {
    let (sender, receiver) = kanal::bounded_async(0);
    let sends = thread::spawn(move || block_on(sender.send(7)).is_ok());
    let mut receives = pin!(receiver.recv());
    let first = receives
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    if first.is_pending() {
        assert_eq!(block_on(receives).ok(), Some(7));
    }
    sends.join().unwrap();
}
