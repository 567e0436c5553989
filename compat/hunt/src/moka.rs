//! moka 0.12.16, its asynchronous cache.

use crate::{
    once::{Once, computed_once},
    world::{Program, program},
};
use moka::future::Cache;

pub const PROGRAMS: &[Program] = &[program!(computed_once::<Cache<u64, u64>>)];

impl Once for Cache<u64, u64> {
    fn new() -> Self {
        Self::new(100)
    }

    async fn get<F: Future<Output = u64> + Send>(&self, key: u64, compute: F) -> u64 {
        self.get_with(key, compute).await
    }
}
