//! A burst of tasks that are spawned from outside while the only worker is in a poll.

use std::{
    hint,
    sync::{
        Mutex,
        atomic::{
            AtomicBool,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::{Duration, Instant},
};

use joint_benches::{
    options::Options,
    runtime::Runtime,
    signal::Countdown,
    table::{Row, settle},
};

// Rows run one after another.
static IS_BUSY: AtomicBool = AtomicBool::new(false);
static IS_FREED: AtomicBool = AtomicBool::new(false);
/// Whether a task of the burst has begun. Only the worker reads and writes this at that time.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
static DONE: Countdown = Countdown::new();
static TIMES: Mutex<Times> = Mutex::new(Times {
    freed: None,
    first: None,
});

/// The end of the poll that keeps the worker busy, and the beginning of the next one.
struct Times {
    freed: Option<Instant>,
    first: Option<Instant>,
}

/// Two million; fewer if each row runs once.
fn all() -> usize {
    Options::read().of(2_000_000, 1_000)
}

pub(crate) fn rows<R: Runtime>() -> Vec<Row<R>> {
    let row = |title, operations: usize, run| Row {
        title,
        operations: operations as u64,
        run,
    };
    vec![
        row("the first of 2,000,000 starts", 1, first::<R>),
        row("each of 2,000,000 has run", all(), each::<R>),
    ]
}

/// From the end of the busy poll to the beginning of the first of the others.
fn first<R: Runtime>(runtime: &'static R) -> Duration {
    burst(runtime);
    let times = TIMES.lock().expect("no panics");
    let (freed, first) = (times.freed.expect("a poll"), times.first.expect("a task"));
    first.duration_since(freed)
}

/// From the end of the busy poll to the end of the last of the others.
fn each<R: Runtime>(runtime: &'static R) -> Duration {
    let end = burst(runtime);
    let times = TIMES.lock().expect("no panics");
    end.duration_since(times.freed.expect("a poll"))
}

/// Returns the time at which the last of the tasks has ended.
fn burst<R: Runtime>(runtime: &'static R) -> Instant {
    let tasks = all();
    HAS_BEGUN.store(false, Relaxed);
    IS_FREED.store(false, Release);
    IS_BUSY.store(false, Release);
    DONE.start(tasks);
    runtime.spawn_outside_detached(async {
        IS_BUSY.store(true, Release);
        while !IS_FREED.load(Acquire) {
            hint::spin_loop();
        }
        *TIMES.lock().expect("no panics") = Times {
            freed: Some(Instant::now()),
            first: None,
        };
    });
    while !IS_BUSY.load(Acquire) {
        hint::spin_loop();
    }
    for _ in 0..tasks {
        runtime.spawn_outside_detached(async {
            if !HAS_BEGUN.load(Relaxed) {
                HAS_BEGUN.store(true, Relaxed);
                TIMES.lock().expect("no panics").first = Some(Instant::now());
            }
            DONE.done();
        });
    }
    settle();
    IS_FREED.store(true, Release);
    joint::block_on(DONE.over());
    Instant::now()
}
