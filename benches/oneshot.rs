//! The channel beside its peers, on one thread.
//!
//! A table is printed first: the contestants take turns round by round, so each ratio compares runs
//! at the same time on the same machine. With `JOINT_CRITERION=1` the same rows then run under
//! criterion, for figures with a history.
//!
//! `cargo xtask bench oneshot`, or `cargo bench -p joint-benches --bench oneshot`; with `-- FILTER`
//! only the rows whose titles contain it; with `-- --test` each row runs once.

use std::{
    hint::black_box,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    time::{Duration, Instant},
};

use joint_benches::{
    allocator::Allocator,
    options::Options,
    table::{Run, Table},
};

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

fn table() -> Table {
    let times = Options::read().of(5_000, 1);
    let contestants = contestants().into_iter();
    contestants.fold(
        Table::new("oneshot, one thread", Duration::from_secs(1)).without_threads(),
        |table, contestant| {
            let rows = ROWS.iter().zip(contestant.paths).map(|(title, path)| {
                let run: Run = Box::new(move || {
                    let waker = Waker::from(Arc::new(Counted));
                    let start = Instant::now();
                    for _ in 0..times {
                        path(&waker);
                    }
                    start.elapsed()
                });
                (*title, times, run)
            });
            table.with_runs(contestant.name, rows)
        },
    )
}

fn main() {
    joint_benches::table::main("oneshot", &[table()], |_, _| ());
}
