//! joint's executor.

use joint::JoinHandle;
use joint_executor::Executor;

use crate::runtime::{Pool, Runtime, Work, leak};

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

    fn spawn<F: Work>(&'static self, future: F) -> JoinHandle<F::Output> {
        joint_executor::spawn(future)
    }

    fn spawn_outside<F: Work>(&'static self, future: F) -> JoinHandle<F::Output> {
        self.0.spawn(future)
    }

    fn spawn_now<F: Work>(&'static self, future: F) -> JoinHandle<F::Output> {
        joint_executor::spawn_now(future)
    }

    fn spawn_detached<F: Work<Output = ()>>(&'static self, future: F) {
        joint_executor::spawn_detached(future);
    }

    fn spawn_outside_detached<F: Work<Output = ()>>(&'static self, future: F) {
        self.0.spawn_detached(future);
    }

    cancelled_by_drop!(JoinHandle);

    fn yield_now() -> impl Future<Output = ()> + Send {
        joint_executor::yield_now()
    }
}
