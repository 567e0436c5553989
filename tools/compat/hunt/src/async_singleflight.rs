//! async_singleflight 0.6.2.

use crate::{
    once::{computed_once, once},
    world::programs,
};
use async_singleflight::{Group, UnaryGroup};

programs![
    computed_once::<Group<u64, u64, ()>>,
    computed_once::<UnaryGroup<u64, u64>>,
];

once! {
    Group<u64, u64, ()>, STAYS: bool = false;
    new Group::new();
    get(self, key, compute) self.work(&key, async { Ok(compute.await) }).await.unwrap();

    UnaryGroup<u64, u64>, STAYS: bool = false;
    new UnaryGroup::new();
    get(self, key, compute) self.work(&key, compute).await;
}
