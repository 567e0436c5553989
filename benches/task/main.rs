//! The task beside its peers.
//!
//! The first table has what the two task crates do by themselves. The second has the same work in a
//! task of a runtime, for which the two crates are given a `VecDeque` as a queue.
//!
//! `cargo xtask bench task`, or `cargo bench -p joint-benches --bench task`; with `-- FILTER` only
//! the rows whose titles contain it; with `-- --test` each row runs once. `JOINT_CRITERION=1` adds
//! criterion.

use std::time::Duration;

use joint_benches::{
    allocator::Allocator,
    table::{Run, Table},
};

#[macro_use]
mod rows;
mod direct;
mod queued;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Does one thing a number of times, and returns how long that took.
type Path = fn(u32) -> Duration;

/// How many tasks exist at once in the rows that make many.
const STORM: u32 = 1_000;

/// The rows of one contestant: each with how many times a run does it, and what.
macro_rules! table_rows {
    ($($title:literal: $path:path, $times:expr;)*) => {
        [$(($title, $times, $path as Path)),*].map(|(title, times, path)| -> (_, _, Run) {
            (title, u64::from(times), Box::new(move || path(times)))
        })
    };
}

fn direct() -> Table {
    macro_rules! of {
        ($contestant:ident) => {
            table_rows! {
                "spawn, run, join, drop": direct::$contestant::spawn_run_join, 5_000;
                "the same, the waiter is a task": direct::$contestant::waiting_task_first, 5_000;
                "spawn detached, run": direct::$contestant::spawn_detached, 5_000;
                "yield": direct::$contestant::yields, 10_000;
                "wake and run": direct::$contestant::wakes, 10_000;
                "join a task that has ended": direct::$contestant::join_ended, 5_000;
                "cancel 1,000 idle tasks": direct::$contestant::cancel_storm, STORM;
            }
        };
    }
    Table::new("a task by hand, one thread", Duration::from_secs(1))
        .without_threads()
        .with_runs("joint", of!(joint_task))
        .with_runs("async-task", of!(async_task_task))
}

fn queued() -> Table {
    macro_rules! of {
        ($contestant:ident) => {
            table_rows! {
                "spawn 1,000, join them": queued::$contestant::rows::spawn_join_many, STORM;
                "yield, 200 tasks in turn": queued::$contestant::rows::yields, 10_000;
            }
        };
    }
    macro_rules! of_threads {
        ($contestant:ident) => {
            of!($contestant).into_iter().chain(table_rows! {
                "wake 1,000 from another thread":
                    queued::$contestant::rows_of_threads::wake_from_elsewhere, 10 * STORM;
            })
        };
    }
    let table = Table::new("tasks in a queue, one thread", Duration::from_secs(1))
        .without_threads()
        .with_runs("joint", of_threads!(with_joint))
        .with_runs("async-task", of_threads!(with_async_task))
        .with_runs("tokio", of_threads!(with_tokio));
    #[cfg(unix)]
    let table = table.with_runs("monoio", of!(with_monoio));
    table
}

fn main() {
    joint_benches::table::main("task", &[direct(), queued()], |_, _| ());
}
