//! The rows that only this bench has: work that is divided, and the same work on each worker at
//! once.

use std::{hint::black_box, time::Duration};

use joint_benches::{
    driven::Driven,
    runtime::Runtime,
    table::{NamedRun, Row, Run},
    work::{BATCH, arm_and_drop, microsecond, on_all},
};

use super::rows::{FAN, fan_out, spawn_join, turns};

const HOUR: Duration = Duration::from_secs(3_600);

/// One task that spawns others, with work for all workers.
pub(crate) fn divided<R: Runtime>() -> [Row<R>; 2] {
    [
        Row::timed("fan of 1k, 1 us of work each", 1_000, work::<R, 1_000, 1>),
        Row::timed("fan of 200, 20 us of work each", 200, work::<R, 200, 20>),
    ]
}

async fn work<R: Runtime, const TASKS: usize, const MICROSECONDS: usize>(runtime: &'static R) {
    fan_out(runtime, TASKS, |_| async {
        (0..MICROSECONDS).for_each(|_| microsecond());
    })
    .await;
}

async fn fan<R: Runtime>(runtime: &'static R) {
    fan_out(runtime, FAN, |i| async move { i }).await;
}

async fn yields<R: Runtime>(runtime: &'static R) {
    let one = |_| async {
        for _ in 0..turns() / 10 {
            R::yield_now().await;
        }
    };
    fan_out(runtime, 100, one).await;
}

async fn ping_pong<R: Runtime>(runtime: &'static R) {
    for i in 0..turns() {
        let (there, ball) = oneshot::channel::<usize>();
        let (back, ball_again) = oneshot::channel::<usize>();
        let pong = runtime.spawn(async move {
            let ball = ball.await.expect("a ball");
            back.send(ball).expect("the receiver waits");
        });
        there.send(i).expect("the receiver waits");
        black_box(ball_again.await.expect("a ball"));
        R::join(pong).await;
    }
}

/// The same work on each worker at once. The best is a time that does not change.
pub(crate) fn on_each<R: Runtime>(runtime: &'static R, workers: usize) -> [NamedRun; 4] {
    let all = All { runtime, workers };
    [
        all.row("spawn and join, on each", turns(), spawn_join::<R>),
        all.row("fan of 1k, on each", FAN, fan::<R>),
        all.row(
            "100 tasks yield, on each",
            100 * (turns() / 10),
            yields::<R>,
        ),
        all.row("ping-pong, on each", turns(), ping_pong::<R>),
    ]
}

/// As above, with timers.
pub(crate) fn timers_on_each<R: Driven>(runtime: &'static R, workers: usize) -> [NamedRun; 1] {
    let all = All { runtime, workers };
    [all.row(
        "arm and drop, 1 h, on each",
        BATCH * turns(),
        |_: &'static R| arm_and_drop::<R>(HOUR, turns()),
    )]
}

/// A runtime with that many workers, each of which is to do the same.
struct All<R: 'static> {
    runtime: &'static R,
    workers: usize,
}

impl<R: Runtime> All<R> {
    fn row<F>(
        &self,
        title: &'static str,
        operations: usize,
        work: impl Fn(&'static R) -> F + Copy + Send + 'static,
    ) -> NamedRun
    where
        F: Future<Output = ()> + Send,
    {
        let Self { runtime, workers } = *self;
        let run: Run = Box::new(move || on_all(runtime, workers, work) / workers as u32);
        (title, operations as u64, run)
    }
}
