//! async-oneshot 0.5.9, the newest. A sender that waits for its receiver looks whether that has
//! stored a waker, stores its own, and does not look again: neither is woken. And a receiver that
//! is polled twice overwrites the waker that the sender reads (irrustible/async-oneshot#20).

use std::{
    future::Future,
    pin::pin,
    task::{Context, Waker},
    thread,
};

use async_oneshot::oneshot;
use joint_check::block_on;

#[test]
fn a_sender_waits_for_its_receiver() {
    let (sender, receiver) = oneshot();
    let receives = thread::spawn(move || block_on(receiver));
    let mut sender = block_on(sender.wait()).unwrap();
    sender.send(7).unwrap();
    assert_eq!(receives.join().unwrap(), Ok(7));
}

#[test]
fn a_receiver_is_polled_twice_while_its_sender_sends() {
    let (mut sender, receiver) = oneshot();
    let sends = thread::spawn(move || sender.send(7));
    {
        let mut receiver = pin!(receiver);
        let mut context = Context::from_waker(Waker::noop());
        _ = receiver.as_mut().poll(&mut context);
        _ = receiver.as_mut().poll(&mut context);
    }
    _ = sends.join().unwrap();
}
