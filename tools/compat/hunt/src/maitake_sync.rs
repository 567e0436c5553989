//! maitake-sync 0.3.0.

use crate::{
    lock::{exclusion, lock},
    semaphore::{cancelled_head, conservation, released, semaphore},
    world::{below, join, maybe, programs, rest, settle},
};
use joint_executor::spawn;
use maitake_sync::{Mutex, RwLock, Semaphore, WaitQueue};
use std::sync::Arc;

programs![
    exclusion::<Mutex<()>>,
    exclusion::<RwLock<()>>,
    conservation::<Semaphore>,
    released::<Semaphore>,
    cancelled_head::<Semaphore>,
    wait_queue,
];

lock! {
    Mutex<()>:
    new Mutex::new(());
    lock(self) self.lock().await;
    is_free(self) self.try_lock().is_some();

    RwLock<()>:
    new RwLock::new(());
    lock(self) self.write().await;
    share(self) self.read().await;
    is_free(self) self.try_write().is_some();
}

semaphore! {
    Semaphore;
    new(permits) Semaphore::new(permits);
    acquire(self, permits) self.acquire(permits).await.expect("it is open");
    release(self, permits) self.add_permits(permits);
    available(self) self.available_permits();
}

/// A wake-up for each that waits; a cancelled one passes its own on.
async fn wait_queue() {
    let queue = Arc::new(WaitQueue::new());
    let count = 2 + below(3);
    let mut tasks = Vec::new();
    for _ in 0..count {
        let queue = queue.clone();
        tasks.push(spawn(async move {
            rest().await;
            loop {
                match maybe(queue.wait()).await {
                    Some(woken) => return woken.expect("it is open"),
                    None => rest().await,
                }
            }
        }));
    }
    // A wake-up is kept if nobody waits, but only one: wake when all that are left wait.
    for _ in 0..count {
        settle().await;
        queue.wake();
    }
    settle().await;
    join(tasks).await;
}
