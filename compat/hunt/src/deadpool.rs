//! deadpool 0.13.1: both pools.

use crate::{
    semaphore::{Semaphore, conservation},
    world::{Program, below, program, rest},
};
use deadpool::{managed, unmanaged};

pub const PROGRAMS: &[Program] = &[
    program!(conservation::<unmanaged::Pool<()>>),
    program!(conservation::<managed::Pool<Maker>>),
];

impl Semaphore for unmanaged::Pool<()> {
    const MOST: usize = 1;

    fn new(permits: usize) -> Self {
        Self::from(vec![(); permits])
    }

    async fn acquire(&self, _: usize) -> impl Send {
        self.get().await.unwrap()
    }

    fn release(&self, _: usize) {
        unreachable!();
    }

    fn available(&self) -> usize {
        self.status().available
    }
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

impl Semaphore for managed::Pool<Maker> {
    const MOST: usize = 1;

    fn new(permits: usize) -> Self {
        Self::builder(Maker).max_size(permits).build().unwrap()
    }

    async fn acquire(&self, _: usize) -> impl Send {
        loop {
            if let Ok(object) = self.get().await {
                return object;
            }
        }
    }

    fn release(&self, _: usize) {
        unreachable!();
    }

    /// All objects that exist are in the pool, and the others can be made.
    fn available(&self) -> usize {
        let status = self.status();
        assert_eq!((status.available, status.waiting), (status.size, 0));
        assert!(status.size <= status.max_size);
        status.max_size
    }
}
