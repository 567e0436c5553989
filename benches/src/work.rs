//! Work that shares nothing.

use std::{
    future::poll_fn,
    hint::{black_box, spin_loop},
    pin::pin,
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicUsize,
            Ordering::{AcqRel, Acquire, Relaxed, Release},
        },
    },
    task::Poll,
    thread,
    time::{Duration, Instant},
};

use crate::{driven::Driven, runtime::Runtime};

/// Computes for about a microsecond.
pub fn microsecond() {
    let mut state = black_box(1u64);
    for _ in 0..800 {
        state = state.wrapping_mul(6_364_136_223_846_793_005) ^ (state >> 33);
    }
    black_box(state);
}

/// Returns how long a future takes.
pub async fn timed(work: impl Future<Output = ()>) -> Duration {
    let start = Instant::now();
    work.await;
    start.elapsed()
}

/// Keeps this thread busy until the time has passed.
pub fn busy_for(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        spin_loop();
    }
}

/// Runs for that time again and again, and yields in between, until it is over.
pub async fn keep_busy<R: Runtime>(is_over: Arc<AtomicBool>, poll: Duration) {
    while !is_over.load(Relaxed) {
        busy_for(poll);
        R::yield_now().await;
    }
}

/// How many timers are armed in one poll. tokio would refuse many more.
pub const BATCH: usize = 64;

/// Arms and drops timers one at a time: [`BATCH`] of them in each of `polls` polls.
pub async fn arm_and_drop<R: Driven>(duration: Duration, polls: usize) {
    for _ in 0..polls {
        poll_fn(|cx| {
            for _ in 0..BATCH {
                let sleep = pin!(R::sleep(duration));
                // Pending, unless the system has kept the thread off its processor for that long.
                let _ = black_box(sleep.poll(cx));
            }
            Poll::Ready(())
        })
        .await;
        R::yield_now().await;
    }
}

/// Does the same in a number of tasks, and returns the time from when all have begun until all have
/// ended. There should be a worker for each.
pub fn on_all<R, F>(
    runtime: &'static R,
    tasks: usize,
    work: impl Fn(&'static R) -> F + Copy + Send + 'static,
) -> Duration
where
    R: Runtime,
    F: Future<Output = ()> + Send,
{
    static BEGUN: AtomicUsize = AtomicUsize::new(0);

    BEGUN.store(0, Release);
    let one = |_| {
        runtime.spawn_outside(async move {
            BEGUN.fetch_add(1, AcqRel);
            // If one worker has two of them, the other one does not begin.
            let patience = Instant::now() + Duration::from_millis(100);
            while BEGUN.load(Acquire) < tasks && Instant::now() < patience {
                thread::yield_now();
                spin_loop();
            }
            let start = Instant::now();
            work(runtime).await;
            (start, Instant::now())
        })
    };
    let all: Vec<_> = (0..tasks).map(one).collect();
    let times = runtime.run(async {
        let mut times = Vec::new();
        for task in all {
            times.push(R::join(task).await);
        }
        times
    });
    let start = times.iter().map(|times| times.0).min();
    let end = times.iter().map(|times| times.1).max();
    let taken = end.zip(start).map(|(end, start)| end - start);
    taken.unwrap_or_default()
}
