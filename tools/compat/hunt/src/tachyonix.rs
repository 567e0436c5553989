//! tachyonix 0.3.1.

use crate::{
    channel::{abandoned, channel as adapter, delivery},
    world::{Item, programs},
};
use tachyonix::{Receiver, Sender, channel};

programs![delivery::<Bounded>, abandoned::<Bounded>];

adapter! {
    Bounded(Sender<Item>, Receiver<Item>);
    new(capacity) channel(capacity);
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await.ok();
}
