//! Graves of tasks: short handlers, messages, spawners, sleeping workers, and the LIFO slot.

use std::{
    future::poll_fn,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Release},
    },
    task::Poll,
    thread,
    time::{Duration, Instant},
};

use atomic_waker::AtomicWaker;
use joint_benches::{
    options::Options,
    runtime::Runtime,
    table::{median, settle},
    work::{busy_for, microsecond},
};

use super::{
    contestants::{LEFT, OfTasks, all_ended},
    grave::{About, nanoseconds},
};

/// The processor time rose by 8.5% in a service with handlers of microseconds: each task that was
/// woken woke another worker, which found nothing to do (tokio #8065).
///
/// An outside thread brings an item about every 100 microseconds. A task spawns the item's handler,
/// and awaits it.
#[derive(Clone, Copy)]
pub(crate) struct Trickle;

impl Trickle {
    const PAUSE: Duration = Duration::from_micros(50);

    fn items() -> usize {
        Options::read().of(100, 5)
    }
}

impl OfTasks for Trickle {
    fn about(self) -> About {
        About::times(
            "a trickle of short handlers (tokio #8065)",
            &["until an item is handled, median"],
            "item",
            Self::items(),
        )
    }

    fn run<R: Runtime>(self, runtime: &'static R) -> Vec<f64> {
        let times = Arc::new(Mutex::new(Vec::new()));
        LEFT.start(Self::items());
        for _ in 0..Self::items() {
            thread::sleep(Self::PAUSE);
            let (times, start) = (times.clone(), Instant::now());
            runtime.spawn_outside_detached(async move {
                R::join(runtime.spawn(async { microsecond() })).await;
                let time = nanoseconds(start.elapsed());
                times.lock().expect("no panics").push(time);
                LEFT.done();
            });
        }
        all_ended();
        let times = times.lock().expect("no panics");
        vec![median(times.iter().copied())]
    }
}

/// Tasks that exchange messages lost 30% of their throughput, because a woken task was stolen from
/// the worker that had just written its message (tokio #8065, agntcy/slim #1603).
///
/// This many pairs of tasks pass a ball to and fro.
#[derive(Clone, Copy)]
pub(crate) struct PingPong(pub(crate) usize);

#[derive(Default)]
struct Ball {
    passes: AtomicUsize,
    players: [AtomicWaker; 2],
}

impl PingPong {
    fn passes() -> usize {
        Options::read().of(2_000, 20)
    }

    async fn play(ball: Arc<Ball>, side: usize) {
        for pass in (side..Self::passes()).step_by(2) {
            poll_fn(|cx| {
                let is_here = || ball.passes.load(Acquire) == pass;
                if is_here() {
                    return Poll::Ready(());
                }
                ball.players[side].register(cx.waker());
                match is_here() {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                }
            })
            .await;
            ball.passes.store(pass + 1, Release);
            ball.players[1 - side].wake();
        }
        LEFT.done();
    }
}

impl OfTasks for PingPong {
    fn about(self) -> About {
        let title = match self.0 {
            1 => "ping-pong, one pair of tasks (tokio #8065)",
            _ => "ping-pong, two pairs for each worker (tokio #8065)",
        };
        let messages = self.0 * Self::passes();
        About::times(title, &["one message"], "message", messages)
    }

    fn run<R: Runtime>(self, runtime: &'static R) -> Vec<f64> {
        LEFT.start(2 * self.0);
        let start = Instant::now();
        for _ in 0..self.0 {
            let ball = Arc::new(Ball::default());
            for side in [0, 1] {
                runtime.spawn_outside_detached(Self::play(ball.clone(), side));
            }
        }
        all_ended();
        vec![nanoseconds(start.elapsed()) / (self.0 * Self::passes()) as f64]
    }
}

/// Threads that spawn from outside share one queue. Because of its lock, 8 threads took four times
/// as long as one thread for the same number of tasks (tokio #8483).
#[derive(Clone, Copy)]
pub(crate) struct Spawners;

impl Spawners {
    const THREADS: [usize; 4] = [1, 4, 16, 64];

    fn tasks() -> usize {
        Options::read().of(3_200, 64)
    }
}

impl OfTasks for Spawners {
    fn about(self) -> About {
        About::times(
            "spawners outside (tokio #8483)",
            &Self::THREADS.map(|threads| format!("one task, {threads} at once")),
            "task",
            Self::THREADS.len() * Self::tasks(),
        )
    }

    fn run<R: Runtime>(self, runtime: &'static R) -> Vec<f64> {
        let with = |threads: usize| {
            LEFT.start(Self::tasks());
            let begin = Barrier::new(threads + 1);
            let start = thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        begin.wait();
                        for _ in 0..Self::tasks() / threads {
                            runtime.spawn_outside_detached(async { LEFT.done() });
                        }
                    });
                }
                let start = Instant::now();
                begin.wait();
                start
            });
            all_ended();
            nanoseconds(start.elapsed()) / Self::tasks() as f64
        };
        Self::THREADS.map(with).into()
    }
}

/// 90 microseconds passed between the start of the first task and that of the last, because each
/// worker that wakes up wakes only one more (bevy #6941, forte #37).
///
/// There are as many tasks as workers, all of which sleep. No task ends before all have begun. Then
/// the same again, while some of the workers may be about to sleep.
#[derive(Clone, Copy)]
pub(crate) struct WakeAll(pub(crate) usize);

/// Where the tasks of [`WakeAll`] wait for one another.
struct Meeting {
    start: Instant,
    tasks: usize,
    times: Mutex<Vec<f64>>,
    begun: AtomicUsize,
}

impl Meeting {
    /// If two tasks lie on one worker, the second one begins after this time.
    const PATIENCE: Duration = Duration::from_millis(5);

    const FIGURES: [&str; 2] = ["the first task begins", "the last task begins"];

    fn new(tasks: usize) -> Arc<Self> {
        LEFT.start(tasks);
        Arc::new(Self {
            start: Instant::now(),
            tasks,
            times: Mutex::default(),
            begun: AtomicUsize::new(0),
        })
    }

    fn attend(&self) {
        let time = nanoseconds(self.start.elapsed());
        self.times.lock().expect("no panics").push(time);
        self.begun.fetch_add(1, AcqRel);
        let begin = Instant::now();
        while self.begun.load(Acquire) < self.tasks && begin.elapsed() < Self::PATIENCE {
            thread::yield_now();
        }
        LEFT.done();
    }

    /// When the first and the last task began.
    fn first_and_last(&self) -> Vec<f64> {
        let times = self.times.lock().expect("no panics");
        let by = |best: fn(f64, f64) -> f64| times.iter().copied().reduce(best);
        [by(f64::min), by(f64::max)]
            .map(|time| time.unwrap_or(f64::NAN))
            .into()
    }
}

impl OfTasks for WakeAll {
    fn about(self) -> About {
        let [first, last] = Meeting::FIGURES;
        About::times(
            "as many tasks as sleeping workers, from outside (bevy #6941)",
            &[first, last, "the last one 200 us after the first burst"],
            "run",
            2,
        )
    }

    fn run<R: Runtime>(self, runtime: &'static R) -> Vec<f64> {
        let burst = || {
            let meeting = Meeting::new(self.0);
            for _ in 0..self.0 {
                let meeting = meeting.clone();
                runtime.spawn_outside_detached(async move { meeting.attend() });
            }
            all_ended();
            meeting.first_and_last()
        };
        let mut figures = burst();
        settle();
        figures.extend(burst().pop());
        figures
    }
}

/// As above, but one of the tasks spawns the others.
#[derive(Clone, Copy)]
pub(crate) struct WakeAllInside(pub(crate) usize);

impl OfTasks for WakeAllInside {
    fn about(self) -> About {
        About::times(
            "as many tasks as workers, from one of the tasks (bevy #6941)",
            &Meeting::FIGURES,
            "run",
            1,
        )
    }

    fn run<R: Runtime>(self, runtime: &'static R) -> Vec<f64> {
        let meeting = runtime.run(async move {
            let meeting = Meeting::new(self.0);
            for _ in 1..self.0 {
                let meeting = meeting.clone();
                runtime.spawn_detached(async move { meeting.attend() });
            }
            meeting.attend();
            meeting
        });
        all_ended();
        meeting.first_and_last()
    }
}

/// A task in the LIFO slot cannot be stolen. It waited until the worker's current poll had ended,
/// however long that took, while all other workers slept (tokio #4941).
#[derive(Clone, Copy)]
pub(crate) struct LifoSlot;

impl LifoSlot {
    const POLL: Duration = Duration::from_millis(2);
}

impl OfTasks for LifoSlot {
    fn about(self) -> About {
        About::times(
            "a task behind a long poll of 2 ms (tokio #4941)",
            &["a spawned task begins", "a woken task runs"],
            "run",
            1,
        )
    }

    fn run<R: Runtime>(self, runtime: &'static R) -> Vec<f64> {
        runtime.run(async move {
            let start = Instant::now();
            let spawned = runtime.spawn(async move { start.elapsed() });
            busy_for(Self::POLL);
            let spawned = R::join(spawned).await;

            let (sender, receiver) = oneshot::channel::<Instant>();
            let has_begun = Arc::new(AtomicUsize::new(0));
            let begins = has_begun.clone();
            let woken = runtime.spawn(async move {
                begins.store(1, Release);
                receiver.await.expect("a message").elapsed()
            });
            while has_begun.load(Acquire) == 0 {
                R::yield_now().await;
            }
            // It may be in its first poll still, on another worker.
            busy_for(Duration::from_micros(50));
            sender.send(Instant::now()).expect("the receiver waits");
            busy_for(Self::POLL);
            [spawned, R::join(woken).await].map(nanoseconds).into()
        })
    }
}

/// A worker that had taken many tasks kept them, and the tasks of the others had many times as many
/// turns for good.
///
/// Tasks that are always due are spawned from outside. Their polls block, so that any number of
/// workers make progress.
#[derive(Clone, Copy)]
pub(crate) struct Shares;

impl Shares {
    const TASKS: usize = 64;
    const POLL: Duration = Duration::from_millis(2);
    /// How many turns each task should have had before they are compared.
    const TURNS: usize = 8;
}

impl OfTasks for Shares {
    fn about(self) -> About {
        About::times(
            "turns of 64 tasks with polls of 2 ms",
            &["the most by the least, at first", "the same, from then on"],
            "run",
            1,
        )
        .counted_in("times")
    }

    fn run<R: Runtime>(self, runtime: &'static R) -> Vec<f64> {
        let all: Arc<[AtomicUsize]> = (0..Self::TASKS).map(|_| AtomicUsize::new(0)).collect();
        let is_over = Arc::new(AtomicBool::new(false));
        LEFT.start(Self::TASKS);
        for i in 0..Self::TASKS {
            let (all, is_over) = (all.clone(), is_over.clone());
            runtime.spawn_outside_detached(async move {
                while !is_over.load(Acquire) {
                    all[i].fetch_add(1, AcqRel);
                    thread::sleep(Self::POLL);
                    R::yield_now().await;
                }
                LEFT.done();
            });
        }
        let figures = [(); 2].map(|()| {
            let turns = |turns: &AtomicUsize| turns.load(Acquire);
            while all.iter().map(turns).sum::<usize>() < Self::TASKS * Self::TURNS {
                thread::sleep(Self::POLL);
            }
            let turns: Vec<_> = all.iter().map(|turns| turns.swap(0, AcqRel)).collect();
            let (most, least) = (turns.iter().max(), turns.iter().min());
            let [most, least] = [most, least].map(|turns| turns.map_or(0, |&turns| turns.max(1)));
            most as f64 / least as f64
        });
        is_over.store(true, Release);
        all_ended();
        figures.into()
    }
}
