//! The checker.

use std::{
    cell::{Cell, RefCell},
    panic::resume_unwind,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    graph::{Graph, MAX_THREADS},
    pool::{Bounds, explore},
    run::{Ended, Failure, Limits, Places, REPLAY, forget_trials, parse, run_model},
};

/// The result of an exploration, in numbers.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Count {
    /// Executions in which every thread ended.
    pub complete: u64,
    /// Executions in which a thread waits for a write that only other executions let it read.
    pub blocked: u64,
    /// Runs in which a write had no place in modification order.
    pub dead: u64,
    /// Executions that were visited before. Counted only if [`Builder::finds_duplicates`].
    pub duplicates: u64,
    /// The largest number of events of an execution.
    pub events: usize,
    /// Whether a bound has left out executions.
    pub is_cut: bool,
}

std::thread_local! {
    static FAILURE: RefCell<Option<String>> = const { RefCell::new(None) };
    static LAST: Cell<Option<Count>> = const { Cell::new(None) };
}

/// Returns the counts of the last model of this thread that passed.
pub fn last_count() -> Count {
    LAST.get().unwrap_or_default()
}

/// How a model is checked.
///
/// # Example
/// ```
/// let mut builder = joint_check::model::Builder::new();
/// builder.deviations = Some(2);
/// builder.check(|| { /* the model */ });
/// assert!(!joint_check::model::last_count().is_cut);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Builder {
    /// Has no effect: the most threads are always [`MAX_THREADS`].
    pub max_threads: usize,
    /// The largest number of atomic accesses of a thread in one execution, locks included. A model
    /// that has more fails, as one whose thread has 65,000 steps of any kind.
    /// `LOOM_MAX_BRANCHES` sets it, which is 1,000 otherwise.
    pub max_branches: usize,
    /// Ends after this many executions in which every thread has ended. Blocked ones do not count,
    /// so a model of which few executions end may explore many more: `max_duration` bounds them
    /// all. `LOOM_MAX_PERMUTATIONS` sets it.
    pub max_permutations: Option<usize>,
    /// Begins no execution after this time. `LOOM_MAX_DURATION` sets it, in seconds.
    pub max_duration: Option<Duration>,
    /// Explores only executions that need at most this many deviations: a
    /// read that skips a newer write, a write that is placed before another, a read that is changed
    /// later, or a thread that keeps waiting although it could continue.
    /// `JOINT_CHECK_DEVIATIONS` sets it.
    ///
    /// It stands where loom bounds preemptions, which an execution graph does not have. Zero
    /// explores one execution, and each further one adds those that are one step away. What is left
    /// out is not checked.
    pub deviations: Option<usize>,
    /// The most operations of an execution that fail or return for no reason, as std allows: waits
    /// on a [`Notify`](crate::sync::Notify) and of [`block_on`](crate::future::block_on), `park`,
    /// [`Condvar::wait`](crate::sync::Condvar::wait) and `compare_exchange_weak`.
    /// `JOINT_CHECK_SPURIOUS` sets it.
    ///
    /// Without it, one wait of each `block_on` returns for no reason, and one wait of each thread
    /// on each `Notify` neither takes the notification nor orders anything. That is what loom does,
    /// on which such a wait returns when no other thread can run.
    pub spurious: Option<usize>,
    /// Whether [`notify_one`](crate::sync::Condvar::notify_one) wakes the thread that has waited
    /// longest, as loom's does. Otherwise, and by default, it may wake any, as std's.
    pub in_order: bool,
    /// Whether readers of an [`RwLock`](crate::sync::RwLock) wait for a writer that waits, as some
    /// of std's do. It finds a thread that takes a lock twice for reading. `false` by default: the
    /// lock prefers nobody.
    pub writers_first: bool,
    /// Whether a panic poisons the locks that its thread holds. `true` by default, as in std.
    pub poisons: bool,
    /// Has no effect, so that a model with a bound for loom is checked without one.
    pub preemption_bound: Option<usize>,
    /// Has no effect: an exploration begins at its beginning.
    pub checkpoint_file: Option<PathBuf>,
    /// Has no effect.
    pub checkpoint_interval: usize,
    /// Has no effect.
    pub expect_explicit_explore: bool,
    /// Has no effect: a failure always shows its places.
    pub location: bool,
    /// Has no effect.
    pub log: bool,
    /// How many threads of the system explore. Which failure is reported does not depend on it.
    /// With more than one, the model does not run on the thread that checks it, and does not see
    /// that thread's own thread-locals.
    /// `JOINT_CHECK_WORKERS` sets it, which is 1 otherwise; `all` is the number of processors.
    pub workers: usize,
    /// The line of a failure, to run that execution alone. `JOINT_CHECK_REPLAY` sets it.
    pub replay: Option<String>,
    /// Takes an exchange that writes the value that it has read, and releases nothing, for a load:
    /// the order of such exchanges is not explored. Leaves out the rounds of a `fetch_update` in
    /// which its exchange fails: those that follow are the first of other executions. Its closure
    /// is called once, and must do nothing but compute. True by default. Without it, there are as
    /// many executions as the axioms have.
    pub merges: bool,
    /// Keeps all graphs, to count those that are visited twice.
    pub finds_duplicates: bool,
}

fn from_env(name: &str) -> Option<usize> {
    let value = std::env::var(name).ok()?;
    let number = value.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is not a number: {value}")))
}

fn workers() -> usize {
    match std::env::var("JOINT_CHECK_WORKERS") {
        Ok(all) if all == "all" => std::thread::available_parallelism().map_or(1, usize::from),
        _ => from_env("JOINT_CHECK_WORKERS").unwrap_or(1),
    }
}

impl Default for Builder {
    fn default() -> Self {
        let seconds = from_env("LOOM_MAX_DURATION");
        Self {
            max_threads: MAX_THREADS,
            max_branches: from_env("LOOM_MAX_BRANCHES").unwrap_or(1_000),
            max_permutations: from_env("LOOM_MAX_PERMUTATIONS"),
            max_duration: seconds.map(|seconds| Duration::from_secs(seconds as u64)),
            deviations: from_env("JOINT_CHECK_DEVIATIONS"),
            spurious: from_env("JOINT_CHECK_SPURIOUS"),
            in_order: false,
            writers_first: false,
            poisons: true,
            preemption_bound: None,
            checkpoint_file: None,
            checkpoint_interval: 20_000,
            expect_explicit_explore: false,
            location: false,
            log: false,
            workers: workers(),
            replay: std::env::var(REPLAY).ok(),
            merges: true,
            finds_duplicates: std::env::var_os("JOINT_CHECK_TWICE").is_some(),
        }
    }
}

/// Returns the text of the last model of this thread that failed: what is wrong, the steps of the
/// execution, and the line that repeats it.
pub fn last_failure() -> Option<String> {
    FAILURE.with_borrow(Clone::clone)
}

/// From now on, `f` is called before each step of a model of this process, with its place in the
/// source. It may do steps itself.
#[doc(hidden)]
pub use crate::run::before_each_step;

/// A model that panics with this ends without a report, for a program that then runs it again.
#[doc(hidden)]
#[derive(Debug)]
pub struct StartAgain;

fn fail(failure: Failure) -> ! {
    FAILURE.set(Some(failure.text.clone()));
    let Some(panic) = failure.panic else {
        panic!("{}", failure.text);
    };
    // The panic has been reported, but not its execution.
    if !panic.is::<StartAgain>() {
        eprintln!("{}", failure.text);
    }
    resume_unwind(panic);
}

impl Builder {
    /// Creates a builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`checkpoint_file`](Self::checkpoint_file), which has no effect.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Runs `f` in every execution.
    ///
    /// # Panics
    /// If an execution fails.
    pub fn check(&self, f: impl Fn() + Send + Sync + 'static) {
        let started = Instant::now();
        let f = Arc::new(f);
        let limits = Limits {
            events: self.max_branches,
            deviations: self.deviations,
            merges: self.merges,
            spurious: self.spurious,
            in_order: self.in_order,
            writers_first: self.writers_first,
            poisons: self.poisons,
        };
        if let Some(line) = &self.replay {
            let guide = parse(line).unwrap_or_else(|| panic!("{REPLAY} is no line of a failure"));
            let mut ordered = Places::new();
            forget_trials();
            loop {
                let (f, line) = (f.clone(), guide.clone().into());
                match run_model(Graph::new(), limits, &ordered, Some(line), &move || f()).0 {
                    Ended::Again(made) => ordered.push(made),
                    Ended::Failed(failure) => fail(failure),
                    _ => panic!("the execution of {REPLAY} does not fail"),
                }
            }
        }
        let bounds = Bounds {
            runs: self.max_permutations,
            duration: self.max_duration,
            finds_duplicates: self.finds_duplicates,
        };
        let model = move || f();
        let count = explore(&model, self.workers, limits, bounds).unwrap_or_else(|e| fail(e));
        LAST.set(Some(count));
        let log = std::env::var_os("JOINT_CHECK_LOG");
        if log.is_some_and(|log| log != "cut" || count.is_cut) {
            let thread = std::thread::current();
            let name = thread.name().unwrap_or("model");
            let seconds = started.elapsed().as_secs_f64();
            let cut = if count.is_cut { " cut" } else { "" };
            eprintln!(
                "COUNT {name} {} {} {} {} {} {seconds:.4}{cut}",
                count.complete, count.blocked, count.dead, count.duplicates, count.events
            );
        }
    }
}

/// Runs `f` in every execution.
///
/// `f` has to do the same each time that it runs, as far as it does not depend on what the model's
/// atomics and locks have returned.
///
/// # Panics
/// If an execution fails. The message says why, shows the steps, and has a line that repeats them.
///
/// # Example
/// ```
/// use joint_check::{model, sync::{Arc, atomic::{AtomicUsize, Ordering::Relaxed}}, thread};
///
/// model(|| {
///     let count = Arc::new(AtomicUsize::new(0));
///     let theirs = count.clone();
///     let other = thread::spawn(move || theirs.fetch_add(1, Relaxed));
///     count.fetch_add(1, Relaxed);
///     other.join().unwrap();
///     assert_eq!(count.load(Relaxed), 2);
/// });
/// assert_eq!(joint_check::model::last_count().complete, 2);
/// ```
pub fn model(f: impl Fn() + Send + Sync + 'static) {
    Builder::new().check(f);
}
