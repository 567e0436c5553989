//! A burst of tasks that are spawned from outside while the only worker is in a poll.

use std::{
    hint,
    sync::{
        Mutex,
        atomic::{
            AtomicBool,
            Ordering::{Acquire, Release},
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
static DONE: Countdown = Countdown::new();
/// The end of the poll that keeps the worker busy.
static FREED: Mutex<Option<Instant>> = Mutex::new(None);

/// Two million; fewer if each row runs once.
fn all() -> usize {
    Options::read().of(2_000_000, 1_000)
}

pub(crate) fn rows<R: Runtime>() -> Vec<Row<R>> {
    vec![Row::new("each of 2,000,000 has run", all(), each::<R>)]
}

/// From the end of the busy poll to the end of the last of the others.
fn each<R: Runtime>(runtime: &'static R) -> Duration {
    let tasks = all();
    IS_FREED.store(false, Release);
    IS_BUSY.store(false, Release);
    DONE.start(tasks);
    runtime.spawn_outside_detached(async {
        IS_BUSY.store(true, Release);
        while !IS_FREED.load(Acquire) {
            hint::spin_loop();
        }
        *FREED.lock().expect("no panics") = Some(Instant::now());
    });
    while !IS_BUSY.load(Acquire) {
        hint::spin_loop();
    }
    for _ in 0..tasks {
        runtime.spawn_outside_detached(async { DONE.done() });
    }
    settle();
    IS_FREED.store(true, Release);
    joint::block_on(DONE.over());
    let freed = FREED.lock().expect("no panics").take();
    freed.expect("a poll").elapsed()
}
