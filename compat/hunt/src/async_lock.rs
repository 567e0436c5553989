//! async-lock 3.5.0.

use crate::{
    lock::{Lock, exclusion},
    once::{Once, computed_once},
    semaphore::{Semaphore, conservation, released},
    world::{Program, below, program},
};
use async_lock::{OnceCell, RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};

pub const PROGRAMS: &[Program] = &[
    program!(exclusion::<async_lock::Mutex<()>>),
    program!(exclusion::<RwLock<()>>),
    program!(exclusion::<Upgraded>),
    program!(conservation::<async_lock::Semaphore>),
    program!(released::<async_lock::Semaphore>),
    program!(computed_once::<OnceCell<u64>>),
];

impl Lock for async_lock::Mutex<()> {
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
        let guard = match below(2) {
            0 => self.read().await,
            _ => RwLockUpgradableReadGuard::downgrade(self.upgradable_read().await),
        };
        guard
    }

    fn is_free(&self) -> bool {
        self.try_write().is_some()
    }
}

struct Upgraded(RwLock<()>);

impl Lock for Upgraded {
    fn new() -> Self {
        Self(RwLock::new(()))
    }

    async fn lock(&self) -> impl Send {
        match below(2) {
            0 => self.0.write().await,
            _ => RwLockUpgradableReadGuard::upgrade(self.0.upgradable_read().await).await,
        }
    }

    async fn share(&self) -> impl Send {
        match below(2) {
            0 => self.0.read().await,
            _ => RwLockWriteGuard::downgrade(self.lock_it().await),
        }
    }

    fn is_free(&self) -> bool {
        self.0.try_write().is_some()
    }
}

impl Upgraded {
    async fn lock_it(&self) -> RwLockWriteGuard<'_, ()> {
        self.0.write().await
    }
}

impl Semaphore for async_lock::Semaphore {
    const MOST: usize = 1;

    fn new(permits: usize) -> Self {
        Self::new(permits)
    }

    async fn acquire(&self, _: usize) -> impl Send {
        self.acquire().await
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
