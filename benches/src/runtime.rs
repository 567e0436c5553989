//! [`Runtime`]: what a row needs from a contestant, so that each row is written once.

use std::hint::black_box;

pub use super::yields::Yield;

/// The future of a task.
pub trait Work: Future<Output: Send + 'static> + Send + 'static {}

impl<F: Future<Output: Send + 'static> + Send + 'static> Work for F {}

/// A runtime that lives as long as the program. Each method is the one that the runtime's
/// documentation recommends for the purpose.
pub trait Runtime: Sync + Sized + 'static {
    /// The handle of a spawned task.
    type Handle<T: Send + 'static>: Send;

    /// Spawns a task from inside a task.
    fn spawn<F: Work>(&'static self, future: F) -> Self::Handle<F::Output>;

    /// Spawns a task from a thread that is not one of the runtime's.
    fn spawn_outside<F: Work>(&'static self, future: F) -> Self::Handle<F::Output> {
        self.spawn(future)
    }

    /// Spawns a task from inside a task, and polls it first on the caller's stack, if the runtime
    /// can.
    fn spawn_now<F: Work>(&'static self, future: F) -> Self::Handle<F::Output> {
        self.spawn(future)
    }

    /// Spawns a task without a handle, from inside a task.
    fn spawn_detached<F: Work<Output = ()>>(&'static self, future: F) {
        Self::detach(self.spawn(future));
    }

    /// Spawns a task without a handle, from a thread that is not one of the runtime's.
    fn spawn_outside_detached<F: Work<Output = ()>>(&'static self, future: F) {
        Self::detach(self.spawn_outside(future));
    }

    /// Waits for the output of a task.
    fn join<T: Send + 'static>(handle: Self::Handle<T>) -> impl Future<Output = T> + Send;

    /// Waits for the outputs of tasks, in this order.
    fn join_all<T: Send + 'static>(
        handles: Vec<Self::Handle<T>>,
    ) -> impl Future<Output = ()> + Send {
        async {
            for handle in handles {
                black_box(Self::join(handle).await);
            }
        }
    }

    /// Drops the handle, and lets the task continue.
    fn detach<T: Send + 'static>(handle: Self::Handle<T>);

    /// Cancels a task, without waiting until it has been dropped.
    fn cancel<T: Send + 'static>(handle: Self::Handle<T>);

    /// Lets other tasks run first.
    fn yield_now() -> impl Future<Output = ()> + Send {
        Yield::default()
    }

    /// Runs a task, and blocks this thread until it has ended.
    fn run<F: Work>(&'static self, future: F) -> F::Output {
        joint::block_on(Self::join(self.spawn_outside(future)))
    }
}

/// A runtime with threads of its own.
pub trait Pool: Runtime {
    /// Starts the threads. They are never stopped.
    fn start(workers: usize) -> &'static Self;
}

/// Leaks a value, so that it lives as long as the program.
pub fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}
