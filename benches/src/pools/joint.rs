//! joint's executor.

use std::future::Future;

use joint::JoinHandle;
use joint_executor::Executor;

use crate::runtime::{Pool, Runtime, leak};

/// An executor.
pub struct Joint(Executor);

impl Pool for Joint {
    fn start(workers: usize) -> &'static Self {
        let started = Executor::builder().workers(workers).build();
        leak(Self(started.expect("threads can be started")))
    }
}

impl Runtime for Joint {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    fn spawn<T, F>(&'static self, future: F) -> JoinHandle<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        joint_executor::spawn(future)
    }

    fn spawn_outside<T, F>(&'static self, future: F) -> JoinHandle<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.0.spawn(future)
    }

    fn spawn_detached<F>(&'static self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        joint_executor::spawn_detached(future);
    }

    fn spawn_outside_detached<F>(&'static self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.0.spawn_detached(future);
    }

    cancelled_by_drop!(JoinHandle);

    fn yield_now() -> impl Future<Output = ()> + Send {
        joint_executor::yield_now()
    }
}
