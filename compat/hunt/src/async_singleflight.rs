//! async_singleflight 0.6.2.

use crate::{
    once::{Once, computed_once},
    world::{Program, program},
};
use async_singleflight::{Group, UnaryGroup};

pub const PROGRAMS: &[Program] = &[
    program!(computed_once::<Group<u64, u64, ()>>),
    program!(computed_once::<UnaryGroup<u64, u64>>),
];

impl Once for Group<u64, u64, ()> {
    const STAYS: bool = false;

    fn new() -> Self {
        Self::new()
    }

    async fn get<F: Future<Output = u64> + Send>(&self, key: u64, compute: F) -> u64 {
        self.work(&key, async { Ok(compute.await) }).await.unwrap()
    }
}

impl Once for UnaryGroup<u64, u64> {
    const STAYS: bool = false;

    fn new() -> Self {
        Self::new()
    }

    async fn get<F: Future<Output = u64> + Send>(&self, key: u64, compute: F) -> u64 {
        self.work(&key, compute).await
    }
}
