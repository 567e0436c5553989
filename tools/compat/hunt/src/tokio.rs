//! tokio 1.54.1, its module `sync`, without its runtime.

use crate::{
    broadcast::{Got, broadcast as to_all, same_for_all},
    channel::{abandoned, channel, delivery},
    lock::{exclusion, lock},
    once::{computed_once, once},
    semaphore::{cancelled_head, conservation, released, semaphore},
    world::{Item, below, programs},
};
use tokio::sync::{Mutex, OnceCell, RwLock, Semaphore, broadcast, mpsc};

programs![
    delivery::<Bounded>,
    abandoned::<Bounded>,
    exclusion::<Mutex<()>>,
    exclusion::<RwLock<()>>,
    conservation::<Semaphore>,
    released::<Semaphore>,
    cancelled_head::<Semaphore>,
    computed_once::<OnceCell<u64>>,
    same_for_all::<Overflow>,
];

channel! {
    Bounded(mpsc::Sender<Item>, mpsc::Receiver<Item>);
    new(capacity) mpsc::channel(capacity);
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await;
}

lock! {
    Mutex<()>:
    new Mutex::new(());
    lock(self) self.lock().await;
    is_free(self) self.try_lock().is_ok();

    RwLock<()>:
    new RwLock::new(());
    lock(self) self.write().await;
    share(self) match below(3) {
        0 => self.write().await.downgrade(),
        _ => self.read().await,
    };
    is_free(self) self.try_write().is_ok();
}

semaphore! {
    Semaphore;
    new(permits) Semaphore::new(permits);
    acquire(self, permits) self.acquire_many(permits as u32).await.unwrap();
    release(self, permits) self.add_permits(permits);
    available(self) self.available_permits();
}

once! {
    OnceCell<u64>, KEYS: u64 = 1;
    new OnceCell::new();
    get(self, _, compute) *self.get_or_init(|| compute).await;
}

to_all! {
    Overflow(broadcast::Sender<u64>, broadcast::Receiver<u64>);
    new(capacity) broadcast::channel(capacity);
    subscribe(sender, _) sender.subscribe();
    send(sender, message) sender.send(message).is_ok();
    recv(receiver) match receiver.recv().await {
        Ok(message) => Got::Message(message),
        Err(broadcast::error::RecvError::Lagged(count)) => Got::Missed(count),
        Err(broadcast::error::RecvError::Closed) => Got::Closed,
    };
}
