//! oneshot 0.1.11 to 0.2.1: faern/oneshot#87. A receiver that was polled is dropped while its
//! sender sends: the sender reads a waker that the receiver has freed.

use std::{
    future::{Future, IntoFuture},
    pin::pin,
    task::{Context, Waker},
    thread,
};

#[test]
fn a_receiver_is_polled_and_dropped_while_its_sender_sends() {
    let (sender, receiver) = oneshot::async_channel();
    let sends = thread::spawn(move || _ = sender.send(7));
    {
        let mut receiver = pin!(receiver.into_future());
        _ = receiver
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
    }
    sends.join().unwrap();
}
