//! tokio 1.54.1, its module `sync`, without its runtime.

use crate::{
    broadcast::{Broadcast, Got, same_for_all},
    channel::{Channel, abandoned, delivery},
    lock::{Lock, exclusion},
    once::{Once, computed_once},
    semaphore::{Semaphore, cancelled_head, conservation, released},
    world::{Item, Program, below, program},
};
use tokio::sync::{Mutex, OnceCell, RwLock, broadcast, mpsc};

pub const PROGRAMS: &[Program] = &[
    program!(delivery::<Bounded>),
    program!(abandoned::<Bounded>),
    program!(exclusion::<Mutex<()>>),
    program!(exclusion::<RwLock<()>>),
    program!(conservation::<tokio::sync::Semaphore>),
    program!(released::<tokio::sync::Semaphore>),
    program!(cancelled_head::<tokio::sync::Semaphore>),
    program!(computed_once::<OnceCell<u64>>),
    program!(same_for_all::<Overflow>),
];

struct Bounded;

impl Channel for Bounded {
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

impl Lock for Mutex<()> {
    fn new() -> Self {
        Self::new(())
    }

    async fn lock(&self) -> impl Send {
        self.lock().await
    }

    fn is_free(&self) -> bool {
        self.try_lock().is_ok()
    }
}

impl Lock for RwLock<()> {
    fn new() -> Self {
        Self::new(())
    }

    async fn lock(&self) -> impl Send {
        self.write().await
    }

    async fn share(&self) -> impl Send {
        match below(3) {
            0 => self.write().await.downgrade(),
            _ => self.read().await,
        }
    }

    fn is_free(&self) -> bool {
        self.try_write().is_ok()
    }
}

impl Semaphore for tokio::sync::Semaphore {
    fn new(permits: usize) -> Self {
        Self::new(permits)
    }

    async fn acquire(&self, permits: usize) -> impl Send {
        self.acquire_many(permits as u32).await.unwrap()
    }

    fn release(&self, permits: usize) {
        self.add_permits(permits);
    }

    fn available(&self) -> usize {
        self.available_permits()
    }
}

impl Once for OnceCell<u64> {
    const KEYS: u64 = 1;

    fn new() -> Self {
        Self::new()
    }

    async fn get<F: Future<Output = u64> + Send>(&self, _: u64, compute: F) -> u64 {
        *self.get_or_init(|| compute).await
    }
}

struct Overflow;

impl Broadcast for Overflow {
    type Sender = broadcast::Sender<u64>;
    type Receiver = broadcast::Receiver<u64>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        broadcast::channel(capacity)
    }

    fn subscribe(sender: &Self::Sender, _: &Self::Receiver) -> Self::Receiver {
        sender.subscribe()
    }

    async fn send(sender: &mut Self::Sender, message: u64) -> bool {
        sender.send(message).is_ok()
    }

    async fn recv(receiver: &mut Self::Receiver) -> Got {
        match receiver.recv().await {
            Ok(message) => Got::Message(message),
            Err(broadcast::error::RecvError::Lagged(count)) => Got::Missed(count),
            Err(broadcast::error::RecvError::Closed) => Got::Closed,
        }
    }
}
