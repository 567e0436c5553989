//! Floors: the work of a row with little machinery, as contestants that nobody would use.
//!
//! A task is one block from a list of free ones (`blocks.rs`), with a function pointer, and a waker
//! is its address. Nothing is counted and nothing is checked. A task must be woken at most once
//! before it is polled, by the thread that runs it, and neither after its end nor while it is being
//! cancelled. The rows do no more.

mod blocks;
pub mod channel;
mod outside;
mod ring;
mod task;

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::Barrier,
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

pub use outside::BarePool;
pub use task::{Handle, Runnable, spawn, spawn_detached};

use crate::runtime::Runtime;

/// The name of these contestants in the tables.
pub const FLOOR: &str = "floor";

/// A ring of tasks, on the thread that calls it. The end of a task takes no atomic operation.
pub struct Bare;

/// Polls a future once, which must be enough.
fn ready<F: Future>(future: Pin<&mut F>) -> F::Output {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing is left to run, and the task waits"),
    }
}

/// Runs the tasks of this thread until none is left.
fn run<T>(handle: Handle<T>) -> T {
    while let Some(runnable) = ring::pop() {
        runnable.run();
    }
    ready(pin!(handle))
}

impl Runtime for Bare {
    type Handle<T: Send + 'static> = Handle<T>;

    fn spawn<T, F>(&'static self, future: F) -> Handle<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let (runnable, handle) = spawn(future, ring::push);
        ring::push(runnable);
        handle
    }

    fn spawn_detached<F>(&'static self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        ring::push(spawn_detached(future, ring::push));
    }

    cancelled_by_drop!(Handle);

    fn run<T, F>(&'static self, future: F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        run(self.spawn(future))
    }
}

/// Runs the same work on several threads, and returns the time from when the first has begun until
/// all have ended.
pub fn on_threads(count: usize, work: impl Fn(usize) + Sync) -> Duration {
    let begin = Barrier::new(count);
    thread::scope(|scope| {
        let one = |i| {
            let (begin, work) = (&begin, &work);
            // The threads read the clock, because they may have ended before the caller runs again.
            scope.spawn(move || {
                begin.wait();
                let start = Instant::now();
                work(i);
                (start, Instant::now())
            })
        };
        let all: Vec<_> = (0..count).map(one).collect();
        let spans = all
            .into_iter()
            .map(|thread| thread.join().expect("no panics"));
        let (starts, ends): (Vec<_>, Vec<_>) = spans.unzip();
        let last = ends.into_iter().max().expect("there is a thread");
        last - starts.into_iter().min().expect("there is a thread")
    })
}

/// Runs each future where it is spawned: a plain recursion for the rows that are recursive.
pub struct InPlace;

impl Runtime for InPlace {
    type Handle<T: Send + 'static> = T;

    fn spawn<T, F>(&'static self, future: F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        ready(pin!(future))
    }

    async fn join<T: Send + 'static>(output: T) -> T {
        output
    }

    fn detach<T: Send + 'static>(output: T) {
        drop(output);
    }

    fn cancel<T: Send + 'static>(output: T) {
        drop(output);
    }

    fn run<T, F>(&'static self, future: F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.spawn(future)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering::Relaxed},
        },
    };

    use super::*;
    use crate::runtime::{Pool, Yield};

    struct CountsDrop(Arc<AtomicUsize>);

    impl Drop for CountsDrop {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    fn each_is_joined<R: Runtime>(runtime: &'static R) {
        let sum = runtime.run(async move {
            let one = |i: usize| {
                runtime.spawn(async move {
                    Yield::default().await;
                    i
                })
            };
            let mut sum = 0;
            for handle in (0..100).map(one).collect::<Vec<_>>() {
                sum += R::join(handle).await;
            }
            sum
        });
        assert_eq!(sum, 4_950);
    }

    #[test]
    fn each_task_is_joined() {
        each_is_joined(&Bare);
        each_is_joined(BarePool::start(1));
    }

    #[test]
    fn all_that_a_task_holds_is_dropped_once() {
        let drops = Arc::new(AtomicUsize::new(0));
        let counts = || CountsDrop(drops.clone());
        let (joined, detached, cancelled) = (counts(), counts(), counts());
        Bare.run(async {
            drop(Bare::join(Bare.spawn(async { joined })).await);
            Bare.spawn_detached(async { drop(detached) });
            let waits = Bare.spawn(async {
                let _held = cancelled;
                pending::<()>().await;
            });
            Yield::default().await;
            Bare::cancel(waits);
        });
        assert_eq!(drops.load(Relaxed), 3);
    }

    #[test]
    fn a_task_spawned_from_another_thread_runs_on_the_pool() {
        let pool = BarePool::start(1);
        let here = std::thread::current().id();
        for _ in 0..3 {
            let handle = pool.spawn_outside(async { std::thread::current().id() });
            assert_ne!(joint::block_on(BarePool::join(handle)), here);
        }
    }

    #[test]
    fn a_value_is_handed_over_or_dropped() {
        let drops = Arc::new(AtomicUsize::new(0));
        let value = || CountsDrop(drops.clone());
        let (sender, receiver) = channel::channel();
        let waits = std::thread::spawn(|| joint::block_on(receiver).is_ok());
        assert!(sender.send(value()).is_ok());
        assert!(waits.join().expect("no panics"));
        let (sender, receiver) = channel::channel();
        assert!(sender.send(value()).is_ok());
        drop(receiver);
        let (sender, receiver) = channel::channel();
        drop(receiver);
        assert!(sender.send(value()).is_err());
        let (sender, receiver) = channel::channel::<CountsDrop>();
        drop(sender);
        assert!(ready(pin!(receiver)).is_err());
        assert_eq!(drops.load(Relaxed), 3);
    }

    #[test]
    fn in_place_is_a_recursion() {
        let output = InPlace.run(async { InPlace::join(InPlace.spawn(async { 7 })).await });
        assert_eq!(output, 7);
    }
}
