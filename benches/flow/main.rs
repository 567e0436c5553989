//! The rows of an event loop with two workers, and the benches of FoundationDB's
//! Flow in the vocabulary of `joint-flow`, beside the peers.

use std::time::Duration;

mod combinators;
mod rows;
mod tasks;
mod vocabularies;

use joint_benches::{
    allocator::Allocator,
    pools::{joint::Joint, nio::Nio, tokio::TokioPool},
    runtime::Pool,
    table::{NamedRun, Table},
};
use vocabularies::{ByHand, FuturesConcurrency, JointFlow, Tokio};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

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

/// The contestant that is written for the row: what the work itself costs.
const BY_HAND: &str = "by hand";

const TASKS: &str = "Flow: tasks, one worker";
const COMBINATORS: &str = "Flow: one task";

/// A contestant of a table, and its rows.
type Contestant = (&'static str, fn() -> Vec<NamedRun>);

const OF_TASKS: [Contestant; 5] = [
    ("joint-flow", of_tasks::<JointFlow>),
    (BY_HAND, of_tasks::<ByHand>),
    ("tokio", of_tasks::<Tokio<true>>),
    ("tokio current_thread", of_tasks::<Tokio<false>>),
    ("futures-concurrency", tasks::rows::<FuturesConcurrency>),
];

const OF_COMBINATORS: [Contestant; 5] = [
    ("joint-flow", combinators::joint_flow),
    (BY_HAND, combinators::by_hand),
    ("tokio", combinators::tokio),
    ("futures", combinators::futures),
    ("futures-concurrency", combinators::futures_concurrency),
];

fn of_tasks<V: tasks::Timed>() -> Vec<NamedRun> {
    tasks::rows::<V>()
        .into_iter()
        .chain(tasks::turns::<V>())
        .collect()
}

fn flow(title: &'static str, contestants: &[Contestant]) -> Table {
    let table = Table::new(title, Duration::from_millis(500));
    contestants.iter().fold(table, |table, (name, rows)| {
        let table = table.with_runs(*name, rows());
        match *name {
            BY_HAND => table.floor(),
            _ => table,
        }
    })
}

fn main() {
    let tables = [
        two_workers(),
        flow(TASKS, &OF_TASKS),
        flow(COMBINATORS, &OF_COMBINATORS),
    ];
    joint_benches::table::main("flow", &tables, |_, _| ());
}
