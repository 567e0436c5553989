//! crossfire 3.1.22.

use crate::{
    channel::{Channel, abandoned, delivery, one_each},
    world::{Item, Program, program},
};
use crossfire::{MAsyncRx, MAsyncTx, mpmc};

pub const PROGRAMS: &[Program] = &[
    program!(delivery::<Bounded>),
    program!(abandoned::<Bounded>),
    program!(one_each::<Bounded>),
];

struct Bounded;

impl Channel for Bounded {
    type Sender = MAsyncTx<mpmc::Array<Item>>;
    type Receiver = MAsyncRx<mpmc::Array<Item>>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        mpmc::bounded_async(capacity)
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
