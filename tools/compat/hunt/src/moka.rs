//! moka 0.12.16, its asynchronous cache.

use crate::{
    once::{computed_once, once},
    world::programs,
};
use moka::future::Cache;

programs![computed_once::<Cache<u64, u64>>];

once! {
    Cache<u64, u64>;
    new Cache::new(100);
    get(self, key, compute) self.get_with(key, compute).await;
}
