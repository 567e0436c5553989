//! nio's runtime: a thread for each core, and tasks that may move between them.

use std::future::Future;

use nio::{JoinHandle, Runtime as Threads, RuntimeBuilder};

use crate::runtime::{Pool, Runtime, leak};

/// A runtime.
pub struct Nio(Threads);

impl Pool for Nio {
    fn start(workers: usize) -> &'static Self {
        let workers = u8::try_from(workers).expect("no more workers than nio can have");
        let started = RuntimeBuilder::new().worker_threads(workers).rt();
        leak(Self(started.expect("threads can be started")))
    }
}

impl Runtime for Nio {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    fn spawn<T, F>(&'static self, future: F) -> JoinHandle<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        nio::spawn(future)
    }

    fn spawn_outside<T, F>(&'static self, future: F) -> JoinHandle<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.0.spawn(future)
    }

    detached_by_drop!(JoinHandle);
}
