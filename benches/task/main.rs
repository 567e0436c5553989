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
    table::Table,
};

mod direct;
mod rows;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// How many tasks exist at once in the rows that make many.
const STORM: u32 = 1_000;

fn direct() -> Table {
    Table::new("a task by hand, one thread", Duration::from_secs(1))
        .without_threads()
        .with_runs("joint", direct::joint_task::rows())
        .with_runs("async-task", direct::async_task_task::rows())
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
