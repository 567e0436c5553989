//! The rows of an event loop: many tasks that do next to nothing between two yields.

use std::{
    future::poll_fn,
    sync::Mutex,
    task::{Poll, Waker},
    time::{Duration, Instant},
};

use joint_benches::{runtime::Runtime, signal::Countdown, table::Row};

const COROUTINES: usize = 4_096;
const TURNS: usize = 100_000;
const WAITERS: usize = 64;
const EVENTS: usize = 200;

// Rows run one after another.
static REGISTERED: Countdown = Countdown::new();
static WOKEN: Countdown = Countdown::new();

pub(crate) fn all<R: Runtime>() -> Vec<Row<R>> {
    vec![
        Row::timed("4,096 tasks yield once and are awaited", COROUTINES, net2),
        Row::timed("one task yields", TURNS, one_yields),
        Row::timed("4,096 tasks yield 16 times", 16 * COROUTINES, many_yield),
        Row::new(
            "64 tasks await one event, per wake",
            EVENTS * WAITERS,
            callback,
        ),
    ]
}

/// Spawns tasks that yield `turns` times each, and awaits them in order.
async fn spawn_yielding<R: Runtime>(runtime: &'static R, tasks: usize, turns: usize) {
    let one = |_| {
        runtime.spawn(async move {
            for _ in 0..turns {
                R::yield_now().await;
            }
        })
    };
    R::join_all((0..tasks).map(one).collect()).await;
}

async fn net2<R: Runtime>(runtime: &'static R) {
    spawn_yielding(runtime, COROUTINES, 1).await;
}

async fn one_yields<R: Runtime>(_: &'static R) {
    for _ in 0..TURNS {
        R::yield_now().await;
    }
}

async fn many_yield<R: Runtime>(runtime: &'static R) {
    spawn_yielding(runtime, COROUTINES, 16).await;
}

/// A recurring event: a list of wakers. It is no contestant's own.
struct Event(Mutex<State>);

struct State {
    /// How often it has happened.
    times: usize,
    waiters: Vec<Waker>,
}

static EVENT: Event = Event(Mutex::new(State {
    times: 0,
    waiters: Vec::new(),
}));

impl Event {
    fn happen(&self, spare: &mut Vec<Waker>) {
        let mut state = self.0.lock().expect("no panics");
        state.times += 1;
        std::mem::swap(&mut state.waiters, spare);
        drop(state);
        spare.drain(..).for_each(Waker::wake);
    }

    async fn after(&self, times: usize) {
        let mut registered = false;
        poll_fn(|cx| {
            let mut state = self.0.lock().expect("no panics");
            if state.times > times {
                return Poll::Ready(());
            }
            if !std::mem::replace(&mut registered, true) {
                state.waiters.push(cx.waker().clone());
                drop(state);
                REGISTERED.done();
            }
            Poll::Pending
        })
        .await;
    }
}

/// All tasks wait, and then the event happens. The time from the event until all have run is
/// measured.
fn callback<R: Runtime>(runtime: &'static R) -> Duration {
    runtime.run(async move {
        EVENT.0.lock().expect("no panics").times = 0;
        REGISTERED.start(WAITERS);
        let one = |_| {
            runtime.spawn(async move {
                for times in 0..EVENTS {
                    EVENT.after(times).await;
                    WOKEN.done();
                }
            })
        };
        let handles: Vec<_> = (0..WAITERS).map(one).collect();
        let mut spare = Vec::with_capacity(WAITERS);
        let mut taken = Duration::ZERO;
        for _ in 0..EVENTS {
            REGISTERED.over().await;
            REGISTERED.start(WAITERS);
            WOKEN.start(WAITERS);
            let start = Instant::now();
            EVENT.happen(&mut spare);
            WOKEN.over().await;
            taken += start.elapsed();
        }
        R::join_all(handles).await;
        taken
    })
}
