//! The rows: their titles, and their functions for each scheduler.

use crate::{
    peers::{Joint, Peer, Tokio},
    work,
};

/// What a scheduler does with so many workers or threads.
pub type Run<P> = fn(&'static P, usize) -> f64;

/// A row.
pub struct Row {
    /// Its title, which is the one of the benches if they have it.
    pub title: &'static str,
    /// For joint.
    pub joint: Run<Joint>,
    /// For tokio.
    pub tokio: Run<Tokio>,
    /// The operations of a run with so many workers.
    pub operations: fn(usize) -> usize,
    /// Whether all workers have a part of the work.
    pub is_divided: bool,
}

impl Row {
    /// Whether its time on one processor says how much work there is between two accesses.
    pub fn has_work(&self) -> bool {
        (self.operations)(1) > 100
    }
}

macro_rules! rows {
    ($($title:tt $run:ident ($operations:expr) $is_divided:literal)*) => {
        vec![$(Row {
            title: $title,
            joint: work::$run::<Joint>,
            tokio: work::$run::<Tokio>,
            operations: $operations,
            is_divided: $is_divided,
        }),*]
    };
}

/// The twelve rows of the curves, and more that are compared with a real machine.
pub fn all() -> Vec<Row> {
    rows! {
        SPAWNERS spawners (|_| 12_800) true
        "3,200 waiting tasks woken by a thread for each core" wakes (|_| 3_200) true
        "as many tasks as sleeping workers, from outside: the last begins" wake_all (|n| n) false
        "as many tasks as workers, from a task: the last begins" wake_all_inside (|n| n) false
        "spawn and join, on each" spawn_join_on_each (|n| 1_000 * n) true
        "fan of 1k" fan (|_| 10_000) true
        "flat scope: 1,000 tasks of 1 us" flat (|_| 1_000) true
        "fib(20), one branch spawned" fork_join (|_| 10_945) true
        "100 tasks yield, on each" yields_on_each (|n| 10_000 * n) true
        "ten tasks yield, all other workers idle" watched (|_| 10_000) false
        "a chain of 1,000 tasks, each of which joins the next" chain (|_| 1_000) false
        "timers of 200 us on busy workers: how late" timers (|n| 20 * n) false
        SPAWN_JOIN one_spawn_join (|_| 1_000) false
        "10k spawned inside, joined" inside (|_| 10_000) true
        "fan of 1k, each yields once" fan_of_yields (|_| 10_000) true
        "yield, 200 x 100" all_yield (|_| 20_000) true
        "10k spawned outside, joined" outside (|_| 10_000) false
        "fan of 1k, on each" fan_on_each (|n| 1_000 * n) true
    }
}

/// The row of the published points.
pub const SPAWNERS: &str = "12,800 spawned by a thread for each core, joined";
/// The row whose work stands for that of single latencies.
pub const SPAWN_JOIN: &str = "spawn and join";
/// So many rows have curves.
pub const CURVES: usize = 12;

/// By a scheduler's name.
pub trait Of: Peer {
    /// The function of a row.
    fn of(row: &Row) -> Run<Self>;
}

impl Of for Joint {
    fn of(row: &Row) -> Run<Self> {
        row.joint
    }
}

impl Of for Tokio {
    fn of(row: &Row) -> Run<Self> {
        row.tokio
    }
}
