//! async-broadcast 0.7.2, with overflow and without.

use crate::{
    broadcast::{Got, broadcast as adapter, same_for_all},
    world::programs,
};
use async_broadcast::{Receiver, RecvError, Sender, broadcast};

programs![same_for_all::<Waits>, same_for_all::<Overflows>];

adapter! {
    Waits(Sender<u64>, Receiver<u64>);
    new(capacity) broadcast(capacity);
    subscribe(sender, _) sender.new_receiver();
    send(sender, message) sender.broadcast_direct(message).await.is_ok();
    recv(receiver) got(receiver.recv_direct().await);
}

adapter! {
    Overflows(Sender<u64>, Receiver<u64>);
    new(capacity) {
        let (mut sender, receiver) = broadcast(capacity);
        sender.set_overflow(true);
        (sender, receiver)
    };
    subscribe(sender, _) sender.new_receiver();
    send(sender, message) sender.broadcast_direct(message).await.is_ok();
    recv(receiver) got(receiver.recv_direct().await);
}

fn got(received: Result<u64, RecvError>) -> Got {
    match received {
        Ok(message) => Got::Message(message),
        Err(RecvError::Overflowed(count)) => Got::Missed(count),
        Err(RecvError::Closed) => Got::Closed,
    }
}
