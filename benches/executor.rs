//! The executor beside its peers, with two workers each.
//!
//! First a table: the contestants take turns round by round, so that each ratio compares what ran at the same time on the same
//! machine. Then the same rows under criterion, for figures with a history.
//!
//! `cargo bench --bench executor`; with `-- --test` each row runs once.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use criterion::{Criterion, Throughput};
use joint::block_on;

const WORKERS: usize = 2;

/// A row: its name, and how many operations one run of it makes.
const ROWS: [(&str, u64); 6] = [
    ("spawn and join, inside", 1_000),
    ("spawn 10k inside, join", 10_000),
    ("spawn 10k outside, join", 10_000),
    ("yield, 200 x 1000", 200_000),
    ("chained spawn 1000", 1_000),
    ("ping-pong 1000, inside", 1_000),
];

/// One contestant, and what it does in each row.
struct Contestant {
    name: &'static str,
    runs: [fn(); ROWS.len()],
}

mod with_joint {
    use std::{future::Future, sync::LazyLock};

    use joint::{Executor, JoinHandle};
    pub(crate) use joint::{spawn, yield_now};

    static EXECUTOR: LazyLock<Executor> = LazyLock::new(|| {
        let builder = Executor::builder().workers(super::WORKERS);
        builder.build().expect("threads to be had")
    });

    pub(crate) fn spawn_outside<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        EXECUTOR.spawn(future)
    }

    pub(crate) async fn join<T>(handle: JoinHandle<T>) -> T {
        handle.await
    }
}

mod with_tokio {
    use std::{future::Future, sync::LazyLock};

    use tokio::{runtime::Runtime, task::JoinHandle};
    pub(crate) use tokio::{spawn, task::yield_now};

    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(super::WORKERS).build();
        runtime.expect("threads to be had")
    });

    pub(crate) fn spawn_outside<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        RUNTIME.spawn(future)
    }

    pub(crate) async fn join<T>(handle: JoinHandle<T>) -> T {
        handle.await.expect("no task fails")
    }
}

mod with_async_executor {
    use std::{
        future::{Future, pending},
        sync::LazyLock,
        thread,
    };

    use async_executor::{Executor, Task};
    pub(crate) use joint::yield_now;

    static EXECUTOR: LazyLock<&Executor<'_>> = LazyLock::new(|| {
        static EXECUTOR: Executor<'_> = Executor::new();
        for _ in 0..super::WORKERS {
            thread::spawn(|| joint::block_on(EXECUTOR.run(pending::<()>())));
        }
        &EXECUTOR
    });

    pub(crate) fn spawn<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        EXECUTOR.spawn(future)
    }
    pub(crate) use spawn as spawn_outside;

    pub(crate) async fn join<T>(task: Task<T>) -> T {
        task.await
    }
}

macro_rules! contestant {
    ($name:literal, $executor:ident) => {{
        use futures_channel::oneshot;
        use $executor as executor;

        fn run(future: impl Future<Output = ()> + Send + 'static) {
            block_on(executor::join(executor::spawn_outside(future)));
        }
        fn spawn_and_join() {
            run(async {
                for i in 0..1_000u64 {
                    black_box(executor::join(executor::spawn(async move { i })).await);
                }
            });
        }
        fn spawn_many_inside() {
            run(async {
                let tasks: Vec<_> = (0..10_000u64)
                    .map(|i| executor::spawn(async move { i }))
                    .collect();
                for task in tasks {
                    black_box(executor::join(task).await);
                }
            });
        }
        fn spawn_many_outside() {
            let tasks: Vec<_> = (0..10_000u64)
                .map(|i| executor::spawn_outside(async move { i }))
                .collect();
            block_on(async {
                for task in tasks {
                    black_box(executor::join(task).await);
                }
            });
        }
        fn yield_much() {
            let yields = || async {
                for _ in 0..1_000 {
                    executor::yield_now().await;
                }
            };
            run(async move {
                let tasks: Vec<_> = (0..200).map(|_| executor::spawn(yields())).collect();
                for task in tasks {
                    executor::join(task).await;
                }
            });
        }
        fn chain() {
            fn link(left: u32, end: oneshot::Sender<()>) {
                let next = move || match left {
                    0 => end.send(()).expect("somebody waits"),
                    _ => link(left - 1, end),
                };
                detach(executor::spawn(async move { next() }));
            }
            run(async {
                let (end, is_over) = oneshot::channel();
                link(999, end);
                is_over.await.expect("each link makes the next");
            });
        }
        fn ping_pong() {
            run(async {
                for i in 0..1_000u64 {
                    let (there, ping) = oneshot::channel::<u64>();
                    let (back, pong) = oneshot::channel::<u64>();
                    detach(executor::spawn(async move {
                        let ball = ping.await.expect("a ball");
                        back.send(ball).expect("somebody waits");
                    }));
                    there.send(i).expect("somebody waits");
                    black_box(pong.await.expect("a ball"));
                }
            });
        }
        Contestant {
            name: $name,
            runs: [
                spawn_and_join,
                spawn_many_inside,
                spawn_many_outside,
                yield_much,
                chain,
                ping_pong,
            ],
        }
    }};
}

/// Lets a task run on without its handle.
trait Detach {
    fn detach(self);
}

impl<T> Detach for joint::JoinHandle<T> {
    fn detach(self) {
        joint::JoinHandle::detach(self);
    }
}

impl<T> Detach for tokio::task::JoinHandle<T> {
    fn detach(self) {}
}

impl<T> Detach for async_executor::Task<T> {
    fn detach(self) {
        async_executor::Task::detach(self);
    }
}

fn detach(handle: impl Detach) {
    handle.detach();
}

fn contestants() -> [Contestant; 3] {
    [
        contestant!("joint", with_joint),
        contestant!("tokio", with_tokio),
        contestant!("async-executor", with_async_executor),
    ]
}

/// Nanoseconds of one run.
fn time(run: fn()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64() * 1e9
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Medians over the rounds: of each contestant's time for an operation, and of the first one's time as a part of it.
fn paired(rounds: usize) {
    let contestants = contestants();
    println!("| row | contestant | ns | joint takes |");
    println!("|---|---|---|---|");
    for (row, (title, operations)) in ROWS.iter().enumerate() {
        let turn = |_| contestants.each_ref().map(|c| time(c.runs[row]));
        turn(0);
        let rounds: Vec<_> = (0..rounds).map(turn).collect();
        for (i, contestant) in contestants.iter().enumerate() {
            let ns = median(rounds.iter().map(|round| round[i])) / *operations as f64;
            let part = median(rounds.iter().map(|round| round[0] / round[i]));
            println!("| {title} | {} | {ns:.1} | {part:.2} |", contestant.name);
        }
    }
}

fn main() {
    let once = std::env::args().any(|argument| argument == "--test");
    paired(if once { 1 } else { 101 });

    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for (row, (title, operations)) in ROWS.iter().enumerate() {
        let mut group = criterion.benchmark_group(format!("executor: {title}"));
        group.throughput(Throughput::Elements(*operations));
        for contestant in contestants() {
            let run = contestant.runs[row];
            group.bench_function(contestant.name, |b| b.iter(run));
        }
        group.finish();
    }
    criterion.final_summary();
}
