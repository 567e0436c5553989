//! Fork and join on the stack: fib by two closures, of which another thread may take one.

use std::{
    hint::black_box,
    num::NonZero,
    time::{Duration, Instant},
};

use joint::Executor;

use joint_benches::{
    runtime::leak,
    table::{Run, Table},
};

/// The joins that fib of this number makes.
const FIB: (u32, u64) = (25, 121_392);
const ROW: &str = "fib(25), per join";

/// Each contestant has two threads: either the calling thread takes part, or it waits for two
/// others.
pub(crate) fn table(budget: Duration) -> Table {
    let row = |fib: Box<dyn Fn(u32) -> u64>| {
        let run: Run = Box::new(move || {
            let start = Instant::now();
            assert_eq!(fib(black_box(FIB.0)), 75_025);
            start.elapsed()
        });
        [(ROW, FIB.1, run)]
    };
    let table = Table::new("fork and join on the stack, two threads", budget)
        .with_runs("joint", row(with_joint()))
        .with_runs("plain recursion", row(Box::new(plain)))
        .floor()
        .with_runs("chili", row(with_chili()))
        .with_runs("rayon", row(with_rayon()));
    #[cfg(joint_peers)]
    let table = table.with_runs("forte", row(with_forte()));
    table
}

fn plain(n: u32) -> u64 {
    match n {
        0 | 1 => u64::from(n),
        _ => plain(black_box(n - 1)) + plain(black_box(n - 2)),
    }
}

fn with_joint() -> Box<dyn Fn(u32) -> u64> {
    fn fib(n: u32) -> u64 {
        if n < 2 {
            return u64::from(n);
        }
        let (one, other) = joint::join(|| fib(black_box(n - 1)), || fib(black_box(n - 2)));
        one + other
    }
    let executor = Executor::builder().workers(2).build();
    let executor = leak(executor.expect("threads can be started"));
    Box::new(|n| executor.install(|| fib(n)))
}

fn with_chili() -> Box<dyn Fn(u32) -> u64> {
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
        thread_count: NonZero::new(2),
        ..chili::Config::default()
    };
    let pool = leak(chili::ThreadPool::with_config(config));
    Box::new(|n| fib(&mut pool.scope(), n))
}

fn with_rayon() -> Box<dyn Fn(u32) -> u64> {
    fn fib(n: u32) -> u64 {
        if n < 2 {
            return u64::from(n);
        }
        let (one, other) = rayon::join(|| fib(black_box(n - 1)), || fib(black_box(n - 2)));
        one + other
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let pool = leak(pool.expect("threads can be started"));
    Box::new(|n| pool.install(|| fib(n)))
}

#[cfg(joint_peers)]
fn with_forte() -> Box<dyn Fn(u32) -> u64> {
    use forte::{ThreadPool, Worker};

    fn fib(worker: &Worker, n: u32) -> u64 {
        if n < 2 {
            return u64::from(n);
        }
        let (one, other) = worker.join(
            |worker| fib(worker, black_box(n - 1)),
            |worker| fib(worker, black_box(n - 2)),
        );
        one + other
    }
    let pool = leak(ThreadPool::new());
    pool.resize_to(1);
    Box::new(|n| pool.with_worker(|worker| fib(worker, n)))
}
