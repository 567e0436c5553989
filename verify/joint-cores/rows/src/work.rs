//! What the schedulers do. Each function returns its figure in nanoseconds. Those on each
//! worker are rows of `benches/scaling/work.rs` too.

use std::{
    pin::Pin,
    sync::Mutex,
    time::{Duration, Instant},
};

use joint::oneshot;
use loom::{
    now,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread, work,
};

use crate::peers::{Peer, Tokio};

const FAN: usize = 1_000;
const OUTSIDE: usize = 12_800;
/// The argument of the function that is computed in a doubly recursive way, and its branches.
const FIB: (u32, usize) = (20, 10_945);
const MICROSECOND: f64 = 1_000.0;
const HALF_A_MICROSECOND: f64 = 500.0;

fn since(start: Instant, operations: usize) -> f64 {
    now().duration_since(start).as_secs_f64() * 1e9 / operations as f64
}

/// Runs a task, and returns its time by operation.
fn timed<P: Peer, F>(peer: &'static P, operations: usize, work: F) -> f64
where
    F: Future<Output = ()> + Send + 'static,
{
    peer.run(async move {
        let start = now();
        work.await;
        since(start, operations)
    })
}

async fn join_all<P: Peer, T: Send + 'static>(handles: Vec<P::Handle<T>>) {
    for handle in handles {
        P::join(handle).await;
    }
}

async fn fan_out<P: Peer, F>(tasks: usize, task: impl Fn(usize) -> F)
where
    F: Future<Output: Send> + Send + 'static,
{
    let handles: Vec<_> = (0..tasks).map(|i| P::spawn(task(i))).collect();
    // Not by `join_all`: its future would make the tasks that call this larger, and move figures.
    for handle in handles {
        P::join(handle).await;
    }
}

async fn spawn_join<P: Peer>(turns: usize) {
    for i in 0..turns {
        P::join(P::spawn(async move { i })).await;
    }
}

async fn yields<P: Peer>(tasks: usize, turns: usize) {
    fan_out::<P, _>(tasks, |_| async move {
        for _ in 0..turns {
            P::yield_now().await;
        }
    })
    .await;
}

/// The same work on each worker at once, from when all have begun until all have ended.
fn on_each<P: Peer, F>(peer: &'static P, workers: usize, operations: usize, work: fn() -> F) -> f64
where
    F: Future<Output = ()> + Send + 'static,
{
    let begun = Arc::new(AtomicUsize::new(0));
    let one = |_| {
        let begun = begun.clone();
        peer.spawn_outside(async move {
            begun.fetch_add(1, SeqCst);
            // If one worker has two of them, the other one does not begin.
            let patience = now() + Duration::from_millis(100);
            while begun.load(SeqCst) < workers && now() < patience {
                thread::yield_now();
                loom::hint::spin_loop();
            }
            let start = now();
            work().await;
            (start, now())
        })
    };
    let all: Vec<_> = (0..workers).map(one).collect();
    let times: Vec<_> = peer.run(async {
        let mut times = Vec::new();
        for task in all {
            times.push(P::join(task).await);
        }
        times
    });
    let start = times.iter().map(|times| times.0).min();
    let end = times.iter().map(|times| times.1).max();
    let taken = end
        .zip(start)
        .map_or(0.0, |(end, start)| (end - start).as_secs_f64());
    taken * 1e9 / (operations * workers) as f64
}

pub fn fan<P: Peer>(peer: &'static P, _: usize) -> f64 {
    timed(peer, 10 * FAN, async {
        for _ in 0..10 {
            fan_out::<P, _>(FAN, |i| async move { i }).await;
        }
    })
}

pub fn spawn_join_on_each<P: Peer>(peer: &'static P, workers: usize) -> f64 {
    on_each(peer, workers, 1_000, || spawn_join::<P>(1_000))
}

pub fn yields_on_each<P: Peer>(peer: &'static P, workers: usize) -> f64 {
    on_each(peer, workers, 100 * 100, || yields::<P>(100, 100))
}

/// A flat scope of tasks of a microsecond.
pub fn flat<P: Peer>(peer: &'static P, _: usize) -> f64 {
    timed(
        peer,
        FAN,
        fan_out::<P, _>(FAN, |_| async { work(MICROSECOND) }),
    )
}

pub fn fork_join<P: Peer>(peer: &'static P, _: usize) -> f64 {
    fn fib<P: Peer>(n: u32) -> Pin<Box<dyn Future<Output = u64> + Send>> {
        Box::pin(async move {
            if n < 2 {
                return u64::from(n);
            }
            let one = P::spawn(fib::<P>(n - 1));
            let other = fib::<P>(n - 2).await;
            P::join(one).await + other
        })
    }
    timed(peer, FIB.1, async {
        assert_eq!(fib::<P>(FIB.0).await, 6_765);
    })
}

/// Each task spawns the next one and waits for it, so the other workers have nothing to do.
pub fn chain<P: Peer>(peer: &'static P, _: usize) -> f64 {
    fn link<P: Peer>(left: usize) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            if left > 0 {
                P::join(P::spawn(link::<P>(left - 1))).await;
            }
        })
    }
    timed(peer, 1_000, link::<P>(1_000))
}

/// Ten tasks yield on one worker, while all others are idle.
pub fn watched<P: Peer>(peer: &'static P, _: usize) -> f64 {
    timed(peer, 10 * 1_000, yields::<P>(10, 1_000))
}

/// Threads outside spawn at once, and all is joined: tokio's bench `remote_spawn`.
pub fn spawners<P: Peer>(peer: &'static P, threads: usize) -> f64 {
    spawners_and(peer, threads, joint::block_on)
}

/// As tokio's bench does it, whose runtime waits in its own way.
pub fn remote_spawn(peer: &'static Tokio, threads: usize) -> f64 {
    spawners_and(peer, threads, |all| peer.0.block_on(all))
}

type All = Pin<Box<dyn Future<Output = ()>>>;

fn spawners_and<P: Peer>(peer: &'static P, threads: usize, wait: impl Fn(All)) -> f64 {
    let begun = Arc::new((loom::sync::Mutex::new(0), loom::sync::Condvar::new()));
    let start = now();
    let spawner = || {
        let begun = begun.clone();
        thread::spawn(move || {
            let mut handles = Vec::with_capacity(OUTSIDE / threads);
            let mut count = begun.0.lock().expect("no panics");
            *count += 1;
            if *count == threads {
                begun.1.notify_all();
            }
            drop(begun.1.wait_while(count, |count| *count < threads));
            handles.extend((0..OUTSIDE / threads).map(|_| peer.spawn_outside(async {})));
            handles
        })
    };
    let spawners: Vec<_> = (0..threads).map(|_| spawner()).collect();
    let spawned = spawners
        .into_iter()
        .flat_map(|thread| thread.join().expect("it ends"));
    let handles = spawned.collect();
    wait(Box::pin(join_all::<P, _>(handles)));
    since(start, OUTSIDE)
}

/// Threads outside wake tasks that all wait.
pub fn wakes<P: Peer>(peer: &'static P, threads: usize) -> f64 {
    let each = 3_200 / threads;
    let (mut senders, mut handles) = (Vec::new(), Vec::new());
    for _ in 0..threads {
        let (own, receivers): (Vec<_>, Vec<_>) =
            (0..each).map(|_| oneshot::channel::<()>()).unzip();
        senders.push(own);
        let wait =
            |receiver: oneshot::Receiver<()>| peer.spawn_outside(async { _ = receiver.await });
        handles.extend(receivers.into_iter().map(wait));
    }
    // Until all tasks wait.
    thread::sleep(Duration::from_millis(5));
    let start = now();
    let wake = |senders: Vec<oneshot::Sender<()>>| {
        thread::spawn(move || senders.into_iter().for_each(|sender| _ = sender.send(())))
    };
    let threads: Vec<_> = senders.into_iter().map(wake).collect();
    for thread in threads {
        thread.join().expect("it ends");
    }
    joint::block_on(join_all::<P, _>(handles));
    since(start, 3_200)
}

/// As many tasks as sleeping workers, from outside, until the last one begins.
pub fn wake_all<P: Peer>(peer: &'static P, workers: usize) -> f64 {
    thread::sleep(Duration::from_millis(5));
    let (begun, last) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(0.0)));
    let start = now();
    let one = || peer.spawn_outside(attend(begun.clone(), last.clone(), workers, start));
    let handles: Vec<_> = (0..workers).map(|_| one()).collect();
    for handle in handles {
        joint::block_on(P::join(handle));
    }
    *last.lock().expect("no panics")
}

/// The same, from one of the tasks.
pub fn wake_all_inside<P: Peer>(peer: &'static P, workers: usize) -> f64 {
    thread::sleep(Duration::from_millis(5));
    peer.run(async move {
        let (begun, last) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(0.0)));
        let start = now();
        let one = || P::spawn(attend(begun.clone(), last.clone(), workers, start));
        let handles: Vec<_> = (1..workers).map(|_| one()).collect();
        attend(begun, last.clone(), workers, start).await;
        join_all::<P, _>(handles).await;
        *last.lock().expect("no panics")
    })
}

async fn attend(begun: Arc<AtomicUsize>, last: Arc<Mutex<f64>>, tasks: usize, start: Instant) {
    *last.lock().expect("no panics") = since(start, 1);
    begun.fetch_add(1, SeqCst);
    // If two tasks lie on one worker, the second one begins after this time.
    while begun.load(SeqCst) < tasks && since(start, 1) < 5e6 {
        work(HALF_A_MICROSECOND);
    }
}

/// One timer for each worker, all of which are busy with polls of 10 us: how late a timer is.
pub fn timers<P: Peer>(peer: &'static P, workers: usize) -> f64 {
    const SLEEPS: u32 = 20;
    const EACH: u64 = 200;
    let is_over = Arc::new(AtomicUsize::new(0));
    let busy = || {
        let is_over = is_over.clone();
        peer.spawn_outside(async move {
            while is_over.load(SeqCst) == 0 {
                work(10.0 * MICROSECOND);
                P::yield_now().await;
            }
        })
    };
    let busy: Vec<_> = (0..workers).map(|_| busy()).collect();
    let late = || {
        peer.spawn_outside(async {
            let mut late = 0.0;
            for _ in 0..SLEEPS {
                let start = now();
                P::sleep(EACH).await;
                late += since(start, 1) - EACH as f64 * MICROSECOND;
            }
            late / f64::from(SLEEPS)
        })
    };
    let late: Vec<_> = (0..workers).map(|_| late()).collect();
    let late = late.into_iter().map(|late| joint::block_on(P::join(late)));
    let sum: f64 = late.sum();
    is_over.store(1, SeqCst);
    busy.into_iter()
        .for_each(|busy| joint::block_on(P::join(busy)));
    sum / workers as f64
}
