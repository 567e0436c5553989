//! The checker.

use std::{
    cell::{Cell, RefCell},
    collections::HashSet,
    panic::resume_unwind,
    sync::Arc,
    time::Instant,
};

use crate::{
    graph::{Graph, MAX_THREADS},
    run::{Ended, Failure, Limits, REPLAY, parse, run},
};

/// The result of an exploration, in numbers.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Count {
    /// Executions in which every thread ended.
    pub complete: u64,
    /// Executions in which a thread waits for a write that comes, and other executions have.
    pub blocked: u64,
    /// Runs that found no place for a write.
    pub dead: u64,
    /// Executions that were visited before. Counted only if [`Builder::finds_duplicates`].
    pub duplicates: u64,
    /// The largest number of events of an execution.
    pub events: usize,
}

std::thread_local! {
    static FAILURE: RefCell<Option<String>> = const { RefCell::new(None) };
    static LAST: Cell<Count> = const { Cell::new(Count { complete: 0, blocked: 0, dead: 0, duplicates: 0, events: 0 }) };
}

/// Returns the counts of the last model of this thread that passed.
pub fn last_count() -> Count {
    LAST.get()
}

/// How a model is checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Builder {
    /// Has no effect.
    pub max_threads: usize,
    /// The largest number of steps of a thread in one execution. A model that has more fails.
    /// `LOOM_MAX_BRANCHES` sets it, which is 1,000 otherwise.
    pub max_branches: usize,
    /// Has no effect.
    pub preemption_bound: Option<usize>,
    /// Has no effect.
    pub expect_explicit_explore: bool,
    /// The line of a failure, whose execution is run instead of all. `JOINT_CHECK_REPLAY` sets it.
    pub replay: Option<String>,
    /// Keeps all graphs, to count those that are visited twice.
    pub finds_duplicates: bool,
}

/// A number that the environment gives.
fn from_env(name: &str) -> Option<usize> {
    let value = std::env::var(name).ok()?;
    let number = value.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is not a number: {value}")))
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            max_threads: MAX_THREADS,
            max_branches: from_env("LOOM_MAX_BRANCHES").unwrap_or(1_000),
            preemption_bound: None,
            expect_explicit_explore: false,
            replay: std::env::var(REPLAY).ok(),
            finds_duplicates: std::env::var_os("JOINT_CHECK_TWICE").is_some(),
        }
    }
}

/// Returns the text of the last model of this thread that failed: what is wrong, the steps of the
/// execution, and the line that repeats it.
pub fn last_failure() -> Option<String> {
    FAILURE.with_borrow(Clone::clone)
}

/// Ends the model with what failed.
fn fail(failure: Failure) -> ! {
    FAILURE.set(Some(failure.text.clone()));
    let Some(panic) = failure.panic else {
        panic!("{}", failure.text);
    };
    // The panic has been reported, but not its execution.
    eprintln!("{}", failure.text);
    resume_unwind(panic);
}

impl Builder {
    /// Creates a builder.
    pub fn new() -> Self {
        Self::default()
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
        };
        if let Some(line) = &self.replay {
            let guide = parse(line).unwrap_or_else(|| panic!("{REPLAY} is no line of a failure"));
            match run(Graph::new(), limits, Some(guide.into()), move || f()).0 {
                Ended::Failed(failure) => fail(failure),
                _ => panic!("the execution of {REPLAY} does not fail"),
            }
        }
        let mut count = Count::default();
        let mut seen = HashSet::new();
        let mut pending = vec![Graph::new()];
        while let Some(graph) = pending.pop() {
            let f = f.clone();
            let (ended, graph, more) = run(graph, limits, None, move || f());
            pending.extend(more);
            count.events = count.events.max(graph.events().count());
            match ended {
                Ended::Complete => count.complete += 1,
                Ended::Blocked => count.blocked += 1,
                Ended::Dead => count.dead += 1,
                Ended::Failed(failure) => fail(failure),
            }
            if self.finds_duplicates && !matches!(ended, Ended::Dead) {
                count.duplicates += u64::from(!seen.insert(graph.canonical()));
            }
        }
        LAST.set(count);
        if std::env::var_os("JOINT_CHECK_LOG").is_some() {
            let thread = std::thread::current();
            let name = thread.name().unwrap_or("model");
            let seconds = started.elapsed().as_secs_f64();
            eprintln!(
                "COUNT {name} {} {} {} {} {} {seconds:.4}",
                count.complete, count.blocked, count.dead, count.duplicates, count.events
            );
        }
    }
}

/// Runs `f` in every execution.
///
/// # Panics
/// If an execution fails.
pub fn model(f: impl Fn() + Send + Sync + 'static) {
    Builder::new().check(f);
}
