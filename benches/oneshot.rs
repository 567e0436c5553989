//! The channel beside its peers, on one thread.
//!
//! A table is printed first: the contestants take turns round by round, so each ratio compares runs
//! at the same time on the same machine. With `JOINT_CRITERION=1` the same rows then run under
//! criterion, for figures with a history.
//!
//! `cargo xtask bench oneshot`, or `cargo bench -p joint-benches --bench oneshot`; with `-- FILTER`
//! only the rows whose titles contain it; with `-- --test` each row runs once.

use std::{
    future::{Future, IntoFuture},
    hint::black_box,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    time::{Duration, Instant},
};

use criterion::Criterion;
use joint_benches::{allocator::Allocator, options::Options, report::Report, table::measure};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// One way to use a channel once.
type Path = fn(&Waker);

/// Every row's path for one contestant.
struct Contestant {
    name: &'static str,
    paths: [Path; ROWS.len()],
}

const ROWS: [&str; 3] = ["create, complete, drop", "ready", "wait, Arc waker"];

/// Polls once, and returns whether the answer was there.
fn poll<F: Future>(future: std::pin::Pin<&mut F>, waker: &Waker) -> bool {
    match future.poll(&mut Context::from_waker(waker)) {
        Poll::Ready(output) => {
            black_box(output);
            true
        }
        Poll::Pending => false,
    }
}

macro_rules! contestant {
    ($name:expr, $($channel:tt)+) => {{
        use $($channel)+ as channel;

        // Some channels send by value and some by reference.
        #[allow(unused_mut)]
        fn wait(waker: &Waker) {
            let (mut tx, rx) = channel();
            let mut rx = pin!(rx.into_future());
            assert!(!poll(rx.as_mut(), waker));
            let _ = black_box(tx.send(black_box(1u64)));
            assert!(poll(rx, waker));
        }
        #[allow(unused_mut)]
        fn ready(waker: &Waker) {
            let (mut tx, rx) = channel();
            let _ = black_box(tx.send(black_box(1u64)));
            assert!(poll(pin!(rx.into_future()), waker));
        }
        #[allow(unused_mut)]
        fn complete(_: &Waker) {
            let (mut tx, rx) = channel();
            let _ = black_box(tx.send(black_box(1u64)));
            drop(rx);
        }
        Contestant {
            name: $name,
            paths: [complete, ready, wait],
        }
    }};
}

fn contestants() -> [Contestant; 5] {
    [
        contestant!("joint", joint::oneshot::channel),
        contestant!("oneshot", oneshot::channel),
        contestant!("tokio", tokio::sync::oneshot::channel),
        contestant!("futures", futures_channel::oneshot::channel),
        contestant!("async-oneshot", async_oneshot::oneshot),
    ]
}

struct Counted;

impl Wake for Counted {
    fn wake(self: Arc<Self>) {}
}

/// Nanoseconds for each of `times` runs.
fn time(path: Path, waker: &Waker, times: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..times {
        path(waker);
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(times)
}

/// Reports medians over the rounds: of the times, and of each round's ratio to the first
/// contestant.
fn report(options: &Options) {
    const TITLE: &str = "oneshot, one thread";
    let (rounds, times) = options.of((301, 5000), (1, 1));
    let contestants = contestants();
    let mut report = Report::start("oneshot", options);
    let waker = Waker::from(Arc::new(Counted));
    let names = contestants.each_ref().map(|contestant| contestant.name);
    report.head(TITLE, names.into_iter());
    for (row, title) in ROWS.iter().enumerate() {
        if !options.wants(TITLE, title) {
            continue;
        }
        measure(&mut report, TITLE, title, &names, rounds, || {
            let paths = contestants.iter().map(|c| c.paths[row]);
            paths.map(|path| time(path, &waker, times)).collect()
        });
    }
    report.end();
}

fn main() {
    let options = Options::read();
    report(&options);
    if !options.wants_criterion() {
        return;
    }

    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let waker = Waker::from(Arc::new(Counted));
    for (row, title) in ROWS.iter().enumerate() {
        let mut group = criterion.benchmark_group(format!("oneshot: {title}"));
        for contestant in contestants() {
            let path = contestant.paths[row];
            group.bench_function(contestant.name, |b| b.iter(|| path(&waker)));
        }
        group.finish();
    }
    criterion.final_summary();
}
