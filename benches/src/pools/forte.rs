//! forte's thread pool.

use forte::{FutureMarker, Task, ThreadPool};

use crate::runtime::{Pool, Runtime, Work, leak};

/// A thread pool.
pub struct Forte(ThreadPool);

impl Pool for Forte {
    fn start(workers: usize) -> &'static Self {
        let this = leak(Self(ThreadPool::new()));
        this.0.resize_to(workers);
        this
    }
}

impl Runtime for Forte {
    type Handle<T: Send + 'static> = Task<T>;

    /// A task that is spawned this way stays with its worker until another worker is hungry. If it
    /// were spawned through the worker, it would be offered at once, which costs more in every row.
    fn spawn<F: Work>(&'static self, future: F) -> Task<F::Output> {
        self.0.spawn::<FutureMarker, _>(future)
    }

    cancelled_by_drop!(Task);
}
