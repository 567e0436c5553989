//! kanal 0.1.1. A receive that is cancelled may lose a message, as its documentation says.

use crate::{
    channel::{abandoned, channel, delivery},
    world::{Item, programs},
};

programs![delivery::<Bounded>, abandoned::<Bounded>];

channel! {
    Bounded(kanal::AsyncSender<Item>, kanal::AsyncReceiver<Item>), LOSES = true;
    new(capacity) kanal::bounded_async(capacity - 1);
    share(receiver) receiver.clone();
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await.ok();
}
