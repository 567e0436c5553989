//! mea 0.6.7.

use crate::{
    broadcast::{Broadcast, Got, same_for_all},
    channel::{Channel, abandoned, delivery},
    lock::{Lock, exclusion},
    once::{Once, computed_once},
    semaphore::{Semaphore, cancelled_head, conservation, released},
    world::{Item, List, Program, Room, below, join, maybe, program, rest, settle, spawn_frail},
};
use joint_executor::spawn;
use mea::{
    admission::FairShare,
    broadcast::overflow,
    condvar::Condvar,
    mpsc,
    mutex::Mutex,
    once::{OnceCell, OnceMap},
    rwlock::RwLock,
    singleflight::Group,
};
use std::sync::Arc;

pub const PROGRAMS: &[Program] = &[
    program!(delivery::<Bounded>),
    program!(abandoned::<Bounded>),
    program!(exclusion::<Mutex<()>>),
    program!(exclusion::<RwLock<()>>),
    program!(conservation::<mea::semaphore::Semaphore>),
    program!(released::<mea::semaphore::Semaphore>),
    program!(cancelled_head::<mea::semaphore::Semaphore>),
    program!(computed_once::<OnceCell<u64>>),
    program!(computed_once::<OnceMap<u64, u64>>),
    program!(computed_once::<Group<u64, u64>>),
    program!(condvar),
    program!(fair_share),
    program!(same_for_all::<Overflow>),
];

struct Bounded;

impl Channel for Bounded {
    type Sender = mpsc::BoundedSender<Item>;
    type Receiver = mpsc::BoundedReceiver<Item>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        mpsc::bounded(capacity)
    }

    async fn send(sender: &mut Self::Sender, item: Item) -> bool {
        sender.send(item).await.is_ok()
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<Item> {
        receiver.recv().await.ok()
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
        self.try_write().is_some()
    }
}

impl Semaphore for mea::semaphore::Semaphore {
    fn new(permits: usize) -> Self {
        Self::new(permits)
    }

    async fn acquire(&self, permits: usize) -> impl Send {
        self.acquire(permits).await
    }

    fn release(&self, permits: usize) {
        self.release(permits);
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
        *self.get_or_init(async || compute.await).await
    }
}

impl Once for OnceMap<u64, u64> {
    fn new() -> Self {
        Self::new()
    }

    async fn get<F: Future<Output = u64> + Send>(&self, key: u64, compute: F) -> u64 {
        self.compute(key, async || compute.await).await
    }
}

impl Once for Group<u64, u64> {
    const STAYS: bool = false;

    fn new() -> Self {
        Self::new()
    }

    async fn get<F: Future<Output = u64> + Send>(&self, key: u64, compute: F) -> u64 {
        self.work(key, async || compute.await).await
    }
}

/// A queue on a condition variable: each notification reaches somebody who waits.
async fn condvar() {
    let queue = Arc::new((Mutex::new(0), Condvar::new()));
    let count = 2 + below(3);
    let taken = List::new();
    let mut tasks = Vec::new();
    for number in 0..count {
        let (queue, taken) = (queue.clone(), taken.clone());
        tasks.push(spawn(async move {
            loop {
                rest().await;
                let takes = async {
                    let guard = queue.0.lock().await;
                    let mut guard = queue.1.wait_while(guard, |left| *left == 0).await;
                    *guard -= 1;
                };
                if maybe(takes).await.is_some() {
                    return taken.push(number);
                }
            }
        }));
    }
    for _ in 0..count {
        rest().await;
        *queue.0.lock().await += 1;
        queue.1.notify_one();
    }
    settle().await;
    assert_eq!(taken.get().len(), count as usize, "a notification is lost");
    join(tasks).await;
}

/// As a semaphore, with keys.
async fn fair_share() {
    let permits = 1 + below(3) as usize;
    let share = Arc::new(FairShare::new(permits));
    let room = Room::default();
    let mut tasks = Vec::new();
    for _ in 0..2 + below(4) {
        let (share, room) = (share.clone(), room.clone());
        tasks.push(spawn_frail(async move {
            for _ in 0..1 + below(3) {
                rest().await;
                let key = below(3);
                maybe(async {
                    let guard = share.acquire(key).await;
                    let inside = room.enter(1, permits);
                    rest().await;
                    drop((inside, guard));
                })
                .await;
            }
        }));
    }
    join(tasks).await;
    assert_eq!(share.available_permits(), permits);
    assert_eq!(share.num_waiters(), 0);
}

struct Overflow;

impl Broadcast for Overflow {
    type Sender = overflow::Sender<u64>;
    type Receiver = overflow::Receiver<u64>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        overflow::channel(capacity)
    }

    fn subscribe(sender: &Self::Sender, _: &Self::Receiver) -> Self::Receiver {
        sender.subscribe()
    }

    async fn send(sender: &mut Self::Sender, message: u64) -> bool {
        sender.send(message);
        true
    }

    async fn recv(receiver: &mut Self::Receiver) -> Got {
        match receiver.recv().await {
            Ok(message) => Got::Message(message),
            Err(overflow::RecvError::Lagged(count)) => Got::Missed(count),
            Err(overflow::RecvError::Disconnected) => Got::Closed,
        }
    }
}
