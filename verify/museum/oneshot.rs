//! oneshot up to 0.1.11, repaired in 0.1.12: RUSTSEC-2026-0005. A receiver that was polled is
//! dropped while its sender is: the sender uses a waker, or a channel, that the receiver has freed.

use std::{
    future::Future,
    pin::pin,
    task::{Context, Waker},
    thread,
};

#[test]
fn a_receiver_is_polled_and_dropped_while_its_sender_is_dropped() {
    let (sender, receiver) = oneshot::channel::<u8>();
    let drops = thread::spawn(move || drop(sender));
    {
        let mut receiver = pin!(receiver);
        _ = receiver
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
    }
    drops.join().unwrap();
}
