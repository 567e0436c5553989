//! The task beside its peers.
//!
//! The first table has what the two task crates do by themselves. The second has the same work in a
//! task of a runtime, for which the two crates are given a `VecDeque` as a queue.

use std::time::Duration;

#[cfg(unix)]
use joint_benches::locals::monoio::MonoioLocal;
use joint_benches::{
    allocator::Allocator,
    locals::{
        queue::{AsyncTaskQueue, JointQueue},
        tokio::TokioLocal,
    },
    table::{Run, Table},
};

mod direct;
mod rows;

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
    let table = Table::new("tasks in a queue, one thread", Duration::from_secs(1))
        .without_threads()
        .with("joint", &JointQueue, rows::all())
        .with("async-task", &AsyncTaskQueue, rows::all())
        .with("tokio", &TokioLocal {}, rows::all());
    #[cfg(unix)]
    let table = {
        // Its feature `sync`, which would let another thread wake its tasks, makes every wake-up
        // more expensive, and is off.
        let [spawn, yields, _] = rows::all();
        table.with("monoio", &MonoioLocal, [spawn, yields])
    };
    table
}

fn main() {
    joint_benches::table::main("task", &[direct(), queued()], |_, _| ());
}
