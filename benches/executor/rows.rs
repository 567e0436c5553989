//! The work of each row, once for all contestants.

use std::{
    future::pending,
    hint::black_box,
    pin::Pin,
    time::{Duration, Instant},
};

use joint_benches::{
    options::Options,
    runtime::Runtime,
    signal::{Countdown, CountsDrop},
    table::{Row, settle},
    work::timed,
};

pub(crate) const MANY: usize = 10_000;
pub(crate) const FAN: usize = 1_000;
/// A thousand; fewer if each row runs once.
pub(crate) fn turns() -> usize {
    Options::read().of(1_000, 20)
}

/// The argument, and the number of branches that the doubly recursive way to compute it spawns.
const FIB: (u32, usize) = (20, 10_945);

pub(crate) const OUTSIDE_DETACHED: &str = "10k spawned outside, detached";
pub(crate) const PING_PONG_OUTSIDE: &str = "ping-pong 1,000, outside";
pub(crate) const ABORT: &str = "abort 10k pending";

// Rows run one after another.
static DONE: Countdown = Countdown::new();
static DROPPED: Countdown = Countdown::new();

/// The rows that one thread can run too.
pub(crate) fn inside<R: Runtime>() -> Vec<Row<R>> {
    vec![
        Row::timed("spawn and join", turns(), spawn_join),
        Row::timed("10k spawned inside, joined", MANY, many_inside),
        Row::timed(
            "200k that never suspend, joined",
            computations(),
            never_suspends,
        ),
        Row::timed("spawn now, ready, and join", turns(), ready_at_once),
        Row::timed("spawn now, yields once, and join", turns(), suspends_once),
        Row::timed("fan of 1k", 10 * FAN, fan),
        Row::timed("fan of 1k, each yields once", 10 * FAN, fan_of_yields),
        Row::timed("yield, 200 x 1,000", 200 * turns(), yields),
        Row::timed("ping-pong 1,000, inside", turns(), ping_pong_inside),
        Row::timed("chained spawn 1,000", turns(), chain),
        Row::timed("fib(20), one branch spawned", FIB.1, fibonacci),
        Row::new("join of a finished task", FAN, join_finished),
        Row::timed("spawn detached 10k", MANY, many_detached),
        Row::new(ABORT, MANY, abort),
    ]
}

/// The rows that need another thread beside the runtime's.
pub(crate) fn outside<R: Runtime>() -> Vec<Row<R>> {
    let row = Row::new;
    vec![
        row("10k spawned outside, joined", MANY, many_outside::<R>),
        row(OUTSIDE_DETACHED, MANY, many_outside_detached::<R>),
        row(PING_PONG_OUTSIDE, turns(), ping_pong_outside::<R>),
    ]
}

pub(crate) async fn spawn_join<R: Runtime>(runtime: &'static R) {
    for i in 0..turns() {
        black_box(R::join(runtime.spawn(async move { i })).await);
    }
}

/// Spawns `tasks` tasks, and then joins them.
pub(crate) async fn fan_out<R, F>(runtime: &'static R, tasks: usize, task: impl Fn(usize) -> F)
where
    R: Runtime,
    F: Future<Output: Send> + Send + 'static,
{
    R::join_all((0..tasks).map(|i| runtime.spawn(task(i))).collect()).await;
}

pub(crate) async fn many_inside<R: Runtime>(runtime: &'static R) {
    fan_out(runtime, MANY, |i| async move { i }).await;
}

/// Two hundred thousand; fewer if each row runs once.
fn computations() -> usize {
    Options::read().of(200_000, 1_000)
}

/// The cost of a task around a plain function call (heph #324).
async fn never_suspends<R: Runtime>(runtime: &'static R) {
    let start = |i| runtime.spawn_now(async move { black_box(i) });
    R::join_all((0..computations()).map(start).collect()).await;
}

async fn ready_at_once<R: Runtime>(runtime: &'static R) {
    for i in 0..turns() {
        black_box(R::join(runtime.spawn_now(async move { i })).await);
    }
}

async fn suspends_once<R: Runtime>(runtime: &'static R) {
    for _ in 0..turns() {
        R::join(runtime.spawn_now(R::yield_now())).await;
    }
}

async fn fan<R: Runtime>(runtime: &'static R) {
    for _ in 0..10 {
        fan_out(runtime, FAN, |i| async move { i }).await;
    }
}

async fn fan_of_yields<R: Runtime>(runtime: &'static R) {
    for _ in 0..10 {
        fan_out(runtime, FAN, |_| R::yield_now()).await;
    }
}

async fn yields<R: Runtime>(runtime: &'static R) {
    let one = |_| async {
        for _ in 0..turns() {
            R::yield_now().await;
        }
    };
    fan_out(runtime, 200, one).await;
}

/// The two ends of a channel, which is no contestant's own.
type Ends = (oneshot::Sender<usize>, oneshot::Receiver<usize>);

/// Sends the ball, and waits until it returns.
async fn ping(i: usize, there: oneshot::Sender<usize>, back: oneshot::Receiver<usize>) {
    there.send(i).expect("the receiver waits");
    black_box(back.await.expect("a ball"));
    DONE.done();
}

async fn pong(there: oneshot::Receiver<usize>, back: oneshot::Sender<usize>) {
    let ball = there.await.expect("a ball");
    back.send(ball).expect("the receiver waits");
}

async fn ping_pong_inside<R: Runtime>(runtime: &'static R) {
    DONE.start(turns());
    for i in 0..turns() {
        runtime.spawn_detached(async move {
            let (there, ball): Ends = oneshot::channel();
            let (back, ball_again): Ends = oneshot::channel();
            runtime.spawn_detached(pong(ball, back));
            ping(i, there, ball_again).await;
        });
    }
    DONE.over().await;
}

/// Spawns both players from outside, with the given function.
pub(crate) fn all_ping_pong(mut spawn: impl FnMut(Pin<Box<dyn Future<Output = ()> + Send>>)) {
    DONE.start(turns());
    for i in 0..turns() {
        let (there, ball): Ends = oneshot::channel();
        let (back, ball_again): Ends = oneshot::channel();
        spawn(Box::pin(pong(ball, back)));
        spawn(Box::pin(ping(i, there, ball_again)));
    }
}

fn ping_pong_outside<R: Runtime>(runtime: &'static R) -> Duration {
    let start = Instant::now();
    all_ping_pong(|player| runtime.spawn_outside_detached(player));
    joint::block_on(DONE.over());
    start.elapsed()
}

pub(crate) fn many_outside<R: Runtime>(runtime: &'static R) -> Duration {
    let start = Instant::now();
    let spawn = |i| runtime.spawn_outside(async move { i });
    joint::block_on(R::join_all((0..MANY).map(spawn).collect()));
    start.elapsed()
}

/// Spawns detached tasks with the given function.
pub(crate) fn all_detached(mut spawn: impl FnMut(usize)) {
    DONE.start(MANY);
    (0..MANY).for_each(&mut spawn);
}

/// The work of a detached task.
pub(crate) async fn count(i: usize) {
    black_box(i);
    DONE.done();
}

fn many_outside_detached<R: Runtime>(runtime: &'static R) -> Duration {
    let start = Instant::now();
    all_detached(|i| runtime.spawn_outside_detached(count(i)));
    joint::block_on(DONE.over());
    start.elapsed()
}

async fn many_detached<R: Runtime>(runtime: &'static R) {
    all_detached(|i| runtime.spawn_detached(count(i)));
    DONE.over().await;
}

async fn chain<R: Runtime>(runtime: &'static R) {
    fn link<R: Runtime>(runtime: &'static R, left: usize) {
        runtime.spawn_detached(async move {
            match left {
                0 => DONE.done(),
                _ => link(runtime, left - 1),
            }
        });
    }
    DONE.start(1);
    link(runtime, turns() - 1);
    DONE.over().await;
}

async fn fibonacci<R: Runtime>(runtime: &'static R) {
    type Boxed = Pin<Box<dyn Future<Output = u64> + Send>>;

    fn fib<R: Runtime>(runtime: &'static R, n: u32) -> Boxed {
        Box::pin(async move {
            if n < 2 {
                return u64::from(n);
            }
            let one = runtime.spawn(fib(runtime, n - 1));
            let other = fib(runtime, n - 2).await;
            R::join(one).await + other
        })
    }
    assert_eq!(fib(runtime, black_box(FIB.0)).await, 6_765);
}

/// Only the joins are timed.
fn join_finished<R: Runtime>(runtime: &'static R) -> Duration {
    let handles = runtime.run(async move {
        DONE.start(FAN);
        let spawn = |i| {
            runtime.spawn(async move {
                DONE.done();
                i
            })
        };
        let handles: Vec<_> = (0..FAN).map(spawn).collect();
        DONE.over().await;
        handles
    });
    // The last task counts before it ends.
    settle();
    runtime.run(timed(R::join_all(handles)))
}

/// From the first cancellation until all futures are dropped.
fn abort<R: Runtime>(runtime: &'static R) -> Duration {
    runtime.run(async move {
        DONE.start(MANY);
        DROPPED.start(MANY);
        let spawn = |_| {
            runtime.spawn(async {
                let _counts = CountsDrop(&DROPPED);
                DONE.done();
                pending::<()>().await;
            })
        };
        let handles: Vec<_> = (0..MANY).map(spawn).collect();
        DONE.over().await;
        let start = Instant::now();
        handles.into_iter().for_each(R::cancel);
        DROPPED.over().await;
        start.elapsed()
    })
}
