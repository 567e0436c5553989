//! The rows of an event loop, on one thread and with two workers, beside the peers.
//!
//! `cargo xtask bench flow`, or `cargo bench -p joint-benches --bench flow`, which leaves out the
//! peers that need a newer compiler; with `-- FILTER` only the rows whose titles contain it; with
//! `-- --test` each row runs once. `JOINT_CRITERION=1` adds criterion.

use std::time::Duration;

mod rows;

use joint_benches::{
    locals::{
        queue::{AsyncTaskQueue, JointQueue},
        tokio::TokioLocal,
    },
    pools::{joint::Joint, nio::Nio, tokio::TokioPool},
    runtime::Pool,
    table::Table,
};

const WORKERS: usize = 2;

fn two_workers() -> Table {
    let table = Table::new("event loop, two workers", Duration::from_secs(3))
        .with("joint", Joint::start(WORKERS), rows::all())
        .with("tokio", TokioPool::start(WORKERS), rows::all())
        .with("nio", Nio::start(WORKERS), rows::all());
    #[cfg(joint_peers)]
    let table = table.with(
        "forte",
        joint_benches::pools::forte::Forte::start(WORKERS),
        rows::all(),
    );
    table
}

fn one_thread() -> Table {
    Table::new("event loop, one thread", Duration::from_secs(1))
        .with("joint queue", &JointQueue, rows::all())
        .with("async-task queue", &AsyncTaskQueue, rows::all())
        .with("tokio", &TokioLocal {}, rows::all())
}

fn main() {
    joint_benches::table::main("flow", &[two_workers(), one_thread()], |_, _| ());
}
