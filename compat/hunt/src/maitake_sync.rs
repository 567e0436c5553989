//! maitake-sync 0.3.0.

use crate::{
    lock::{Lock, exclusion},
    semaphore::{Semaphore, cancelled_head, conservation, released},
    world::{Program, below, join, maybe, program, rest, settle},
};
use joint_executor::spawn;
use maitake_sync::{Mutex, RwLock, WaitQueue};
use std::sync::Arc;

pub const PROGRAMS: &[Program] = &[
    program!(exclusion::<Mutex<()>>),
    program!(exclusion::<RwLock<()>>),
    program!(conservation::<maitake_sync::Semaphore>),
    program!(released::<maitake_sync::Semaphore>),
    program!(cancelled_head::<maitake_sync::Semaphore>),
    program!(wait_queue),
];

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
        self.read().await
    }

    fn is_free(&self) -> bool {
        self.try_write().is_some()
    }
}

impl Semaphore for maitake_sync::Semaphore {
    fn new(permits: usize) -> Self {
        Self::new(permits)
    }

    async fn acquire(&self, permits: usize) -> impl Send {
        self.acquire(permits).await.expect("it is open")
    }

    fn release(&self, permits: usize) {
        self.add_permits(permits);
    }

    fn available(&self) -> usize {
        self.available_permits()
    }
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
