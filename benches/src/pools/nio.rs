//! nio's runtime: a thread for each core, and tasks that may move between them.

use nio::{JoinHandle, Runtime as Threads, RuntimeBuilder};

use crate::runtime::{Pool, Runtime, Work, leak};

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

    fn spawn<F: Work>(&'static self, future: F) -> JoinHandle<F::Output> {
        nio::spawn(future)
    }

    fn spawn_outside<F: Work>(&'static self, future: F) -> JoinHandle<F::Output> {
        self.0.spawn(future)
    }

    detached_by_drop!(JoinHandle);
}
