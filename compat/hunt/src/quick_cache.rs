//! quick_cache 0.7.0.

use crate::{
    once::{Once, computed_once},
    world::{Program, program},
};
use quick_cache::sync::Cache;

pub const PROGRAMS: &[Program] = &[
    program!(computed_once::<Cache<u64, u64>>),
    program!(computed_once::<ByGuard>),
];

impl Once for Cache<u64, u64> {
    fn new() -> Self {
        Self::new(100)
    }

    async fn get<F: Future<Output = u64> + Send>(&self, key: u64, compute: F) -> u64 {
        let compute = async { Ok::<_, ()>(compute.await) };
        self.get_or_insert_async(&key, compute).await.unwrap()
    }
}

struct ByGuard(Cache<u64, u64>);

impl Once for ByGuard {
    fn new() -> Self {
        Self(Cache::new(100))
    }

    async fn get<F: Future<Output = u64> + Send>(&self, key: u64, compute: F) -> u64 {
        match self.0.get_value_or_guard_async(&key).await {
            Ok(value) => value,
            Err(guard) => {
                let value = compute.await;
                guard.insert(value).unwrap();
                value
            }
        }
    }
}
