//! futures-intrusive 0.5.0.

use crate::{
    channel::{abandoned, channel as adapter, delivery, one_each},
    lock::{exclusion, lock},
    semaphore::{cancelled_head, conservation, released, semaphore},
    world::{Item, programs},
};
use futures_intrusive::{
    channel::shared::{Receiver, Sender, channel},
    sync::{Mutex, Semaphore},
};

programs![
    delivery::<Bounded>,
    abandoned::<Bounded>,
    one_each::<Bounded>,
    exclusion::<Fair<Mutex<()>>>,
    exclusion::<Unfair<Mutex<()>>>,
    conservation::<Fair<Semaphore>>,
    conservation::<Unfair<Semaphore>>,
    released::<Fair<Semaphore>>,
    released::<Unfair<Semaphore>>,
    cancelled_head::<Fair<Semaphore>>,
    cancelled_head::<Unfair<Semaphore>>,
];

struct Fair<T>(T);
struct Unfair<T>(T);

adapter! {
    Bounded(Sender<Item>, Receiver<Item>);
    new(capacity) channel(capacity);
    share(receiver) receiver.clone();
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.receive().await;
}

lock! {
    Fair<Mutex<()>>:
    new Self(Mutex::new((), true));
    lock(self) self.0.lock().await;
    is_free(self) self.0.try_lock().is_some();

    Unfair<Mutex<()>>:
    new Self(Mutex::new((), false));
    lock(self) self.0.lock().await;
    is_free(self) self.0.try_lock().is_some();
}

semaphore! {
    Fair<Semaphore>;
    new(permits) Self(Semaphore::new(true, permits));
    acquire(self, permits) self.0.acquire(permits).await;
    release(self, permits) self.0.release(permits);
    available(self) self.0.permits();

    Unfair<Semaphore>;
    new(permits) Self(Semaphore::new(false, permits));
    acquire(self, permits) self.0.acquire(permits).await;
    release(self, permits) self.0.release(permits);
    available(self) self.0.permits();
}
