//! The executor beside its peers: every row of what tasks do, with two workers each and on one
//! thread; a burst of two million tasks; and fork and join on the stack.

use std::time::Duration;

mod burst;
mod fork_join;
#[cfg(joint_peers)]
mod nexosim;
mod rows;

use joint_benches::{
    allocator::Allocator,
    locals::{
        async_executor::AsyncExecutorLocal,
        joint::JointLocal,
        queue::{AsyncTaskQueue, JointQueue},
        tokio::TokioLocal,
    },
    pools::{
        async_executor::{AsyncExecutor, AsyncExecutorStatic},
        joint::Joint,
        nio::Nio,
        tokio::TokioPool,
    },
    runtime::{Pool, Runtime},
    table::{Row, Table},
};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

const WORKERS: usize = 2;

fn two_workers() -> Table {
    fn rows<R: Runtime>() -> Vec<Row<R>> {
        let mut rows = rows::inside();
        rows.extend(rows::outside());
        rows
    }
    let table = Table::new("tasks, two workers", Duration::from_secs(5))
        .with("joint", Joint::start(WORKERS), rows())
        .with("tokio", TokioPool::start(WORKERS), rows())
        .with("async-executor", AsyncExecutor::start(WORKERS), rows())
        .with(
            "async-executor static",
            AsyncExecutorStatic::start(WORKERS),
            rows(),
        )
        .with("nio", Nio::start(WORKERS), rows());
    #[cfg(joint_peers)]
    let table = table
        .with(
            "forte",
            joint_benches::pools::forte::Forte::start(WORKERS),
            rows(),
        )
        .with_runs("nexosim", nexosim::rows(WORKERS));
    table
}

fn one_thread() -> Table {
    let table = Table::new("tasks, one thread", Duration::from_secs(1))
        .with("joint", &JointLocal, rows::inside())
        .with("joint queue", &JointQueue, rows::inside())
        .with("async-task queue", &AsyncTaskQueue, rows::inside())
        .with("async-executor static", &AsyncExecutorLocal, rows::inside())
        .with("tokio", &TokioLocal {}, rows::inside());
    #[cfg(unix)]
    let table = {
        let mut rows = rows::inside();
        rows.retain(|row| row.title != rows::ABORT);
        table.with("monoio", &joint_benches::locals::monoio::MonoioLocal, rows)
    };
    table
}

fn bursts() -> Table {
    Table::new("a burst from outside, one worker", Duration::from_secs(10))
        .with("joint", Joint::start(1), burst::rows())
        .with("tokio", TokioPool::start(1), burst::rows())
        .with("async-executor", AsyncExecutor::start(1), burst::rows())
        .with("nio", Nio::start(1), burst::rows())
        .heavy()
}

fn main() {
    let tables = [
        two_workers(),
        one_thread(),
        bursts(),
        fork_join::table(Duration::from_secs(2)),
    ];
    joint_benches::table::main("executor", &tables, |_, _| ());
}
