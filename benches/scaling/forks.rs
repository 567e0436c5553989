//! Fork and join on the stack.

use std::{hint::black_box, num::NonZero, time::Instant};

use joint::Executor;
use joint_benches::{runtime::leak, table::Run};

use super::work::NamedRun;

/// The joins that fib of this number makes.
const FIB: (u32, u64) = (25, 121_392);

fn row(fib: impl Fn(u32) -> u64 + 'static) -> [NamedRun; 1] {
    let run: Run = Box::new(move || {
        let start = Instant::now();
        assert_eq!(fib(black_box(FIB.0)), 75_025);
        start.elapsed()
    });
    [("fib(25) on the stack, per join", FIB.1, run)]
}

/// The calling thread takes part, or waits, beside this many.
pub(crate) fn with_joint(workers: usize) -> [NamedRun; 1] {
    fn fib(n: u32) -> u64 {
        if n < 2 {
            return u64::from(n);
        }
        let (one, other) = joint::join(|| fib(black_box(n - 1)), || fib(black_box(n - 2)));
        one + other
    }
    let executor = Executor::builder().workers(workers).build();
    let executor = leak(executor.expect("threads can be started"));
    row(|n| executor.install(|| fib(n)))
}

pub(crate) fn with_rayon(workers: usize) -> [NamedRun; 1] {
    fn fib(n: u32) -> u64 {
        if n < 2 {
            return u64::from(n);
        }
        let (one, other) = rayon::join(|| fib(black_box(n - 1)), || fib(black_box(n - 2)));
        one + other
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build();
    let pool = leak(pool.expect("threads can be started"));
    row(|n| pool.install(|| fib(n)))
}

pub(crate) fn with_chili(workers: usize) -> [NamedRun; 1] {
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
    let config = chili::Config {
        thread_count: NonZero::new(workers),
        ..chili::Config::default()
    };
    let pool = leak(chili::ThreadPool::with_config(config));
    row(|n| fib(&mut pool.scope(), n))
}
