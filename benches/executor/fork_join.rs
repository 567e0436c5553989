//! Fork and join on the stack: fib by two closures, of which another thread may take one.

use std::time::Duration;

use joint_executor::Executor;

#[cfg(joint_peers)]
use joint_benches::forks::Forte;
use joint_benches::{
    forks::{Fib, Forks, plain, row, warm},
    table::{NamedRun, Table},
};

/// Each contestant has two threads: either the calling thread takes part, or it waits for two
/// others.
const THREADS: usize = 2;

pub(crate) fn table(budget: Duration) -> Table {
    let table = Table::new("fork and join on the stack, two threads", budget)
        .with_runs("joint", both::<Executor>())
        .with_runs("plain recursion", rows(Box::new(plain), plain))
        .floor()
        .with_runs("chili", both::<chili::ThreadPool>())
        .with_runs("rayon", both::<rayon::ThreadPool>());
    #[cfg(joint_peers)]
    let table = table.with_runs(
        "forte",
        rows(warm::<Forte>(THREADS), |n| {
            static POOL: forte::ThreadPool = forte::ThreadPool::new();
            Forte::on(&POOL, THREADS).fib(n)
        }),
    );
    table
}

fn both<T: Forks + 'static>() -> [NamedRun; 2] {
    rows(warm::<T>(THREADS), |n| T::start(THREADS).fib(n))
}

fn rows(warm: Fib, cold: fn(u32) -> u64) -> [NamedRun; 2] {
    [
        row("fib(25), per join", 25, warm),
        row(
            "fib(20), threads started and stopped, per join",
            20,
            Box::new(cold),
        ),
    ]
}
