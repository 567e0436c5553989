//! joint's executor of one thread.

use std::future::Future;

use joint::JoinHandle;
use joint_executor::{LocalExecutor, spawn_local};

use crate::runtime::Runtime;

/// Each thread's own executor.
pub struct JointLocal;

thread_local! {
    static EXECUTOR: LocalExecutor = LocalExecutor::new();
}

impl Runtime for JointLocal {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    fn spawn<T, F>(&'static self, future: F) -> JoinHandle<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        spawn_local(future)
    }

    fn spawn_detached<F>(&'static self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        EXECUTOR.with(|executor| executor.spawn_detached(future));
    }

    cancelled_by_drop!(JoinHandle);

    fn yield_now() -> impl Future<Output = ()> + Send {
        joint_executor::yield_now()
    }

    fn run<T, F>(&'static self, future: F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        EXECUTOR.with(|executor| executor.block_on(executor.spawn(future)))
    }
}
