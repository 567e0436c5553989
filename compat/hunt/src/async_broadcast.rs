//! async-broadcast 0.7.2.

use crate::{
    broadcast::{Broadcast, Got, same_for_all},
    world::{Program, program},
};
use async_broadcast::{Receiver, RecvError, Sender, broadcast};

pub const PROGRAMS: &[Program] = &[
    program!(same_for_all::<Of<false>>),
    program!(same_for_all::<Of<true>>),
];

/// With overflow or without.
struct Of<const OVERFLOW: bool>;

impl<const OVERFLOW: bool> Broadcast for Of<OVERFLOW> {
    type Sender = Sender<u64>;
    type Receiver = Receiver<u64>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        let (mut sender, receiver) = broadcast(capacity);
        sender.set_overflow(OVERFLOW);
        (sender, receiver)
    }

    fn subscribe(sender: &Self::Sender, _: &Self::Receiver) -> Self::Receiver {
        sender.new_receiver()
    }

    async fn send(sender: &mut Self::Sender, message: u64) -> bool {
        sender.broadcast_direct(message).await.is_ok()
    }

    async fn recv(receiver: &mut Self::Receiver) -> Got {
        match receiver.recv_direct().await {
            Ok(message) => Got::Message(message),
            Err(RecvError::Overflowed(count)) => Got::Missed(count),
            Err(RecvError::Closed) => Got::Closed,
        }
    }
}
