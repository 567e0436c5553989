//! thingbuf 0.1.6.

use crate::{
    channel::{abandoned, channel, delivery},
    world::{Item, programs},
};
use thingbuf::mpsc;

programs![delivery::<Bounded>, abandoned::<Bounded>];

channel! {
    Bounded(mpsc::Sender<Item>, mpsc::Receiver<Item>);
    new(capacity) mpsc::channel(capacity);
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await;
}
