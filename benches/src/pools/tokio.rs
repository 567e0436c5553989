//! tokio's multi-threaded runtime.

use tokio::{
    runtime::{Builder, Runtime as Tokio},
    task::JoinHandle,
};

use crate::runtime::{Pool, Runtime, Work, leak};

/// A runtime with timers and descriptors or without.
pub struct Multi<const DRIVEN: bool>(Tokio);

/// Without timers and descriptors.
pub type TokioPool = Multi<false>;
/// With timers and descriptors.
pub type DrivenTokioPool = Multi<true>;

impl<const DRIVEN: bool> Pool for Multi<DRIVEN> {
    fn start(workers: usize) -> &'static Self {
        let mut builder = Builder::new_multi_thread();
        if DRIVEN {
            builder.enable_all();
        }
        let started = builder.worker_threads(workers).build();
        leak(Self(started.expect("threads can be started")))
    }
}

impl<const DRIVEN: bool> Runtime for Multi<DRIVEN> {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    fn spawn<F: Work>(&'static self, future: F) -> JoinHandle<F::Output> {
        tokio::spawn(future)
    }

    fn spawn_outside<F: Work>(&'static self, future: F) -> JoinHandle<F::Output> {
        self.0.spawn(future)
    }

    detached_by_drop!(JoinHandle);

    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }
}
