//! A million timers: armed, dropped and fired.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use super::timers::{Asleep, FAR};
use joint_benches::{
    driven::Driven,
    options::Options,
    signal::{Countdown, CountsDrop},
    table::Row,
};

/// How many timers of one task are polled at once.
const BATCH: usize = 64;
/// The time for arming each timer before the first one fires.
const LEAD: Duration = Duration::from_micros(2);

// Rows run one after another.
static DROPPED: Countdown = Countdown::new();
static FIRED: Countdown = Countdown::new();

/// A million; fewer if each row runs once.
fn all() -> usize {
    Options::read().of(1_000_000, 1_000)
}

pub(crate) fn rows<R: Driven>() -> Vec<Row<R>> {
    let row = |title, run: fn(&'static R) -> _| Row::new(title, all(), run);
    vec![
        row("a million tasks fall asleep", |runtime| {
            sleep_and_cancel(runtime)[0]
        }),
        row("a million tasks that sleep are cancelled", |runtime| {
            sleep_and_cancel(runtime)[1]
        }),
        row("a million sleeps of one task are armed", |runtime| {
            arm_and_drop(runtime)[0]
        }),
        row("a million armed sleeps are dropped", |runtime| {
            arm_and_drop(runtime)[1]
        }),
        row("a million tasks are woken by their timers", fire),
    ]
}

/// From the first spawn until the last task has been polled, and from the first cancellation until
/// all tasks are dropped.
fn sleep_and_cancel<R: Driven>(runtime: &'static R) -> [Duration; 2] {
    let tasks = all();
    runtime.run(async move {
        DROPPED.start(tasks);
        let start = Instant::now();
        let asleep = Asleep::start(runtime, tasks, &DROPPED).await;
        let armed = start.elapsed();
        let start = Instant::now();
        asleep.cancel();
        DROPPED.over().await;
        [armed, start.elapsed()]
    })
}

/// Sleeps that are polled by hand where they are.
pub(crate) struct Sleeps<S>(Vec<S>);

impl<S: Future> Sleeps<S> {
    pub(crate) fn new<R: Driven<Sleep = S>>(count: usize) -> Self {
        let one = |i| R::sleep(FAR + Duration::from_micros(i as u64));
        Self((0..count).map(one).collect())
    }

    fn poll(&mut self, cx: &mut Context<'_>, batch: usize) {
        for sleep in self.0.chunks_mut(BATCH).nth(batch).into_iter().flatten() {
            // SAFETY: nothing is moved out of the vector, and it does not grow.
            let sleep = unsafe { Pin::new_unchecked(sleep) };
            assert!(sleep.poll(cx).is_pending(), "it is not due");
        }
    }

    /// Polls each once.
    pub(crate) async fn arm<R: Driven<Sleep = S>>(&mut self) {
        for batch in 0..self.0.len().div_ceil(BATCH) {
            poll_fn(|cx| {
                self.poll(cx, batch);
                Poll::Ready(())
            })
            .await;
            R::yield_now().await;
        }
    }
}

/// The time to arm all sleeps, and the time to drop them all.
fn arm_and_drop<R: Driven>(runtime: &'static R) -> [Duration; 2] {
    let count = all();
    runtime.run(async move {
        let mut sleeps = Sleeps::new::<R>(count);
        let start = Instant::now();
        sleeps.arm::<R>().await;
        let armed = start.elapsed();
        let start = Instant::now();
        drop(sleeps);
        [armed, start.elapsed()]
    })
}

/// From when all are due until all have run. The rest of the time before that is not counted.
fn fire<R: Driven>(runtime: &'static R) -> Duration {
    let tasks = all();
    runtime.run(async move {
        FIRED.start(tasks);
        let due = Instant::now() + Duration::from_millis(2) + LEAD * tasks as u32;
        for _ in 0..tasks {
            runtime.spawn_detached(async move {
                let _counts = CountsDrop(&FIRED);
                R::sleep(due.saturating_duration_since(Instant::now())).await;
            });
        }
        FIRED.over().await;
        Instant::now().saturating_duration_since(due)
    })
}
