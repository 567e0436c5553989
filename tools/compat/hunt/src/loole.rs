//! loole 0.6.0.

use crate::{
    channel::{abandoned, channel, delivery, one_each},
    world::{Item, programs},
};
use loole::{Receiver, Sender, bounded};

programs![
    delivery::<Bounded>,
    abandoned::<Bounded>,
    one_each::<Bounded>
];

channel! {
    Bounded(Sender<Item>, Receiver<Item>);
    new(capacity) bounded(capacity);
    share(receiver) receiver.clone();
    send(sender, item) sender.send_async(item).await.is_ok();
    recv(receiver) receiver.recv_async().await.ok();
}
