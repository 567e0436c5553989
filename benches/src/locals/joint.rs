//! joint's executor of one thread.

use joint::JoinHandle;
use joint_executor::{LocalExecutor, spawn_local, spawn_local_now};

use crate::runtime::{Runtime, Work};

/// Each thread's own executor.
pub struct JointLocal;

thread_local! {
    static EXECUTOR: LocalExecutor = LocalExecutor::new();
}

impl Runtime for JointLocal {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    fn spawn<F: Work>(&'static self, future: F) -> JoinHandle<F::Output> {
        spawn_local(future)
    }

    fn spawn_now<F: Work>(&'static self, future: F) -> JoinHandle<F::Output> {
        spawn_local_now(future)
    }

    fn spawn_detached<F: Work<Output = ()>>(&'static self, future: F) {
        EXECUTOR.with(|executor| executor.spawn_detached(future));
    }

    cancelled_by_drop!(JoinHandle);

    fn yield_now() -> impl Future<Output = ()> + Send {
        joint_executor::yield_now()
    }

    fn run<F: Work>(&'static self, future: F) -> F::Output {
        EXECUTOR.with(|executor| executor.block_on(executor.spawn(future)))
    }
}
