//! postage 0.5.0.

use crate::{
    broadcast::{Broadcast, Got, same_for_all},
    channel::{Channel, abandoned, delivery, one_each},
    world::{Item, Program, program},
};
use postage::{broadcast, dispatch, mpsc, sink::Sink, stream::Stream};

pub const PROGRAMS: &[Program] = &[
    program!(delivery::<Mpsc>),
    program!(abandoned::<Mpsc>),
    program!(delivery::<Dispatch>),
    program!(abandoned::<Dispatch>),
    program!(one_each::<Dispatch>),
    program!(same_for_all::<All>),
];

struct Mpsc;

impl Channel for Mpsc {
    type Sender = mpsc::Sender<Item>;
    type Receiver = mpsc::Receiver<Item>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        mpsc::channel(capacity)
    }

    async fn send(sender: &mut Self::Sender, item: Item) -> bool {
        sender.send(item).await.is_ok()
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<Item> {
        receiver.recv().await
    }
}

struct Dispatch;

impl Channel for Dispatch {
    type Sender = dispatch::Sender<Item>;
    type Receiver = dispatch::Receiver<Item>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        dispatch::channel(capacity)
    }

    fn share(receiver: &Self::Receiver) -> Option<Self::Receiver> {
        Some(receiver.clone())
    }

    async fn send(sender: &mut Self::Sender, item: Item) -> bool {
        sender.send(item).await.is_ok()
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<Item> {
        receiver.recv().await
    }
}

struct All;

impl Broadcast for All {
    type Sender = broadcast::Sender<u64>;
    type Receiver = broadcast::Receiver<u64>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        broadcast::channel(capacity)
    }

    fn subscribe(sender: &Self::Sender, _: &Self::Receiver) -> Self::Receiver {
        sender.subscribe()
    }

    async fn send(sender: &mut Self::Sender, message: u64) -> bool {
        sender.send(message).await.is_ok()
    }

    async fn recv(receiver: &mut Self::Receiver) -> Got {
        match receiver.recv().await {
            Some(message) => Got::Message(message),
            None => Got::Closed,
        }
    }
}
