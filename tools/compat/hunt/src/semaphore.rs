//! Programs for semaphores.

use crate::world::{Room, below, join, maybe, rest, settle, spawn_frail};
use joint_executor::{spawn, time::timeout};
use std::{sync::Arc, time::Duration};

/// An adapter, which `semaphore!` makes.
pub trait Semaphore: Send + Sync + 'static {
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
macro_rules! semaphore {
    (
        $($semaphore:ty $(, $constant:ident = $value:expr)*;
        new($permits:ident) $new:expr;
        acquire($acquired:ident, $count:pat) $acquire:expr;
        $(release($released:ident, $more:ident) $release:expr;)?
        available($left:ident) $available:expr;)*
    ) => {
        $(impl $crate::semaphore::Semaphore for $semaphore {
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
pub(crate) use semaphore;

/// No more are inside than there are permits, and all permits come back.
pub async fn conservation<S: Semaphore>() {
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

/// A request that is too large, and is cancelled, leaves nobody behind it waiting.
pub async fn cancelled_head<S: Semaphore>() {
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
            let guard = loop {
                match maybe(semaphore.acquire(1)).await {
                    Some(guard) => break guard,
                    None => rest().await,
                }
            };
            rest().await;
            drop(guard);
        }));
    }
    join(tasks).await;
}

/// As many permits as are released let so many in, though nobody gives one back.
pub async fn released<S: Semaphore>() {
    let semaphore = Arc::new(S::new(0));
    let room = Room::default();
    let count = 2 + below(3);
    let mut tasks = Vec::new();
    for _ in 0..count {
        let (semaphore, room) = (semaphore.clone(), room.clone());
        tasks.push(spawn(async move {
            rest().await;
            let guard = loop {
                match maybe(semaphore.acquire(1)).await {
                    Some(guard) => break guard,
                    None => rest().await,
                }
            };
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
