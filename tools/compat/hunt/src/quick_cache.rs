//! quick_cache 0.7.0.

use crate::{
    once::{computed_once, once},
    world::programs,
};
use quick_cache::sync::Cache;

programs![computed_once::<Cache<u64, u64>>, computed_once::<ByGuard>];

struct ByGuard(Cache<u64, u64>);

once! {
    Cache<u64, u64>;
    new Cache::new(100);
    get(self, key, compute) {
        let compute = async { Ok::<_, ()>(compute.await) };
        self.get_or_insert_async(&key, compute).await.unwrap()
    };

    ByGuard;
    new Self(Cache::new(100));
    get(self, key, compute) match self.0.get_value_or_guard_async(&key).await {
        Ok(value) => value,
        Err(guard) => {
            let value = compute.await;
            guard.insert(value).unwrap();
            value
        }
    };
}
