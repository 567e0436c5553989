//! thingbuf 0.1.6.

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
    type Sender = thingbuf::mpsc::Sender<Item>;
    type Receiver = thingbuf::mpsc::Receiver<Item>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        thingbuf::mpsc::channel(capacity)
    }

    async fn send(sender: &mut Self::Sender, item: Item) -> bool {
        sender.send(item).await.is_ok()
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<Item> {
        receiver.recv().await
    }
}
