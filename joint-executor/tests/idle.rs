//! Workers with nothing to do sleep, and stay asleep: they neither spin nor look after each other
//! again and again.
//!
//! How long is long enough to see that is counted too: a worker elsewhere, which has somebody to
//! look after, goes on looking.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use joint::{JoinHandle, block_on};
#[cfg(feature = "io")]
use joint_executor::time::sleep;
use joint_executor::{Executor, Metrics, spawn, yield_now};

/// How often the watcher elsewhere looks while nothing is to move here.
const LOOKS: u64 = 20;
/// How many such times in a row.
const TIMES: usize = 4;

/// An executor whose first worker gets on all the time, so that the second looks again and again.
struct Elsewhere {
    executor: Executor,
    _busy: JoinHandle<()>,
}

impl Elsewhere {
    fn new() -> Self {
        let executor = Executor::builder().workers(2).build().unwrap();
        let busy = executor.spawn_on(0, async {
            loop {
                spawn(async {}).await;
            }
        });
        Self {
            executor,
            _busy: busy,
        }
    }

    /// Long enough for those who look once more before they sleep without limit.
    fn settle(&self) {
        let end = Instant::now() + Duration::from_millis(30);
        while Instant::now() < end {
            self.pass();
        }
    }

    fn pass(&self) {
        let end = self.executor.metrics().parks() + LOOKS;
        while self.executor.metrics().parks() < end {
            thread::yield_now();
        }
    }
}

/// An executor whose workers are seen to go to rest, and to come back.
struct Seen {
    executor: Executor,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "the threads are looked for on Linux")
    )]
    name: String,
    gone: Arc<AtomicU64>,
    back: Arc<AtomicU64>,
}

/// The state that changes when a worker does anything.
#[derive(Debug, PartialEq)]
struct State {
    gone: u64,
    back: u64,
    metrics: Metrics,
    /// How often each thread has fallen asleep; `None` while one is awake. Nothing but on Linux.
    asleep: Option<Vec<String>>,
}

impl Seen {
    fn new(name: &str, workers: usize) -> Self {
        let name = format!("{name}-{workers}");
        let (gone, back) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let executor = Executor::builder()
            .workers(workers)
            .thread_name({
                let name = name.clone();
                move |_| name.clone()
            })
            .on_park({
                let gone = gone.clone();
                move |_| _ = gone.fetch_add(1, Relaxed)
            })
            .on_unpark({
                let back = back.clone();
                move |_| _ = back.fetch_add(1, Relaxed)
            })
            .build()
            .unwrap();
        Self {
            executor,
            name,
            gone,
            back,
        }
    }

    fn state(&self) -> State {
        State {
            back: self.back.load(Relaxed),
            gone: self.gone.load(Relaxed),
            metrics: self.executor.metrics(),
            asleep: self.asleep(),
        }
    }

    /// A thread that has not fallen asleep between two instants of sleep has not run.
    #[cfg(target_os = "linux")]
    fn asleep(&self) -> Option<Vec<String>> {
        let mut asleep = Vec::new();
        for thread in std::fs::read_dir("/proc/self/task").unwrap() {
            // Threads of other tests come and go.
            let Ok(status) = std::fs::read_to_string(thread.unwrap().path().join("status")) else {
                continue;
            };
            let field = |name| status.lines().find_map(|line| line.strip_prefix(name));
            if field("Name:")?.trim() != self.name {
                continue;
            }
            if !field("State:")?.trim().starts_with('S') {
                return None;
            }
            let id = field("Pid:")?.trim();
            let times = field("voluntary_ctxt_switches:")?.trim();
            asleep.push(format!("{id}: {times}"));
        }
        // A thread that has just been started has not got its name yet.
        (asleep.len() == self.executor.workers()).then_some(asleep)
    }

    #[cfg(not(target_os = "linux"))]
    fn asleep(&self) -> Option<Vec<String>> {
        Some(Vec::new())
    }

    /// Waits until that many workers rest, and sees to it that nothing moves any more.
    fn assert_rest(&self, resting: u64, elsewhere: &Elsewhere) {
        let is_at_rest =
            |state: &State| state.gone - state.back == resting && state.asleep.is_some();
        let mut tries = 0;
        let at_rest = loop {
            let before = self.state();
            elsewhere.settle();
            if is_at_rest(&before) && self.state() == before {
                break before;
            }
            tries += 1;
            assert!(tries < 500, "the workers never rest: {:?}", self.state());
        };
        for _ in 0..TIMES {
            elsewhere.pass();
            assert_eq!(self.state(), at_rest);
        }
    }
}

/// Calls a test with executors, and with what asserts that all workers but so many sleep.
fn on_executors(name: &str, test: impl Fn(&Executor, &dyn Fn(u64))) {
    let elsewhere = Elsewhere::new();
    for workers in [1, 2, 4] {
        let seen = Seen::new(name, workers);
        let assert_rest = |awake| seen.assert_rest(workers as u64 - awake, &elsewhere);
        test(&seen.executor, &assert_rest);
    }
}

#[test]
fn the_workers_of_an_idle_executor_sleep_and_stay_asleep() {
    on_executors("idle", |executor, assert_rest| {
        assert_rest(0);
        // Not only before there was anything to do.
        let spawn = |n| executor.spawn_on(n % executor.workers(), executor.spawn(yield_now()));
        let tasks: Vec<_> = (0..1_000).map(spawn).collect();
        tasks.into_iter().for_each(block_on);
        assert_rest(0);
    });
}

#[test]
fn the_other_workers_sleep_during_a_long_poll() {
    on_executors("poll", |executor, assert_rest| {
        let (begun, has_begun) = mpsc::channel();
        let (end, is_over) = mpsc::channel::<()>();
        let poll = executor.spawn(async move {
            begun.send(()).unwrap();
            is_over.recv().unwrap();
        });
        has_begun.recv().unwrap();
        assert_rest(1);
        end.send(()).unwrap();
        block_on(poll);
        assert_rest(0);
    });
}

#[cfg(feature = "io")]
#[test]
fn workers_sleep_until_the_first_timer() {
    on_executors("timed", |executor, assert_rest| {
        let hour = Duration::from_secs(3600);
        let spawn = |n| executor.spawn(sleep(hour + Duration::from_millis(n)));
        let pending: Vec<_> = (0..1_000).map(spawn).collect();
        assert_rest(0);
        block_on(executor.spawn(sleep(Duration::from_millis(1))));
        assert_rest(0);
        drop(pending);
        assert_rest(0);
    });
}

#[cfg(feature = "io")]
#[test]
fn workers_sleep_until_a_descriptor_is_ready() {
    use joint_executor::io::TcpListener;

    on_executors("open", |executor, assert_rest| {
        let listening = executor.spawn(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let accepting = spawn(async move { listener.accept().await.map(drop) });
            (address, accepting)
        });
        let (address, accepting) = block_on(listening);
        assert_rest(0);
        let _connection = std::net::TcpStream::connect(address).unwrap();
        block_on(accepting).unwrap();
        assert_rest(0);
    });
}
