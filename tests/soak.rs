//! Everything at once, for as long as it is told to: tasks of all kinds on executors that come and go, spawned, joined, cancelled and
//! let go by their own tasks and by threads outside, while one of them drops the executor. Every task is accounted for.
//!
//! As a test it takes a fixed number of rounds. `cargo xtask soak [MINUTES]` runs it for that long, with other choices each time.

use std::{
    env,
    future::{Future, pending},
    panic::{self, AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use joint::{Executor, JoinError, JoinHandle, block_on, oneshot, yield_now};

const ROUNDS: u32 = 60;
const OUTSIDERS: usize = 2;
const TASKS: usize = 150;

/// A step of Marsaglia's xorshift.
struct Choice(u64);

impl Choice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

/// How many tasks were made, and how they ended for those who asked.
#[derive(Default)]
struct Counts {
    made: AtomicU64,
    dropped: AtomicU64,
    asked: AtomicU64,
    output: AtomicU64,
    panicked: AtomicU64,
    cancelled: AtomicU64,
}

/// In every future: counts its drop, and holds the round open until then.
struct Guard {
    counts: Arc<Counts>,
    _open: Sender<()>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.counts.dropped.fetch_add(1, Relaxed);
    }
}

/// What the tasks and the threads of a round share. The last one to let go of it drops the executor: a thread, or a task.
struct Round {
    executor: Executor,
    counts: Arc<Counts>,
    open: Mutex<Sender<()>>,
    /// Handles that somebody is to do something with.
    handles: Mutex<Vec<JoinHandle<u64>>>,
}

type Boxed = Pin<Box<dyn Future<Output = u64> + Send>>;

impl Round {
    fn guard(&self) -> Guard {
        self.counts.made.fetch_add(1, Relaxed);
        Guard {
            counts: self.counts.clone(),
            _open: self.open.lock().unwrap().clone(),
        }
    }

    fn spawn(&self, future: Boxed) -> JoinHandle<u64> {
        let guard = self.guard();
        self.executor.spawn(async move {
            let _guard = guard;
            future.await
        })
    }

    fn count(&self, result: &Result<u64, JoinError>) {
        self.counts.asked.fetch_add(1, Relaxed);
        match result {
            Ok(_) => &self.counts.output,
            Err(JoinError::Panicked(_)) => &self.counts.panicked,
            Err(JoinError::Cancelled) => &self.counts.cancelled,
        }
        .fetch_add(1, Relaxed);
    }

    /// A task of some kind, which may have children.
    fn task(self: &Arc<Self>, choice: &mut Choice, depth: u32) -> Boxed {
        let n = choice.below(20);
        match choice.below(if depth == 0 { 7 } else { 10 }) {
            0 => Box::pin(async move { n }),
            1 => Box::pin(async move {
                for _ in 0..n {
                    yield_now().await;
                }
                n
            }),
            2 => Box::pin(async move { panic!("a task that panics: {n}") }),
            3 => Box::pin(pending()),
            4 => {
                let (sender, receiver) = oneshot::channel();
                let guard = self.guard();
                self.executor.spawn_detached(async move {
                    let _guard = guard;
                    yield_now().await;
                    // The one who waits may be gone.
                    let _ = sender.send(n);
                });
                Box::pin(async move { receiver.await.unwrap_or(0) })
            }
            5 => Box::pin(async move {
                let end = Instant::now() + Duration::from_micros(10 * n);
                while Instant::now() < end {
                    std::hint::spin_loop();
                }
                n
            }),
            6 => {
                let round = Arc::downgrade(self);
                Box::pin(async move {
                    // It keeps the executor for as long as it yields, and may be the one who drops it.
                    let Some(round) = round.upgrade() else {
                        return n;
                    };
                    yield_now().await;
                    let left = round.handles.lock().unwrap().pop();
                    drop(left);
                    n
                })
            }
            _ => {
                let children: Vec<_> = (0..choice.below(4))
                    .map(|_| self.task(choice, depth - 1))
                    .collect();
                let round = Arc::downgrade(self);
                Box::pin(async move {
                    let mut sum = 0;
                    for child in children {
                        let Some(handle) = round.upgrade().map(|round| round.spawn(child)) else {
                            return sum;
                        };
                        let result = handle.result().await;
                        if let Some(round) = round.upgrade() {
                            round.count(&result);
                        }
                        sum += result.unwrap_or(1);
                    }
                    sum
                })
            }
        }
    }

    /// Does something with a handle, its own or another's.
    fn dispose(self: &Arc<Self>, handle: JoinHandle<u64>, choice: &mut Choice) {
        match choice.below(6) {
            0 => handle.detach(),
            1 => drop(handle),
            2 => {
                handle.abort();
                handle.detach();
            }
            3 => {
                handle.abort();
                let result = block_on(handle.result());
                self.count(&result);
            }
            _ => self.handles.lock().unwrap().push(handle),
        }
    }
}

fn outsider(round: &Arc<Round>, mut choice: Choice) {
    for _ in 0..TASKS {
        let task = round.task(&mut choice, 2);
        let handle = round.spawn(task);
        round.dispose(handle, &mut choice);
        if choice.below(4) == 0 {
            let other = round.handles.lock().unwrap().pop();
            if let Some(other) = other {
                round.dispose(other, &mut choice);
            }
        }
    }
}

/// One executor's life. Comes back with how many tasks it had.
fn round(choice: &mut Choice) -> u64 {
    let counts = Arc::<Counts>::default();
    let (open, all_gone): (Sender<()>, Receiver<()>) = channel();
    let workers = 1 + choice.below(4) as usize;
    let executor = Executor::builder().workers(workers).build().unwrap();
    let round = Arc::new(Round {
        executor,
        counts: counts.clone(),
        open: Mutex::new(open),
        handles: Mutex::default(),
    });
    let start = Arc::new(Barrier::new(OUTSIDERS));
    let threads: Vec<_> = (0..OUTSIDERS)
        .map(|_| {
            let (round, start) = (round.clone(), start.clone());
            let choice = Choice(choice.below(u64::MAX) | 1);
            thread::spawn(move || {
                start.wait();
                outsider(&round, choice);
            })
        })
        .collect();
    // Whoever has the last share drops the executor, and with it what is left.
    let handles = round.handles.lock().unwrap().split_off(0);
    drop(handles);
    drop(round);
    for thread in threads {
        thread.join().unwrap();
    }
    // Nothing is sent: it ends when the last guard and the round have gone.
    all_gone.recv().unwrap_err();
    let count = |count: &AtomicU64| count.load(Relaxed);
    assert_eq!(count(&counts.made), count(&counts.dropped));
    let answers = [&counts.output, &counts.panicked, &counts.cancelled];
    assert_eq!(count(&counts.asked), answers.map(count).iter().sum::<u64>());
    count(&counts.made)
}

fn time_to_soak() -> Option<Duration> {
    let minutes = env::var("JOINT_SOAK_MINUTES").ok()?;
    let minutes: f64 = minutes
        .parse()
        .expect("JOINT_SOAK_MINUTES is a number of minutes");
    Some(Duration::from_secs_f64(60.0 * minutes))
}

#[test]
fn every_task_is_accounted_for() {
    // The tasks' own panics are part of the game, and would fill the screen.
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let is_expected = info
            .payload_as_str()
            .is_some_and(|text| text.starts_with("a task that panics"));
        if !is_expected {
            report(info);
        }
    }));
    let (limit, seed) = match time_to_soak() {
        None => (None, 0x9e37_79b9_7f4a_7c15),
        Some(limit) => {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            (Some(limit), now.unwrap().as_nanos() as u64 | 1)
        }
    };
    println!("seed {seed:#x}");
    let start = Instant::now();
    let mut choice = Choice(seed);
    let (mut rounds, mut tasks) = (0, 0);
    while limit.map_or(rounds < ROUNDS, |limit| start.elapsed() < limit) {
        let outcome = catch_unwind(AssertUnwindSafe(|| round(&mut choice)));
        match outcome {
            Ok(made) => tasks += made,
            Err(panic) => {
                println!("in round {rounds} from seed {seed:#x}");
                panic::resume_unwind(panic);
            }
        }
        rounds += 1;
    }
    println!("{rounds} executors, {tasks} tasks");
}
