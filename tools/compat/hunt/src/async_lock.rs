//! async-lock 3.5.0.

use crate::{
    lock::{exclusion, lock},
    once::{computed_once, once},
    semaphore::{conservation, released, semaphore},
    world::{below, programs},
};
use async_lock::{Mutex, OnceCell, RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard, Semaphore};

programs![
    exclusion::<Mutex<()>>,
    exclusion::<RwLock<()>>,
    exclusion::<Upgraded>,
    conservation::<Semaphore>,
    released::<Semaphore>,
    computed_once::<OnceCell<u64>>,
];

struct Upgraded(RwLock<()>);

lock! {
    Mutex<()>:
    new Mutex::new(());
    lock(self) self.lock().await;
    is_free(self) self.try_lock().is_some();

    RwLock<()>:
    new RwLock::new(());
    lock(self) self.write().await;
    share(self) match below(2) {
        0 => self.read().await,
        _ => RwLockUpgradableReadGuard::downgrade(self.upgradable_read().await),
    };
    is_free(self) self.try_write().is_some();

    Upgraded:
    new Self(RwLock::new(()));
    lock(self) match below(2) {
        0 => self.0.write().await,
        _ => RwLockUpgradableReadGuard::upgrade(self.0.upgradable_read().await).await,
    };
    share(self) match below(2) {
        0 => self.0.read().await,
        _ => RwLockWriteGuard::downgrade(self.0.write().await),
    };
    is_free(self) self.0.try_write().is_some();
}

semaphore! {
    Semaphore, MOST = 1;
    new(permits) Semaphore::new(permits);
    acquire(self, _) self.acquire().await;
    release(self, permits) self.add_permits(permits);
    available(self) self.available_permits();
}

once! {
    OnceCell<u64>, KEYS: u64 = 1;
    new OnceCell::new();
    get(self, _, compute) *self.get_or_init(|| compute).await;
}
