//! flume 0.12.0, its asynchronous half.

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
    type Sender = flume::Sender<Item>;
    type Receiver = flume::Receiver<Item>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        // 0 makes a channel in which sender and receiver meet.
        flume::bounded(capacity - 1)
    }

    fn share(receiver: &Self::Receiver) -> Option<Self::Receiver> {
        Some(receiver.clone())
    }

    async fn send(sender: &mut Self::Sender, item: Item) -> bool {
        sender.send_async(item).await.is_ok()
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<Item> {
        receiver.recv_async().await.ok()
    }
}
