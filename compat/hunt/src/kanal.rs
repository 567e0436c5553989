//! kanal 0.1.1. A receive that is cancelled may lose a message, as its documentation says.

use crate::{
    channel::{Channel, abandoned, delivery},
    world::{Item, Program, program},
};

pub const PROGRAMS: &[Program] = &[
    program!(delivery::<Bounded>),
    program!(abandoned::<Bounded>),
];

struct Bounded;

impl Channel for Bounded {
    type Sender = kanal::AsyncSender<Item>;
    type Receiver = kanal::AsyncReceiver<Item>;

    const LOSES: bool = true;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        kanal::bounded_async(capacity - 1)
    }

    fn share(receiver: &Self::Receiver) -> Option<Self::Receiver> {
        Some(receiver.clone())
    }

    async fn send(sender: &mut Self::Sender, item: Item) -> bool {
        sender.send(item).await.is_ok()
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<Item> {
        receiver.recv().await.ok()
    }
}
