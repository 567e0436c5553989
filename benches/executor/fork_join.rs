//! Fork and join on the stack: fib by two closures, of which another thread may take one.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use joint_executor::Executor;

#[cfg(joint_peers)]
use joint_benches::forks::Forte;
use joint_benches::{
    forks::{Forks, plain},
    runtime::leak,
    table::{Run, Table},
};

/// A number, and how many joins its fib makes.
type Fib = (u32, u64);
const WARM: Fib = (25, 121_392);
const COLD: Fib = (20, 10_945);

/// Each contestant has two threads: either the calling thread takes part, or it waits for two
/// others.
const THREADS: usize = 2;

pub(crate) fn table(budget: Duration) -> Table {
    let table = Table::new("fork and join on the stack, two threads", budget)
        .with_runs("joint", rows(warm::<Executor>(), cold::<Executor>))
        .with_runs("plain recursion", rows(Box::new(plain), plain))
        .floor()
        .with_runs(
            "chili",
            rows(warm::<chili::ThreadPool>(), cold::<chili::ThreadPool>),
        )
        .with_runs(
            "rayon",
            rows(warm::<rayon::ThreadPool>(), cold::<rayon::ThreadPool>),
        );
    #[cfg(joint_peers)]
    let table = table.with_runs(
        "forte",
        rows(warm::<Forte>(), |n| {
            static POOL: forte::ThreadPool = forte::ThreadPool::new();
            Forte::on(&POOL, THREADS).fib(n)
        }),
    );
    table
}

/// On threads that are there before the time runs.
fn warm<T: Forks + 'static>() -> Box<dyn Fn(u32) -> u64> {
    let threads = leak(T::start(THREADS));
    Box::new(|n| threads.fib(n))
}

fn cold<T: Forks>(n: u32) -> u64 {
    T::start(THREADS).fib(n)
}

fn rows(warm: Box<dyn Fn(u32) -> u64>, cold: fn(u32) -> u64) -> [(&'static str, u64, Run); 2] {
    [
        row("fib(25), per join", WARM, warm),
        row(
            "fib(20), threads started and stopped, per join",
            COLD,
            Box::new(cold),
        ),
    ]
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
