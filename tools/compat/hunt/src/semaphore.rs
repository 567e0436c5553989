//! Programs for semaphores.

use crate::{
    lock::{Fair, Guard, Unfair},
    world::{Room, below, join, maybe, programs, rest, settle, spawn_frail},
};
use deadpool::{managed, unmanaged};
use futures_intrusive::sync as intrusive;
use joint_executor::{spawn, time::timeout};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

/// An adapter, which `semaphores!` makes.
trait Semaphore: Send + Sync + 'static {
    /// The most permits that can be acquired at once.
    const MOST: usize = usize::MAX;

    fn new(permits: usize) -> Self;
    fn acquire(&self, permits: usize) -> impl Future<Output: Send> + Send;
    /// Adds permits that nobody has acquired.
    fn release(&self, _permits: usize) {
        unreachable!("a pool has no more objects than it was made with");
    }

    fn available(&self) -> usize;
}

/// Implements [`Semaphore`] by expressions for its functions. `release` is left out for pools.
macro_rules! semaphores {
    (
        $($semaphore:ty $(, $constant:ident = $value:expr)*;
        new($permits:ident) $new:expr;
        acquire($acquired:ident, $count:pat) $acquire:expr;
        $(release($released:ident, $more:ident) $release:expr;)?
        available($left:ident) $available:expr;)*
    ) => {
        $(impl Semaphore for $semaphore {
            $(const $constant: usize = $value;)*

            fn new($permits: usize) -> Self {
                $new
            }

            async fn acquire(&$acquired, $count: usize) -> impl Send {
                $acquire
            }

            $(fn release(&$released, $more: usize) {
                $release;
            })?

            fn available(&$left) -> usize {
                $available
            }
        })*
    };
}

semaphores! {
    async_lock::Semaphore, MOST = 1;
    new(permits) Self::new(permits);
    acquire(self, _) self.acquire().await;
    release(self, permits) self.add_permits(permits);
    available(self) self.available_permits();

    unmanaged::Pool<()>, MOST = 1;
    new(objects) Self::from(vec![(); objects]);
    acquire(self, _) self.get().await.unwrap();
    available(self) self.status().available;

    managed::Pool<Maker>, MOST = 1;
    new(objects) Self::builder(Maker).max_size(objects).build().unwrap();
    acquire(self, _) loop {
        if let Ok(object) = self.get().await {
            break object;
        }
    };
    available(self) {
        // All objects that exist are in the pool, and the others can be made.
        let status = self.status();
        assert_eq!((status.available, status.waiting), (status.size, 0));
        assert!(status.size <= status.max_size);
        status.max_size
    };

    Fair<intrusive::Semaphore>;
    new(permits) Self(intrusive::Semaphore::new(true, permits));
    acquire(self, permits) self.0.acquire(permits).await;
    release(self, permits) self.0.release(permits);
    available(self) self.0.permits();

    Unfair<intrusive::Semaphore>;
    new(permits) Self(intrusive::Semaphore::new(false, permits));
    acquire(self, permits) self.0.acquire(permits).await;
    release(self, permits) self.0.release(permits);
    available(self) self.0.permits();

    maitake_sync::Semaphore;
    new(permits) Self::new(permits);
    acquire(self, permits) self.acquire(permits).await.expect("it is open");
    release(self, permits) self.add_permits(permits);
    available(self) self.available_permits();

    mea::semaphore::Semaphore;
    new(permits) Self::new(permits);
    acquire(self, permits) self.acquire(permits).await;
    release(self, permits) self.release(permits);
    available(self) self.available_permits();

    saa::Semaphore;
    new(permits) Self::with_permits(permits);
    acquire(self, permits) {
        assert!(self.acquire_many_async(permits).await);
        Guard(move || self.release_many(permits))
    };
    available(self) self.available_permits(Relaxed);

    tokio::sync::Semaphore;
    new(permits) Self::new(permits);
    acquire(self, permits) self.acquire_many(permits as u32).await.unwrap();
    release(self, permits) self.add_permits(permits);
    available(self) self.available_permits();
}

/// Makes objects slowly, and fails sometimes.
struct Maker;

impl managed::Manager for Maker {
    type Type = ();
    type Error = &'static str;

    async fn create(&self) -> Result<(), &'static str> {
        rest().await;
        match below(4) {
            0 => Err("it cannot be made"),
            _ => Ok(()),
        }
    }

    async fn recycle(
        &self,
        _: &mut (),
        _: &managed::Metrics,
    ) -> managed::RecycleResult<&'static str> {
        rest().await;
        match below(4) {
            0 => Err("it is worn out".into()),
            _ => Ok(()),
        }
    }
}

programs! {
    conservation: async_lock::Semaphore, deadpool::unmanaged::Pool<()>,
        deadpool::managed::Pool<Maker>, Fair<futures_intrusive::sync::Semaphore>,
        Unfair<futures_intrusive::sync::Semaphore>, maitake_sync::Semaphore,
        mea::semaphore::Semaphore, saa::Semaphore, tokio::sync::Semaphore;
    cancelled_head: Fair<futures_intrusive::sync::Semaphore>,
        Unfair<futures_intrusive::sync::Semaphore>, maitake_sync::Semaphore,
        mea::semaphore::Semaphore, saa::Semaphore, tokio::sync::Semaphore;
    released: async_lock::Semaphore, Fair<futures_intrusive::sync::Semaphore>,
        Unfair<futures_intrusive::sync::Semaphore>, maitake_sync::Semaphore,
        mea::semaphore::Semaphore, tokio::sync::Semaphore;
}

/// No more are inside than there are permits, and all permits come back.
async fn conservation<S: Semaphore>() {
    let permits = 1 + below(3) as usize;
    let semaphore = Arc::new(S::new(permits));
    let room = Room::default();
    let mut tasks = Vec::new();
    for _ in 0..2 + below(3) {
        let (semaphore, room) = (semaphore.clone(), room.clone());
        tasks.push(spawn_frail(async move {
            for _ in 0..1 + below(4) {
                rest().await;
                let count = (1 + below(permits as u64) as usize).min(S::MOST);
                maybe(async {
                    let guard = semaphore.acquire(count).await;
                    let inside = room.enter(count, permits);
                    rest().await;
                    drop((inside, guard));
                })
                .await;
            }
        }));
    }
    join(tasks).await;
    assert_eq!(
        semaphore.available(),
        permits,
        "permits are lost or doubled"
    );
}

/// Acquires a permit, and if that is cancelled, tries again.
async fn one_permit<S: Semaphore>(semaphore: &S) -> impl Send {
    loop {
        match maybe(semaphore.acquire(1)).await {
            Some(guard) => return guard,
            None => rest().await,
        }
    }
}

/// A request that is too large, and is cancelled, leaves nobody behind it waiting.
async fn cancelled_head<S: Semaphore>() {
    let semaphore = Arc::new(S::new(1 + below(2) as usize));
    let mut tasks = Vec::new();
    for _ in 0..1 + below(3) {
        let semaphore = semaphore.clone();
        tasks.push(spawn(async move {
            rest().await;
            let limit = Duration::from_micros(1 << below(12));
            let guard = timeout(limit, semaphore.acquire(9)).await;
            assert!(guard.is_err(), "9 permits were not there");
        }));
    }
    for _ in 0..1 + below(3) {
        let semaphore = semaphore.clone();
        tasks.push(spawn(async move {
            rest().await;
            let guard = one_permit(&*semaphore).await;
            rest().await;
            drop(guard);
        }));
    }
    join(tasks).await;
}

/// As many permits as are released let so many in, though nobody gives one back.
async fn released<S: Semaphore>() {
    let semaphore = Arc::new(S::new(0));
    let room = Room::default();
    let count = 2 + below(3);
    let mut tasks = Vec::new();
    for _ in 0..count {
        let (semaphore, room) = (semaphore.clone(), room.clone());
        tasks.push(spawn(async move {
            rest().await;
            let guard = one_permit(&*semaphore).await;
            let inside = room.enter(1, usize::MAX);
            settle().await;
            settle().await;
            drop((inside, guard));
        }));
    }
    for _ in 0..count {
        rest().await;
        semaphore.release(1);
    }
    settle().await;
    assert_eq!(
        room.inside(),
        count as usize,
        "permits are there, and somebody waits"
    );
    join(tasks).await;
}
