//! fib by two closures, of which another thread may take one: on joint, chili, rayon and forte.

use std::{hint::black_box, num::NonZero, time::Instant};

use joint_executor::Executor;

use crate::{runtime::leak, table::NamedRun};

/// Threads that fork and join on the stack.
pub trait Forks {
    /// Starts that many threads, or one fewer if the caller takes part.
    fn start(threads: usize) -> Self;

    /// Computes a Fibonacci number.
    fn fib(&self, n: u32) -> u64;
}

/// Computes a Fibonacci number.
pub type Fib = Box<dyn Fn(u32) -> u64>;

/// On threads that are there before the time runs.
pub fn warm<T: Forks + 'static>(threads: usize) -> Fib {
    let threads = leak(T::start(threads));
    Box::new(|n| threads.fib(n))
}

/// A row of fib(n), whose operations are its joins.
///
/// # Panics
///
/// If the run computes something else.
pub fn row(title: &'static str, n: u32, fib: Fib) -> NamedRun {
    let expected = plain(n);
    let run = move || {
        let start = Instant::now();
        assert_eq!(fib(black_box(n)), expected);
        start.elapsed()
    };
    // As many joins as the next number, less one.
    (title, plain(n + 1) - 1, Box::new(run))
}

/// The floor: the same calls, without the offer to another thread.
pub fn plain(n: u32) -> u64 {
    match n {
        0 | 1 => u64::from(n),
        _ => plain(black_box(n - 1)) + plain(black_box(n - 2)),
    }
}

impl Forks for Executor {
    fn start(threads: usize) -> Self {
        let executor = Self::builder().workers(threads).build();
        executor.expect("threads can be started")
    }

    fn fib(&self, n: u32) -> u64 {
        fn fib(n: u32) -> u64 {
            if n < 2 {
                return u64::from(n);
            }
            let (one, other) =
                joint_executor::join(|| fib(black_box(n - 1)), || fib(black_box(n - 2)));
            one + other
        }
        self.install(|| fib(n))
    }
}

impl Forks for chili::ThreadPool {
    fn start(threads: usize) -> Self {
        Self::with_config(chili::Config {
            thread_count: NonZero::new(threads),
            ..chili::Config::default()
        })
    }

    fn fib(&self, n: u32) -> u64 {
        fn fib(scope: &mut chili::Scope<'_>, n: u32) -> u64 {
            if n < 2 {
                return u64::from(n);
            }
            let (one, other) = scope.join(
                |scope| fib(scope, black_box(n - 1)),
                |scope| fib(scope, black_box(n - 2)),
            );
            one + other
        }
        fib(&mut self.scope(), n)
    }
}

impl Forks for rayon::ThreadPool {
    fn start(threads: usize) -> Self {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads can be started")
    }

    fn fib(&self, n: u32) -> u64 {
        fn fib(n: u32) -> u64 {
            if n < 2 {
                return u64::from(n);
            }
            let (one, other) = rayon::join(|| fib(black_box(n - 1)), || fib(black_box(n - 2)));
            one + other
        }
        self.install(|| fib(n))
    }
}

/// A pool of forte, whose threads end when this is dropped. The pool itself never ends.
#[cfg(joint_peers)]
pub struct Forte(&'static forte::ThreadPool);

#[cfg(joint_peers)]
impl Forte {
    /// Starts the threads of a pool that has none.
    pub fn on(pool: &'static forte::ThreadPool, threads: usize) -> Self {
        pool.resize_to(threads - 1);
        Self(pool)
    }
}

#[cfg(joint_peers)]
impl Forks for Forte {
    fn start(threads: usize) -> Self {
        Self::on(leak(forte::ThreadPool::new()), threads)
    }

    fn fib(&self, n: u32) -> u64 {
        fn fib(worker: &forte::Worker, n: u32) -> u64 {
            if n < 2 {
                return u64::from(n);
            }
            let (one, other) = worker.join(
                |worker| fib(worker, black_box(n - 1)),
                |worker| fib(worker, black_box(n - 2)),
            );
            one + other
        }
        self.0.with_worker(|worker| fib(worker, n))
    }
}

#[cfg(joint_peers)]
impl Drop for Forte {
    fn drop(&mut self) {
        self.0.depopulate();
    }
}
