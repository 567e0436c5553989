//! futures 0.3.34: its lock and its channel.

use crate::{
    channel::{Channel, abandoned, delivery},
    lock::{Lock, exclusion},
    world::{Item, Program, program},
};
use futures::{SinkExt, StreamExt, channel::mpsc, lock::Mutex};

pub const PROGRAMS: &[Program] = &[
    program!(delivery::<Bounded>),
    program!(abandoned::<Bounded>),
    program!(exclusion::<Mutex<()>>),
];

struct Bounded;

impl Channel for Bounded {
    type Sender = mpsc::Sender<Item>;
    type Receiver = mpsc::Receiver<Item>;

    // Each sender has a place of its own beside the capacity.
    const IS_BOUNDED: bool = false;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        mpsc::channel(capacity - 1)
    }

    async fn send(sender: &mut Self::Sender, item: Item) -> bool {
        sender.send(item).await.is_ok()
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<Item> {
        receiver.next().await
    }
}

impl Lock for Mutex<()> {
    fn new() -> Self {
        Self::new(())
    }

    async fn lock(&self) -> impl Send {
        self.lock().await
    }

    fn is_free(&self) -> bool {
        self.try_lock().is_some()
    }
}
