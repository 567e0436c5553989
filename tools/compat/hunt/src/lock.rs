//! Programs for locks.

use crate::world::{Room, below, join, maybe, rest, spawn_frail};
use std::sync::Arc;

/// An adapter, which `lock!` makes. The lock protects nothing: the program looks at who is inside.
pub trait Lock: Send + Sync + 'static {
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
macro_rules! lock {
    (
        $($lock:ty:
        new $new:expr;
        lock($alone:ident) $locked:expr;
        $(share($shared:ident) $share:expr;)?
        is_free($free:ident) $is_free:expr;)*
    ) => {
        $(impl $crate::lock::Lock for $lock {
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
pub(crate) use lock;

/// Nobody is beside the one that is alone, and everybody gets in.
pub async fn exclusion<L: Lock>() {
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
