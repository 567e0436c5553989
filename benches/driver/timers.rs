//! Rows of timers: turns of one task while others are pending, and timers that never fire.

use std::{future::poll_fn, pin::pin, time::Duration};

use joint_benches::{
    driven::Driven,
    options::Options,
    runtime::{Runtime, Work},
    signal::{Countdown, CountsDrop},
    table::Row,
    work::{BATCH, arm_and_drop, on_all, timed},
};

/// Ten thousand; fewer if each row runs once.
fn turns() -> usize {
    Options::read().of(10_000, 100)
}

const ARMED: usize = 32 * 1_024;
/// How many timers are pending in the rows with many.
const MANY: usize = 4_096;

const NEAR: Duration = Duration::from_millis(20);
pub(crate) const FAR: Duration = Duration::from_secs(3_600);

// Rows run one after another.
static POLLED: Countdown = Countdown::new();
static DROPPED: Countdown = Countdown::new();

pub(crate) fn one_worker<R: Driven>() -> Vec<Row<R>> {
    vec![
        Row::new("DELAY/4,096", turns(), delay),
        Row::new("YIELD/4,096", turns(), yields),
        Row::new("arm and drop, 20 ms", ARMED, arm_near::<R, 1>),
        Row::timed("arm and drop, 1 h", ARMED, |_| arm::<R>(FAR)),
        Row::new(
            "arm and drop, 20 ms, 4,096 pending",
            ARMED,
            arm_near::<R, MANY>,
        ),
        Row::timed("timeout round a yield", turns(), timeouts),
    ]
}

/// Whether a row sleeps for no time. tokio rounds such a sleep up to its tick of a millisecond, so
/// it has no such row.
pub(crate) fn is_delay<R>(row: &Row<R>) -> bool {
    row.title.starts_with("DELAY")
}

pub(crate) fn two_workers<R: Driven>() -> Vec<Row<R>> {
    vec![
        Row::new("YIELD/4,096", turns(), yields::<R>),
        Row::new("arm and drop on both, 20 ms", 2 * ARMED, arm_on_both::<R>),
    ]
}

/// Tasks that sleep, each until a different time.
pub(crate) struct Asleep<R: Runtime>(Vec<R::Handle<()>>);

impl<R: Driven> Asleep<R> {
    /// Is ready when all tasks have been polled.
    pub(crate) async fn start(
        runtime: &'static R,
        tasks: usize,
        dropped: &'static Countdown,
    ) -> Self {
        let mut handles = Vec::with_capacity(tasks);
        // So that no queue grows.
        while handles.len() < tasks {
            let batch = (tasks - handles.len()).min(1_000);
            POLLED.start(batch);
            let one =
                |i| runtime.spawn(sleeper::<R>(FAR + Duration::from_millis(i as u64), dropped));
            handles.extend((handles.len()..handles.len() + batch).map(one));
            POLLED.over().await;
        }
        Self(handles)
    }

    /// Cancels the tasks, without waiting until they have been dropped.
    pub(crate) fn cancel(self) {
        self.0.into_iter().for_each(R::cancel);
    }
}

async fn sleeper<R: Driven>(duration: Duration, dropped: &'static Countdown) {
    let _counts = CountsDrop(dropped);
    let mut sleep = pin!(R::sleep(duration));
    let mut is_new = true;
    poll_fn(|cx| {
        let polled = sleep.as_mut().poll(cx);
        if std::mem::take(&mut is_new) {
            POLLED.done();
        }
        polled
    })
    .await;
}

/// Runs something while a number of other tasks sleep.
fn beside<R, F>(
    runtime: &'static R,
    others: usize,
    timed: impl FnOnce() -> F + Send + 'static,
) -> Duration
where
    R: Driven,
    F: Future<Output = Duration> + Send + 'static,
{
    runtime.run(async move {
        DROPPED.start(others);
        let asleep = Asleep::start(runtime, others, &DROPPED).await;
        let taken = timed().await;
        asleep.cancel();
        DROPPED.over().await;
        taken
    })
}

fn delay<R: Driven>(runtime: &'static R) -> Duration {
    beside(runtime, MANY - 1, || {
        timed(async {
            for _ in 0..turns() {
                R::sleep(Duration::ZERO).await;
            }
        })
    })
}

fn yields<R: Driven>(runtime: &'static R) -> Duration {
    beside(runtime, MANY - 1, || {
        timed(async {
            for _ in 0..turns() {
                R::yield_now().await;
            }
        })
    })
}

fn arm<R: Driven>(duration: Duration) -> impl Work<Output = ()> {
    arm_and_drop::<R>(duration, ARMED / BATCH)
}

fn arm_near<R: Driven, const TIMERS: usize>(runtime: &'static R) -> Duration {
    beside(runtime, TIMERS - 1, || timed(arm::<R>(NEAR)))
}

async fn timeouts<R: Driven>(_: &'static R) {
    for _ in 0..turns() {
        let done = R::timeout(FAR, R::yield_now()).await;
        assert!(done.is_some(), "an hour is enough");
    }
}

fn arm_on_both<R: Driven>(runtime: &'static R) -> Duration {
    on_all(runtime, 2, |_| arm::<R>(NEAR))
}
