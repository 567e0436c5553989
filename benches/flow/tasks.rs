//! The rows of Flow's own benches that are made of tasks, on one thread.
//!
//! All tasks of a row run on one worker, so what they count together is counted by one thread.

use std::{
    hint::black_box,
    sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use futures_channel::oneshot;
use joint_benches::{
    options::Options,
    pools::joint::Joint,
    runtime::{Pool, Runtime, Yield},
    table::{NamedRun, Run},
};

use super::vocabularies::poll_once;

/// How many tasks take a trip through the queue, and how many await a promise.
const NET2: usize = 512;
const CALLBACK: usize = 64;
/// The members of a collection.
const MEMBERS: usize = 256;
/// How many tasks a storm cancels.
const STORM: usize = 1_024;
const TURNS: usize = 10_000;
const FAR: Duration = Duration::from_secs(3_600);

/// A future that is a task of a row.
pub(crate) trait Work: Future<Output = ()> + Send + 'static {}

impl<F: Future<Output = ()> + Send + 'static> Work for F {}

/// The vocabulary of Flow's benches. Each method is the contestant's own way to do the same.
pub(crate) trait Vocabulary: 'static {
    /// A task, or the future itself where a task is not needed to await many.
    type Task<F: Work>: Send;
    /// Tasks that are running, and are cancelled together.
    type Storm: Send;
    type Collection<F: Work>: Send;
    type Sender: Send;
    type Shared: Clone + Send + 'static;

    /// Runs a future on the one worker, and blocks this thread until it is ready.
    fn run(future: impl Future<Output = Duration> + Send + 'static) -> Duration {
        static ONE_WORKER: LazyLock<&Joint> = LazyLock::new(|| Joint::start(1));
        ONE_WORKER.run(future)
    }
    fn spawn<F: Work>(future: F) -> Self::Task<F>;
    /// Waits for all.
    fn all<F: Work>(tasks: Vec<Self::Task<F>>) -> impl Future<Output = ()> + Send;
    /// Waits for all and for `other`, which is started after them.
    fn all_beside<F: Work>(
        tasks: Vec<Self::Task<F>>,
        other: impl Future<Output = ()> + Send,
    ) -> impl Future<Output = ()> + Send {
        async {
            other.await;
            Self::all(tasks).await;
        }
    }
    /// Starts the futures. They have begun when the caller has next yielded often enough.
    fn storm<F: Work>(futures: impl Iterator<Item = F>) -> Self::Storm;
    fn collection<F: Work>() -> Self::Collection<F>;
    fn add<F: Work>(collection: &mut Self::Collection<F>, future: F);
    /// Starts what was added, where that is not done by adding it.
    fn start<F: Work>(_collection: &mut Self::Collection<F>) {}
    /// Waits until all members have ended.
    fn emptied<F: Work>(collection: Self::Collection<F>) -> impl Future<Output = ()> + Send;
    /// A value that is set once, for many waiters.
    fn promise() -> (Self::Sender, Self::Shared);
    fn send(sender: Self::Sender);
    fn wait(shared: Self::Shared) -> impl Future<Output = ()> + Send;
    /// One trip through the queue: Flow's `delay(0)`.
    fn turn() -> impl Future<Output = ()> + Send {
        Yield::default()
    }
}

/// A vocabulary with timers.
pub(crate) trait Timed: Vocabulary {
    fn delay(duration: Duration) -> impl Future<Output = ()> + Send;
    fn yield_now() -> impl Future<Output = ()> + Send;
}

/// A count of what the tasks of a row do, by the one thread that runs them.
struct Count(AtomicUsize);

impl Count {
    const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    fn reset(&self) {
        self.0.store(0, Relaxed);
    }

    /// Not one operation, because no other thread counts.
    fn add_one(&self) {
        self.0.store(self.0.load(Relaxed) + 1, Relaxed);
    }

    /// Lets the other tasks run until the count is reached.
    async fn reaches<V: Vocabulary>(&self, count: usize) {
        while self.0.load(Relaxed) < count {
            V::turn().await;
        }
    }
}

/// Flow's `++*sum`.
static SUM: Count = Count::new();
static BEGUN: Count = Count::new();
static DROPPED: Count = Count::new();

struct CountsDrop;

impl Drop for CountsDrop {
    fn drop(&mut self) {
        DROPPED.add_one();
    }
}

/// A row that is repeated in each run, because once is too short for the clock.
fn row<V: Vocabulary, F>(title: &'static str, operations: usize, once: fn() -> F) -> NamedRun
where
    F: Future<Output = Duration> + Send + 'static,
{
    let times = Options::read().of((TURNS / operations).clamp(1, 100), 1);
    let run: Run = Box::new(move || {
        V::run(async move {
            let mut taken = Duration::ZERO;
            for _ in 0..times {
                taken += once().await;
            }
            taken
        })
    });
    (title, (times * operations) as u64, run)
}

/// The rows that every contestant can do.
pub(crate) fn rows<V: Vocabulary>() -> Vec<NamedRun> {
    vec![
        row::<V, _>("NET2/512", NET2, net2::<V>),
        row::<V, _>("CALLBACK<32>/64", CALLBACK, callback::<V>),
        row::<V, _>("collection: add 256", MEMBERS, || async {
            collect::<V>().await.0
        }),
        row::<V, _>("collection: complete 256", MEMBERS, || async {
            collect::<V>().await.1
        }),
        row::<V, _>("spawn and cancel 1,024", STORM, spawns_and_cancels::<V>),
    ]
}

/// The row with timers.
pub(crate) fn turns<V: Timed>() -> Vec<NamedRun> {
    vec![row::<V, _>("YIELD/64", TURNS, yields::<V>)]
}

async fn net2<V: Vocabulary>() -> Duration {
    let start = Instant::now();
    let one = |_| {
        V::spawn(async {
            V::turn().await;
            SUM.add_one();
        })
    };
    V::all((0..NET2).map(one).collect()).await;
    start.elapsed()
}

/// One promise, and tasks that hold an array while they wait for it.
async fn callback<V: Vocabulary>() -> Duration {
    BEGUN.reset();
    let start = Instant::now();
    let (sender, shared) = V::promise();
    let one = |_| {
        let shared = shared.clone();
        V::spawn(async move {
            let mut held = [0_u8; 32];
            black_box(&mut held);
            BEGUN.add_one();
            V::wait(shared).await;
            black_box(&mut held);
            SUM.add_one();
        })
    };
    let tasks = (0..CALLBACK).map(one).collect();
    V::all_beside(tasks, async {
        BEGUN.reaches::<V>(CALLBACK).await;
        V::send(sender);
    })
    .await;
    start.elapsed()
}

/// The times of adding members that wait, until they do, and of completing them.
async fn collect<V: Vocabulary>() -> (Duration, Duration) {
    BEGUN.reset();
    let mut senders = Vec::with_capacity(MEMBERS);
    let member = |senders: &mut Vec<_>| {
        let (sender, receiver) = oneshot::channel::<()>();
        senders.push(sender);
        async move {
            BEGUN.add_one();
            receiver.await.expect("the sender sends");
            SUM.add_one();
        }
    };
    let members: Vec<_> = (0..MEMBERS).map(|_| member(&mut senders)).collect();
    let mut collection = V::collection();
    let start = Instant::now();
    for member in members {
        V::add(&mut collection, member);
    }
    V::start(&mut collection);
    BEGUN.reaches::<V>(MEMBERS).await;
    let added = start.elapsed();
    let start = Instant::now();
    for sender in senders {
        sender.send(()).expect("the receiver waits");
    }
    V::emptied(collection).await;
    (added, start.elapsed())
}

/// A future that begins, and waits forever.
pub(crate) fn endless() -> impl Work {
    async {
        let _counts = CountsDrop;
        BEGUN.add_one();
        std::future::pending().await
    }
}

/// The same as the row of a storm, in one task: futures begin together, and are dropped together.
pub(crate) fn in_one_task<F: Work, A: Future + 'static>(
    endless: fn() -> F,
    all: impl Fn(Vec<F>) -> A + Clone + Send + 'static,
) -> [NamedRun; 1] {
    let times = Options::read().of(TURNS / STORM, 1);
    let run: Run = Box::new(move || {
        BEGUN.reset();
        DROPPED.reset();
        let start = Instant::now();
        for _ in 0..times {
            let mut storm = Box::pin(all((0..STORM).map(|_| endless()).collect()));
            poll_once(storm.as_mut());
        }
        let taken = start.elapsed();
        let counts = [&BEGUN, &DROPPED].map(|count| count.0.load(Relaxed));
        assert_eq!(counts, [times * STORM; 2]);
        taken
    });
    [("begin and drop 1,024", (times * STORM) as u64, run)]
}

/// The time of starting tasks that wait forever, until they do, and of cancelling them, until their
/// futures are dropped.
async fn spawns_and_cancels<V: Vocabulary>() -> Duration {
    BEGUN.reset();
    DROPPED.reset();
    let start = Instant::now();
    let storm = V::storm((0..STORM).map(|_| endless()));
    BEGUN.reaches::<V>(STORM).await;
    drop(storm);
    DROPPED.reaches::<V>(STORM).await;
    start.elapsed()
}

/// Turns of one task while others sleep, each until a different time.
async fn yields<V: Timed>() -> Duration {
    const OTHERS: usize = 63;

    BEGUN.reset();
    let sleeper = |i| async move {
        BEGUN.add_one();
        V::delay(FAR + Duration::from_millis(i as u64)).await;
    };
    let _asleep = V::storm((0..OTHERS).map(sleeper));
    BEGUN.reaches::<V>(OTHERS).await;
    let start = Instant::now();
    for _ in 0..TURNS {
        V::yield_now().await;
    }
    start.elapsed()
}
