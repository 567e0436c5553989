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

/// A number, and how many joins its fib makes.
type Fib = (u32, u64);
const WARM: Fib = (25, 121_392);
const COLD: Fib = (20, 10_945);

/// Each contestant has two threads: either the calling thread takes part, or it waits for two
/// others.
pub(crate) fn table(budget: Duration) -> Table {
    let rows = |fib: Box<dyn Fn(u32) -> u64>, with_new_threads: fn(u32) -> u64| {
        [
            row("fib(25), per join", WARM, fib),
            row(
                "fib(20), threads started and stopped, per join",
                COLD,
                Box::new(with_new_threads),
            ),
        ]
    };
    let table = Table::new("fork and join on the stack, two threads", budget)
        .with_runs("joint", rows(with_joint(), |n| install(&executor(), n)))
        .with_runs("plain recursion", rows(Box::new(plain), plain))
        .floor()
        .with_runs(
            "chili",
            rows(with_chili(), |n| in_chili(&mut chili_pool().scope(), n)),
        )
        .with_runs(
            "rayon",
            rows(with_rayon(), |n| rayon_pool().install(|| in_rayon(n))),
        );
    #[cfg(joint_peers)]
    let table = table.with_runs("forte", rows(with_forte(), in_new_forte));
    table
}

fn row(
    name: &'static str,
    (n, joins): Fib,
    fib: Box<dyn Fn(u32) -> u64>,
) -> (&'static str, u64, Run) {
    let expected = plain(n);
    let run = move || {
        let start = Instant::now();
        assert_eq!(fib(black_box(n)), expected);
        start.elapsed()
    };
    (name, joins, Box::new(run))
}

fn plain(n: u32) -> u64 {
    match n {
        0 | 1 => u64::from(n),
        _ => plain(black_box(n - 1)) + plain(black_box(n - 2)),
    }
}

fn executor() -> Executor {
    let executor = Executor::builder().workers(2).build();
    executor.expect("threads can be started")
}

fn install(executor: &Executor, n: u32) -> u64 {
    fn fib(n: u32) -> u64 {
        if n < 2 {
            return u64::from(n);
        }
        let (one, other) = joint::join(|| fib(black_box(n - 1)), || fib(black_box(n - 2)));
        one + other
    }
    executor.install(|| fib(n))
}

fn with_joint() -> Box<dyn Fn(u32) -> u64> {
    let executor = leak(executor());
    Box::new(|n| install(executor, n))
}

fn chili_pool() -> chili::ThreadPool {
    chili::ThreadPool::with_config(chili::Config {
        thread_count: NonZero::new(2),
        ..chili::Config::default()
    })
}

fn in_chili(scope: &mut chili::Scope<'_>, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (one, other) = scope.join(
        |scope| in_chili(scope, black_box(n - 1)),
        |scope| in_chili(scope, black_box(n - 2)),
    );
    one + other
}

fn with_chili() -> Box<dyn Fn(u32) -> u64> {
    let pool = leak(chili_pool());
    Box::new(|n| in_chili(&mut pool.scope(), n))
}

fn rayon_pool() -> rayon::ThreadPool {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    pool.expect("threads can be started")
}

fn in_rayon(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (one, other) = rayon::join(|| in_rayon(black_box(n - 1)), || in_rayon(black_box(n - 2)));
    one + other
}

fn with_rayon() -> Box<dyn Fn(u32) -> u64> {
    let pool = leak(rayon_pool());
    Box::new(|n| pool.install(|| in_rayon(n)))
}

#[cfg(joint_peers)]
fn in_forte(worker: &forte::Worker, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (one, other) = worker.join(
        |worker| in_forte(worker, black_box(n - 1)),
        |worker| in_forte(worker, black_box(n - 2)),
    );
    one + other
}

#[cfg(joint_peers)]
fn with_forte() -> Box<dyn Fn(u32) -> u64> {
    let pool = leak(forte::ThreadPool::new());
    pool.resize_to(1);
    Box::new(|n| pool.with_worker(|worker| in_forte(worker, n)))
}

#[cfg(joint_peers)]
fn in_new_forte(n: u32) -> u64 {
    // forte's pools are never dropped.
    static POOL: forte::ThreadPool = forte::ThreadPool::new();
    POOL.resize_to(1);
    let fib = POOL.with_worker(|worker| in_forte(worker, n));
    POOL.depopulate();
    fib
}
