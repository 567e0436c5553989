//! tokio's multi-threaded runtime.

use std::future::Future;

use tokio::{
    runtime::{Builder, Runtime as Tokio},
    task::JoinHandle,
};

use crate::support::runtime::{Pool, Runtime, leak};

pub(crate) struct TokioPool(Tokio);

impl Pool for TokioPool {
    fn start(workers: usize) -> &'static Self {
        let started = Builder::new_multi_thread().worker_threads(workers).build();
        leak(Self(started.expect("threads to be had")))
    }
}

impl Runtime for TokioPool {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    fn spawn<T, F>(&'static self, future: F) -> JoinHandle<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        tokio::spawn(future)
    }

    fn spawn_outside<T, F>(&'static self, future: F) -> JoinHandle<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.0.spawn(future)
    }

    async fn join<T: Send + 'static>(handle: JoinHandle<T>) -> T {
        handle.await.expect("no task fails")
    }

    fn detach<T: Send + 'static>(handle: JoinHandle<T>) {
        drop(handle);
    }

    fn cancel<T: Send + 'static>(handle: JoinHandle<T>) {
        handle.abort();
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }
}
