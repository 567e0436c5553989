//! The checker.

use std::{cell::Cell, collections::HashSet, panic::resume_unwind, sync::Arc, time::Instant};

use crate::{
    graph::Graph,
    run::{Ended, run},
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
    static LAST: Cell<Count> = const { Cell::new(Count { complete: 0, blocked: 0, dead: 0, duplicates: 0, events: 0 }) };
}

/// Returns the counts of the last model of this thread that passed.
pub fn last_count() -> Count {
    LAST.get()
}

/// How a model is checked. The first fields are loom's and have no effect.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Builder {
    /// Has no effect.
    pub max_threads: usize,
    /// Has no effect.
    pub max_branches: usize,
    /// Has no effect.
    pub preemption_bound: Option<usize>,
    /// Has no effect.
    pub expect_explicit_explore: bool,
    /// Keeps all graphs, to count those that are visited twice.
    pub finds_duplicates: bool,
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
        let mut count = Count::default();
        let mut seen = HashSet::new();
        let mut pending = vec![Graph::new()];
        let finds_duplicates =
            self.finds_duplicates || std::env::var_os("JOINT_CHECK_TWICE").is_some();
        while let Some(graph) = pending.pop() {
            let f = f.clone();
            let (ended, graph, more) = run(graph, move || f());
            pending.extend(more);
            count.events = count.events.max(graph.events().count());
            match ended {
                Ended::Complete => count.complete += 1,
                Ended::Blocked => count.blocked += 1,
                Ended::Dead => count.dead += 1,
                Ended::Failed(message) => panic!("{message}"),
                Ended::Panicked(panic) => resume_unwind(panic),
            }
            if finds_duplicates && !matches!(ended, Ended::Dead) {
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
