//! futures-intrusive 0.5.0.

use crate::{
    channel::{Channel, abandoned, delivery, one_each},
    lock::{Lock, exclusion},
    semaphore::{Semaphore, cancelled_head, conservation, released},
    world::{Item, Program, program},
};
use futures_intrusive::{
    channel::shared::{Receiver, Sender, channel},
    sync::{Mutex, Semaphore as Permits},
};

pub const PROGRAMS: &[Program] = &[
    program!(delivery::<Bounded>),
    program!(abandoned::<Bounded>),
    program!(one_each::<Bounded>),
    program!(exclusion::<Of<true>>),
    program!(exclusion::<Of<false>>),
    program!(conservation::<Fair<true>>),
    program!(conservation::<Fair<false>>),
    program!(released::<Fair<true>>),
    program!(released::<Fair<false>>),
    program!(cancelled_head::<Fair<true>>),
    program!(cancelled_head::<Fair<false>>),
];

struct Bounded;

impl Channel for Bounded {
    type Sender = Sender<Item>;
    type Receiver = Receiver<Item>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        channel(capacity)
    }

    fn share(receiver: &Self::Receiver) -> Option<Self::Receiver> {
        Some(receiver.clone())
    }

    async fn send(sender: &mut Self::Sender, item: Item) -> bool {
        sender.send(item).await.is_ok()
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<Item> {
        receiver.receive().await
    }
}

struct Of<const FAIR: bool>(Mutex<()>);

impl<const FAIR: bool> Lock for Of<FAIR> {
    fn new() -> Self {
        Self(Mutex::new((), FAIR))
    }

    async fn lock(&self) -> impl Send {
        self.0.lock().await
    }

    fn is_free(&self) -> bool {
        self.0.try_lock().is_some()
    }
}

struct Fair<const FAIR: bool>(Permits);

impl<const FAIR: bool> Semaphore for Fair<FAIR> {
    fn new(permits: usize) -> Self {
        Self(Permits::new(FAIR, permits))
    }

    async fn acquire(&self, permits: usize) -> impl Send {
        self.0.acquire(permits).await
    }

    fn release(&self, permits: usize) {
        self.0.release(permits);
    }

    fn available(&self) -> usize {
        self.0.permits()
    }
}
