//! Executors and functions that put a future into a box before they run it. Whatever a task does is
//! compiled for each type of future, and these tests have a thousand of them: boxed, tasks differ
//! by their outputs alone. What depends on the type of a future is tested without a box: in
//! `allocations`, by the tests of `joint`, and wherever a test starts a task by `spawn_now`, in a
//! scope or in a set.

use std::{
    future::Future,
    ops::Deref,
    pin::{Pin, pin},
};

use joint_executor::{Builder, JoinHandle};

/// A future of a task that any thread may run.
pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

fn boxed<T>(future: impl Future<Output = T> + Send + 'static) -> Boxed<T> {
    Box::pin(future)
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let future: Pin<&mut dyn Future<Output = T>> = pin!(future);
    joint_executor::block_on(future)
}

#[track_caller]
pub(crate) fn spawn<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    joint_executor::spawn(boxed(future))
}

#[track_caller]
pub(crate) fn spawn_detached<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) {
    joint_executor::spawn_detached(boxed(future));
}

#[track_caller]
pub(crate) fn spawn_local<T: 'static>(future: impl Future<Output = T> + 'static) -> JoinHandle<T> {
    let future: Pin<Box<dyn Future<Output = T>>> = Box::pin(future);
    joint_executor::spawn_local(future)
}

#[derive(Debug)]
pub(crate) struct Executor(joint_executor::Executor);

impl Executor {
    pub(crate) fn builder() -> Builder {
        joint_executor::Executor::builder()
    }

    pub(crate) fn global() -> &'static joint_executor::Executor {
        joint_executor::Executor::global()
    }

    #[track_caller]
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.0.spawn(boxed(future))
    }

    #[track_caller]
    pub(crate) fn spawn_on<T: Send + 'static>(
        &self,
        worker: usize,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.0.spawn_on(worker, boxed(future))
    }

    #[track_caller]
    pub(crate) fn spawn_detached<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) {
        self.0.spawn_detached(boxed(future));
    }

    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        let future: Pin<&mut dyn Future<Output = T>> = pin!(future);
        self.0.block_on(future)
    }
}

impl From<joint_executor::Executor> for Executor {
    fn from(executor: joint_executor::Executor) -> Self {
        Self(executor)
    }
}

impl From<Executor> for joint_executor::Executor {
    fn from(executor: Executor) -> Self {
        executor.0
    }
}

impl Deref for Executor {
    type Target = joint_executor::Executor;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
