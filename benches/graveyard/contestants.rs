//! The contestants with one number of workers, and which rows each of them can run.

use joint_benches::{
    driven::{Driven, smol::Smol},
    options::Options,
    pools::{async_executor::AsyncExecutorStatic, joint::Joint, nio::Nio, tokio::DrivenTokioPool},
    runtime::{Pool, Runtime, leak},
    signal::Countdown,
    work::microsecond,
};
use joint_executor::Executor;

use super::grave::{About, Grave, Run};

/// The tasks of a row that have not ended. Rows run one after another.
pub(crate) static LEFT: Countdown = Countdown::new();

/// Waits until the tasks of a row have ended.
pub(crate) fn all_ended() {
    joint::block_on(LEFT.over());
}

/// A row of tasks.
pub(crate) trait OfTasks: Copy + Send + Sync + 'static {
    /// Returns what the row is called, and what it measures.
    fn about(self) -> About;

    /// Runs the row once, and returns its figures.
    fn run<R: Runtime>(self, runtime: &'static R) -> Vec<f64>;
}

/// A row of timers and descriptors.
pub(crate) trait OfDrivers: Copy + Send + Sync + 'static {
    /// Returns what the row is called, and what it measures.
    fn about(self) -> About;

    /// Runs the row once, and returns its figures.
    fn run<R: Driven>(self, runtime: &'static R) -> Vec<f64>;
}

/// A row of forks.
pub(crate) trait OfForks: Copy + Send + Sync + 'static {
    /// Returns what the row is called, and what it measures.
    fn about(self) -> About;

    /// Runs the row once, and returns its figures.
    fn run<S: Splits>(self, threads: &'static S) -> Vec<f64>;
}

/// Threads that fork and join on the stack.
pub(crate) trait Splits: Sync + 'static {
    /// Runs both, perhaps at the same time. Called on any thread.
    fn join(&'static self, a: impl FnOnce() + Send, b: impl FnOnce() + Send);

    /// Starts tasks of a microsecond that may borrow, in one scope, and waits for them.
    fn scope(&'static self, tasks: usize);

    /// Calls a function for each item, and halves the items until each is alone.
    fn each(&'static self, first: usize, count: usize, f: &(impl Fn(usize) + Sync)) {
        match count {
            0 => (),
            1 => f(first),
            _ => self.join(
                || self.each(first, count / 2, f),
                || self.each(first + count / 2, count - count / 2, f),
            ),
        }
    }
}

impl Splits for Executor {
    fn join(&'static self, a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
        self.install(|| joint_executor::join(a, b));
    }

    fn scope(&'static self, tasks: usize) {
        self.scope(|scope| (0..tasks).for_each(|_| drop(scope.spawn(async { microsecond() }))));
    }
}

impl Splits for rayon::ThreadPool {
    fn join(&'static self, a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
        self.join(a, b);
    }

    fn scope(&'static self, tasks: usize) {
        self.scope(|scope| (0..tasks).for_each(|_| scope.spawn(|_| microsecond())));
    }
}

#[cfg(joint_peers)]
impl Splits for forte::ThreadPool {
    fn join(&'static self, a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
        self.join(|_| a(), |_| b());
    }

    fn scope(&'static self, tasks: usize) {
        self.scope(|scope| {
            (0..tasks).for_each(|_| scope.spawn(|_: &forte::Worker| microsecond()));
        });
    }
}

/// The calling thread alone: what a row of forks needs.
pub(crate) struct OneThread;

impl Splits for OneThread {
    fn join(&'static self, a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
        a();
        b();
    }

    fn scope(&'static self, tasks: usize) {
        (0..tasks).for_each(|_| microsecond());
    }
}

/// All contestants, started.
pub(crate) struct Contestants {
    pub(crate) workers: usize,
    /// The number of workers, and how many of them can run at once, in words.
    in_words: String,
    joint: &'static Joint,
    tokio: &'static DrivenTokioPool,
    smol: &'static Smol,
    async_executor: &'static AsyncExecutorStatic,
    nio: &'static Nio,
    joint_forks: &'static Executor,
    rayon: &'static rayon::ThreadPool,
    #[cfg(joint_peers)]
    forte: &'static joint_benches::pools::forte::Forte,
    #[cfg(joint_peers)]
    forte_forks: &'static forte::ThreadPool,
}

/// With more workers forte does not take part.
const MOST_OF_FORTE: usize = 30;

impl Contestants {
    pub(crate) fn start(workers: usize, processors: usize) -> &'static Self {
        let executor = Executor::builder().workers(workers).build();
        let rayon = rayon::ThreadPoolBuilder::new().num_threads(workers).build();
        let plural = if workers == 1 { "" } else { "s" };
        let mut in_words = format!("{workers} worker{plural}");
        if workers > processors {
            in_words += &format!(" on {processors} processors");
        }
        #[cfg(joint_peers)]
        let forte_forks = leak(forte::ThreadPool::new());
        #[cfg(joint_peers)]
        // The calling thread takes part.
        forte_forks.resize_to(workers.min(MOST_OF_FORTE) - 1);
        leak(Self {
            workers,
            in_words,
            joint: Joint::start(workers),
            tokio: DrivenTokioPool::start(workers),
            smol: Smol::start(workers),
            async_executor: AsyncExecutorStatic::start(workers),
            nio: Nio::start(workers),
            joint_forks: leak(executor.expect("threads can be started")),
            rayon: leak(rayon.expect("threads can be started")),
            #[cfg(joint_peers)]
            forte: Pool::start(workers.min(MOST_OF_FORTE)),
            #[cfg(joint_peers)]
            forte_forks,
        })
    }

    fn grave(&self, about: About, mut contestants: Vec<(&'static str, Run)>) -> Grave {
        contestants.retain(|(name, _)| {
            Options::has_contestant(name) && (*name != "forte" || self.workers <= MOST_OF_FORTE)
        });
        Grave {
            about,
            workers: self.in_words.clone(),
            contestants,
        }
    }

    pub(crate) fn tasks(&'static self, row: impl OfTasks) -> Grave {
        let contestants: Vec<(_, Run)> = vec![
            ("joint", Box::new(move || row.run(self.joint))),
            ("tokio", Box::new(move || row.run(self.tokio))),
            (
                "async-executor static",
                Box::new(move || row.run(self.async_executor)),
            ),
            ("nio", Box::new(move || row.run(self.nio))),
            #[cfg(joint_peers)]
            ("forte", Box::new(move || row.run(self.forte))),
        ];
        self.grave(row.about(), contestants)
    }

    pub(crate) fn drivers(&'static self, row: impl OfDrivers) -> Grave {
        let contestants: Vec<(_, Run)> = vec![
            ("joint", Box::new(move || row.run(self.joint))),
            ("tokio", Box::new(move || row.run(self.tokio))),
            ("smol", Box::new(move || row.run(self.smol))),
        ];
        self.grave(row.about(), contestants)
    }

    pub(crate) fn forks(&'static self, row: impl OfForks) -> Grave {
        let contestants: Vec<(_, Run)> = vec![
            ("joint", Box::new(move || row.run(self.joint_forks))),
            ("rayon", Box::new(move || row.run(self.rayon))),
            #[cfg(joint_peers)]
            ("forte", Box::new(move || row.run(self.forte_forks))),
            ("one thread", Box::new(move || row.run(&OneThread))),
        ];
        self.grave(row.about(), contestants)
    }
}
