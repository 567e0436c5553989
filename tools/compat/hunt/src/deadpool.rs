//! deadpool 0.13.1: both pools.

use crate::{
    semaphore::{conservation, semaphore},
    world::{below, programs, rest},
};
use deadpool::{managed, unmanaged};

programs![
    conservation::<unmanaged::Pool<()>>,
    conservation::<managed::Pool<Maker>>,
];

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

semaphore! {
    unmanaged::Pool<()>, MOST = 1;
    new(objects) Self::from(vec![(); objects]);
    acquire(self, _) self.get().await.unwrap();
    available(self) self.status().available;

    managed::Pool<Maker>, MOST = 1;
    new(objects) Self::builder(Maker).max_size(objects).build().unwrap();
    acquire(self, _) loop {
        if let Ok(object) = self.get().await {
            break object;
        }
    };
    available(self) {
        // All objects that exist are in the pool, and the others can be made.
        let status = self.status();
        assert_eq!((status.available, status.waiting), (status.size, 0));
        assert!(status.size <= status.max_size);
        status.max_size
    };
}
