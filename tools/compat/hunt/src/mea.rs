//! mea 0.6.7.

use crate::{
    broadcast::{Got, broadcast, same_for_all},
    channel::{abandoned, channel, delivery},
    lock::{exclusion, lock},
    once::{computed_once, once},
    semaphore::{cancelled_head, conservation, released, semaphore},
    world::{Item, List, Room, below, join, maybe, programs, rest, settle, spawn_frail},
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
    semaphore::Semaphore,
    singleflight::Group,
};
use std::sync::Arc;

programs![
    delivery::<Bounded>,
    abandoned::<Bounded>,
    exclusion::<Mutex<()>>,
    exclusion::<RwLock<()>>,
    conservation::<Semaphore>,
    released::<Semaphore>,
    cancelled_head::<Semaphore>,
    computed_once::<OnceCell<u64>>,
    computed_once::<OnceMap<u64, u64>>,
    computed_once::<Group<u64, u64>>,
    condvar,
    fair_share,
    same_for_all::<Overflow>,
];

channel! {
    Bounded(mpsc::BoundedSender<Item>, mpsc::BoundedReceiver<Item>);
    new(capacity) mpsc::bounded(capacity);
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await.ok();
}

lock! {
    Mutex<()>:
    new Mutex::new(());
    lock(self) self.lock().await;
    is_free(self) self.try_lock().is_some();

    RwLock<()>:
    new RwLock::new(());
    lock(self) self.write().await;
    share(self) match below(3) {
        0 => self.write().await.downgrade(),
        _ => self.read().await,
    };
    is_free(self) self.try_write().is_some();
}

semaphore! {
    Semaphore;
    new(permits) Semaphore::new(permits);
    acquire(self, permits) self.acquire(permits).await;
    release(self, permits) self.release(permits);
    available(self) self.available_permits();
}

once! {
    OnceCell<u64>, KEYS: u64 = 1;
    new OnceCell::new();
    get(self, _, compute) *self.get_or_init(async || compute.await).await;

    OnceMap<u64, u64>;
    new OnceMap::new();
    get(self, key, compute) self.compute(key, async || compute.await).await;

    Group<u64, u64>, STAYS: bool = false;
    new Group::new();
    get(self, key, compute) self.work(key, async || compute.await).await;
}

broadcast! {
    Overflow(overflow::Sender<u64>, overflow::Receiver<u64>);
    new(capacity) overflow::channel(capacity);
    subscribe(sender, _) sender.subscribe();
    send(sender, message) {
        sender.send(message);
        true
    };
    recv(receiver) match receiver.recv().await {
        Ok(message) => Got::Message(message),
        Err(overflow::RecvError::Lagged(count)) => Got::Missed(count),
        Err(overflow::RecvError::Disconnected) => Got::Closed,
    };
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
