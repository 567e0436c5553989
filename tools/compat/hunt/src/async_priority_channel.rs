//! async-priority-channel 0.2.0.

use crate::{
    channel::{abandoned, channel, delivery, one_each},
    world::{Item, programs},
};
use async_priority_channel::{Receiver, Sender, bounded};

programs![
    delivery::<Bounded>,
    abandoned::<Bounded>,
    one_each::<Bounded>
];

channel! {
    Bounded(Sender<Item, u64>, Receiver<Item, u64>), IN_ORDER = false;
    new(capacity) bounded(capacity as u64);
    share(receiver) receiver.clone();
    send(sender, item) {
        let priority = item.number;
        sender.send(item, priority).await.is_ok()
    };
    recv(receiver) Some(receiver.recv().await.ok()?.0);
}
