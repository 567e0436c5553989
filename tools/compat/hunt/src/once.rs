//! Programs for what is computed once for many: cells, caches, and groups of calls.

use crate::world::{Room, below, join, maybe, programs, rest, spawn_frail};
use joint_executor::spawn;
use quick_cache::sync::Cache;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// An adapter, which `onces!` makes.
trait Once: Send + Sync + 'static {
    /// Whether a value stays when it was computed.
    const STAYS: bool = true;
    /// The number of keys.
    const KEYS: u64 = 2;

    fn new() -> Self;

    /// Returns the value of the key, or computes it. Waiters share one computation.
    fn get<F: Future<Output = u64> + Send>(
        &self,
        key: u64,
        compute: F,
    ) -> impl Future<Output = u64> + Send;
}

/// Implements [`Once`] by expressions for its functions. `$compute` is a future.
macro_rules! onces {
    (
        $($once:ty $(, $constant:ident: $kind:ty = $value:expr)*;
        new $new:expr;
        get($got:ident, $key:pat, $compute:ident) $get:expr;)*
    ) => {
        $(impl Once for $once {
            $(const $constant: $kind = $value;)*

            fn new() -> Self {
                $new
            }

            async fn get<F>(&$got, $key: u64, $compute: F) -> u64
            where
                F: Future<Output = u64> + Send,
            {
                $get
            }
        })*
    };
}

onces! {
    async_lock::OnceCell<u64>, KEYS: u64 = 1;
    new Self::new();
    get(self, _, compute) *self.get_or_init(|| compute).await;

    async_singleflight::Group<u64, u64, ()>, STAYS: bool = false;
    new Self::new();
    get(self, key, compute) self.work(&key, async { Ok(compute.await) }).await.unwrap();

    async_singleflight::UnaryGroup<u64, u64>, STAYS: bool = false;
    new Self::new();
    get(self, key, compute) self.work(&key, compute).await;

    mea::once::OnceCell<u64>, KEYS: u64 = 1;
    new Self::new();
    get(self, _, compute) *self.get_or_init(async || compute.await).await;

    mea::once::OnceMap<u64, u64>;
    new Self::new();
    get(self, key, compute) self.compute(key, async || compute.await).await;

    mea::singleflight::Group<u64, u64>, STAYS: bool = false;
    new Self::new();
    get(self, key, compute) self.work(key, async || compute.await).await;

    moka::future::Cache<u64, u64>;
    new Self::new(100);
    get(self, key, compute) self.get_with(key, compute).await;

    Cache<u64, u64>;
    new Self::new(100);
    get(self, key, compute) {
        let compute = async { Ok::<_, ()>(compute.await) };
        self.get_or_insert_async(&key, compute).await.unwrap()
    };

    QuickCacheByGuard;
    new Self(Cache::new(100));
    get(self, key, compute) match self.0.get_value_or_guard_async(&key).await {
        Ok(value) => value,
        Err(guard) => {
            let value = compute.await;
            guard.insert(value).unwrap();
            value
        }
    };

    tokio::sync::OnceCell<u64>, KEYS: u64 = 1;
    new Self::new();
    get(self, _, compute) *self.get_or_init(|| compute).await;
}

struct QuickCacheByGuard(Cache<u64, u64>);

programs! {
    computed_once: async_lock::OnceCell<u64>, async_singleflight::Group<u64, u64, ()>,
        async_singleflight::UnaryGroup<u64, u64>, mea::once::OnceCell<u64>,
        mea::once::OnceMap<u64, u64>, mea::singleflight::Group<u64, u64>,
        moka::future::Cache<u64, u64>, quick_cache::sync::Cache<u64, u64>, QuickCacheByGuard,
        tokio::sync::OnceCell<u64>;
}

/// Never two computations of a key at once, and a value for all who wait, although those who
/// compute are cancelled or panic.
async fn computed_once<O: Once>() {
    let once = Arc::new(O::new());
    let rooms = [Room::default(), Room::default()];
    let computed = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let keys = 1 + below(O::KEYS);
    let mut tasks = Vec::new();
    for number in 0..2 + below(4) {
        let key = below(keys);
        let (once, room, computed) = (once.clone(), rooms[key as usize].clone(), computed.clone());
        let calls = async move {
            for _ in 0..1 + below(2) {
                rest().await;
                let (room, computed) = (room.clone(), computed.clone());
                let get = once.get(key, async move {
                    let inside = room.enter(1, 1);
                    rest().await;
                    rest().await;
                    drop(inside);
                    let before = computed[key as usize].fetch_add(1, Relaxed);
                    assert!(!O::STAYS || before == 0, "computed again");
                    key + 10
                });
                if let Some(value) = maybe(get).await {
                    assert_eq!(value, key + 10);
                }
            }
        };
        tasks.push(match number {
            0 => spawn(calls),
            _ => spawn_frail(calls),
        });
    }
    join(tasks).await;
}
