//! barrage 0.2.3.

use crate::{
    broadcast::{Got, broadcast, same_for_all},
    world::programs,
};
use barrage::{Receiver, Sender, bounded};

programs![same_for_all::<Bounded>];

broadcast! {
    Bounded(Sender<u64>, Receiver<u64>);
    new(capacity) bounded(capacity);
    subscribe(_, receiver) receiver.clone();
    send(sender, message) sender.send_async(message).await.is_ok();
    recv(receiver) receiver.recv_async().await.map_or(Got::Closed, Got::Message);
}
