//! Programs for locks.

use crate::world::{Room, below, join, maybe, programs, rest, spawn_frail};
use async_lock::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
use std::sync::Arc;

/// An adapter, which `locks!` makes. The lock protects nothing: the program looks at who is inside.
trait Lock: Send + Sync + 'static {
    fn new() -> Self;

    /// Locks for one alone.
    fn lock(&self) -> impl Future<Output: Send> + Send;

    /// Locks for some, if the lock can be shared.
    fn share(&self) -> impl Future<Output: Send> + Send {
        self.lock()
    }

    /// Whether it can be locked now.
    fn is_free(&self) -> bool;
}

/// Implements [`Lock`] by expressions for its functions. `share` is left out if the lock cannot be
/// shared.
macro_rules! locks {
    (
        $($lock:ty:
        new $new:expr;
        lock($alone:ident) $locked:expr;
        $(share($shared:ident) $share:expr;)?
        is_free($free:ident) $is_free:expr;)*
    ) => {
        $(impl Lock for $lock {
            fn new() -> Self {
                $new
            }

            async fn lock(&$alone) -> impl Send {
                $locked
            }

            $(async fn share(&$shared) -> impl Send {
                $share
            })?

            fn is_free(&$free) -> bool {
                $is_free
            }
        })*
    };
}

locks! {
    async_lock::Mutex<()>:
    new Self::new(());
    lock(self) self.lock().await;
    is_free(self) self.try_lock().is_some();

    RwLock<()>:
    new Self::new(());
    lock(self) self.write().await;
    share(self) match below(2) {
        0 => self.read().await,
        _ => RwLockUpgradableReadGuard::downgrade(self.upgradable_read().await),
    };
    is_free(self) self.try_write().is_some();

    AsyncLockUpgraded:
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

    futures::lock::Mutex<()>:
    new Self::new(());
    lock(self) self.lock().await;
    is_free(self) self.try_lock().is_some();

    Fair<futures_intrusive::sync::Mutex<()>>:
    new Self(futures_intrusive::sync::Mutex::new((), true));
    lock(self) self.0.lock().await;
    is_free(self) self.0.try_lock().is_some();

    Unfair<futures_intrusive::sync::Mutex<()>>:
    new Self(futures_intrusive::sync::Mutex::new((), false));
    lock(self) self.0.lock().await;
    is_free(self) self.0.try_lock().is_some();

    maitake_sync::Mutex<()>:
    new Self::new(());
    lock(self) self.lock().await;
    is_free(self) self.try_lock().is_some();

    maitake_sync::RwLock<()>:
    new Self::new(());
    lock(self) self.write().await;
    share(self) self.read().await;
    is_free(self) self.try_write().is_some();

    mea::mutex::Mutex<()>:
    new Self::new(());
    lock(self) self.lock().await;
    is_free(self) self.try_lock().is_some();

    mea::rwlock::RwLock<()>:
    new Self::new(());
    lock(self) self.write().await;
    share(self) match below(3) {
        0 => self.write().await.downgrade(),
        _ => self.read().await,
    };
    is_free(self) self.try_write().is_some();

    saa::Lock:
    new Self::new();
    lock(self) {
        assert!(self.lock_async().await);
        Guard(|| self.release_lock())
    };
    share(self) {
        assert!(self.share_async().await);
        Guard(|| self.release_share())
    };
    is_free(self) self.try_lock().is_ok();

    tokio::sync::Mutex<()>:
    new Self::new(());
    lock(self) self.lock().await;
    is_free(self) self.try_lock().is_ok();

    tokio::sync::RwLock<()>:
    new Self::new(());
    lock(self) self.write().await;
    share(self) match below(3) {
        0 => self.write().await.downgrade(),
        _ => self.read().await,
    };
    is_free(self) self.try_write().is_ok();
}

struct AsyncLockUpgraded(RwLock<()>);

/// A lock or a semaphore that lets those who wait in by turns.
pub struct Fair<T>(pub T);
pub struct Unfair<T>(pub T);

/// Releases what was acquired from saa's types, which leave their guards to others.
pub struct Guard<F: FnMut() -> bool>(pub F);

impl<F: FnMut() -> bool> Drop for Guard<F> {
    fn drop(&mut self) {
        assert!((self.0)(), "it was not held");
    }
}

programs! {
    exclusion: async_lock::Mutex<()>, async_lock::RwLock<()>, AsyncLockUpgraded,
        futures::lock::Mutex<()>, Fair<futures_intrusive::sync::Mutex<()>>,
        Unfair<futures_intrusive::sync::Mutex<()>>, maitake_sync::Mutex<()>,
        maitake_sync::RwLock<()>, mea::mutex::Mutex<()>, mea::rwlock::RwLock<()>, saa::Lock,
        tokio::sync::Mutex<()>, tokio::sync::RwLock<()>;
}

/// Nobody is beside the one that is alone, and everybody gets in.
async fn exclusion<L: Lock>() {
    let lock = Arc::new(L::new());
    let (all, alone) = (Room::default(), Room::default());
    let mut tasks = Vec::new();
    for _ in 0..2 + below(3) {
        let (lock, all, alone) = (lock.clone(), all.clone(), alone.clone());
        tasks.push(spawn_frail(async move {
            for _ in 0..1 + below(4) {
                rest().await;
                let shares = below(2) == 0;
                maybe(async {
                    if shares {
                        let guard = lock.share().await;
                        let inside = all.enter(1, usize::MAX);
                        assert_eq!(alone.inside(), 0, "a reader beside a writer");
                        rest().await;
                        drop((inside, guard));
                    } else {
                        let guard = lock.lock().await;
                        let inside = (alone.enter(1, 1), all.enter(1, 1));
                        rest().await;
                        drop((inside, guard));
                    }
                })
                .await;
            }
        }));
    }
    join(tasks).await;
    assert!(lock.is_free(), "nobody is inside, and the lock is not free");
}
