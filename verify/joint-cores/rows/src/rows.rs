//! The twelve rows: their titles, and their functions for each scheduler.

use crate::{
    peers::{Joint, Tokio},
    work,
};

/// What a scheduler does with so many workers or threads.
pub type Run<P> = fn(&'static P, usize) -> f64;

/// A row.
pub struct Row {
    /// Its title, which is the one of the benches if they have it.
    pub title: &'static str,
    /// For joint, with its work between two accesses to shared memory, in nanoseconds.
    pub joint: (Run<Joint>, f64),
    /// For tokio.
    pub tokio: (Run<Tokio>, f64),
    /// The operations of a run with so many workers.
    pub operations: fn(usize) -> usize,
    /// Whether all workers have a part of the work.
    pub is_divided: bool,
}

macro_rules! rows {
    ($($title:literal $run:ident ($operations:expr) $is_divided:literal $joint:literal $tokio:literal)*) => {
        [$(Row {
            title: $title,
            joint: (work::$run::<Joint>, $joint),
            tokio: (work::$run::<Tokio>, $tokio),
            operations: $operations,
            is_divided: $is_divided,
        }),*]
    };
}

/// The rows. The last two numbers are the work of joint and of tokio between two accesses, with
/// which a row took as long on one simulated core as on one processor on 2026-11-26, by the
/// calibration in `docs/cores.md`. Rows that measure one latency have the work of spawn and join.
pub const ROWS: [Row; 12] = rows! {
    "12,800 spawned by a thread for each core, joined" spawners (|_| 12_800) true 0.889 24.351
    "3,200 waiting tasks woken by a thread for each core" wakes (|_| 3_200) true 1.983 27.165
    "as many tasks as sleeping workers, from outside: the last begins" wake_all (|n| n) false 0.480 4.923
    "as many tasks as workers, from a task: the last begins" wake_all_inside (|n| n) false 0.480 4.923
    "spawn and join, on each" spawn_join_on_each (|n| 1_000 * n) true 0.454 5.870
    "fan of 1k" fan (|_| 10_000) true 0.963 5.008
    "flat scope: 1,000 tasks of 1 us" flat (|_| 1_000) true 2.580 6.771
    "fib(20), one branch spawned" fork_join (|_| 10_945) true 1.346 7.141
    "100 tasks yield, on each" yields_on_each (|n| 10_000 * n) true 0.076 2.302
    "ten tasks yield, all other workers idle" watched (|_| 10_000) false 0.065 3.126
    "a chain of 1,000 tasks, each of which joins the next" chain (|_| 1_000) false 1.015 6.485
    "timers of 200 us on busy workers: how late" timers (|n| 20 * n) false 0.480 4.923
};
