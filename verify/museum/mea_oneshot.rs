//! mea up to 0.6.3, repaired in 0.6.4: apache/asyncband#111. A receiver that was polled is dropped
//! while its sender sends: the sender frees the channel before the receiver has left it.

use std::{
    future::{Future, IntoFuture},
    pin::pin,
    task::{Context, Waker},
    thread,
};

#[test]
fn a_receiver_is_polled_and_dropped_while_its_sender_sends() {
    let (sender, receiver) = mea::oneshot::channel();
    let sends = thread::spawn(move || _ = sender.send(7));
    {
        let mut receiver = pin!(receiver.into_future());
        _ = receiver
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
    }
    sends.join().unwrap();
}
