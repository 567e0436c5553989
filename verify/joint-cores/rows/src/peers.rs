//! The schedulers, behind one trait, so that each row is written once.

use joint_executor::Executor;
use loom::Waits;
use tokio::runtime::{Builder, Runtime};

/// The future of a task.
pub trait Work: Future<Output: Send + 'static> + Send + 'static {}

impl<F: Future<Output: Send + 'static> + Send + 'static> Work for F {}

/// A scheduler, which is leaked: a simulation ends without it.
pub trait Peer: Sync + Sized + 'static {
    /// Its name in the tables.
    const NAME: &'static str;
    /// How its mutexes wait.
    const WAITS: Waits;
    /// The handle of a task.
    type Handle<T: Send + 'static>: Send;

    /// Starts it.
    fn start(workers: usize) -> &'static Self;

    /// Spawns a task from inside a task.
    fn spawn<F: Work>(future: F) -> Self::Handle<F::Output>;

    /// Spawns a task from a thread that is not one of its own.
    fn spawn_outside<F: Work>(&'static self, future: F) -> Self::Handle<F::Output>;

    /// Waits for the output of a task.
    fn join<T: Send + 'static>(handle: Self::Handle<T>) -> impl Future<Output = T> + Send;

    /// Lets other tasks run first.
    fn yield_now() -> impl Future<Output = ()> + Send;

    /// Waits for some microseconds.
    fn sleep(microseconds: u64) -> impl Future<Output = ()> + Send;

    /// Runs a task, and blocks this thread until it has ended.
    fn run<F: Work>(&'static self, future: F) -> F::Output {
        joint::block_on(Self::join(self.spawn_outside(future)))
    }
}

/// joint's executor.
pub struct Joint(Executor);

impl Peer for Joint {
    const NAME: &'static str = "joint";
    const WAITS: Waits = Waits::Looks;
    type Handle<T: Send + 'static> = joint::JoinHandle<T>;

    fn start(workers: usize) -> &'static Self {
        let started = Executor::builder().workers(workers).build();
        Box::leak(Box::new(Self(started.expect("threads can be started"))))
    }

    fn spawn<F: Work>(future: F) -> joint::JoinHandle<F::Output> {
        joint_executor::spawn(future)
    }

    fn spawn_outside<F: Work>(&'static self, future: F) -> joint::JoinHandle<F::Output> {
        self.0.spawn(future)
    }

    fn join<T: Send + 'static>(handle: Self::Handle<T>) -> impl Future<Output = T> + Send {
        handle
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        joint_executor::yield_now()
    }

    fn sleep(microseconds: u64) -> impl Future<Output = ()> + Send {
        joint_executor::time::sleep(std::time::Duration::from_micros(microseconds))
    }
}

/// tokio's multi-threaded runtime.
pub struct Tokio(pub Runtime);

impl Peer for Tokio {
    const NAME: &'static str = "tokio";
    /// As the locks of parking_lot do.
    const WAITS: Waits = Waits::Yields;
    type Handle<T: Send + 'static> = tokio::task::JoinHandle<T>;

    fn start(workers: usize) -> &'static Self {
        let mut builder = Builder::new_multi_thread();
        let started = builder.worker_threads(workers).enable_time().build();
        Box::leak(Box::new(Self(started.expect("threads can be started"))))
    }

    fn spawn<F: Work>(future: F) -> Self::Handle<F::Output> {
        tokio::spawn(future)
    }

    fn spawn_outside<F: Work>(&'static self, future: F) -> Self::Handle<F::Output> {
        self.0.spawn(future)
    }

    async fn join<T: Send + 'static>(handle: Self::Handle<T>) -> T {
        handle.await.expect("no task panics")
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }

    fn sleep(microseconds: u64) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(std::time::Duration::from_micros(microseconds))
    }
}
