//! async-priority-channel 0.2.0.

use crate::{
    channel::{Channel, abandoned, delivery, one_each},
    world::{Item, Program, program},
};

pub const PROGRAMS: &[Program] = &[
    program!(delivery::<Bounded>),
    program!(abandoned::<Bounded>),
    program!(one_each::<Bounded>),
];

struct Bounded;

impl Channel for Bounded {
    type Sender = async_priority_channel::Sender<Item, u64>;
    type Receiver = async_priority_channel::Receiver<Item, u64>;

    const IN_ORDER: bool = false;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        async_priority_channel::bounded(capacity as u64)
    }

    fn share(receiver: &Self::Receiver) -> Option<Self::Receiver> {
        Some(receiver.clone())
    }

    async fn send(sender: &mut Self::Sender, item: Item) -> bool {
        let priority = item.number;
        sender.send(item, priority).await.is_ok()
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<Item> {
        Some(receiver.recv().await.ok()?.0)
    }
}
