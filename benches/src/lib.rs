//! The library shared by the benches of `joint`: the contestants, the tools for their rows, and the
//! report.
//!
//! A bench is a list of [tables](table::Table). A table has rows, which are functions over a
//! [`Runtime`](runtime::Runtime) or a [`Driven`](driven::Driven), written once, and contestants,
//! which are the runtimes in [`pools`] and [`locals`]. The contestants take turns round by round.
//! The [report](report::Report) prints the medians, beside how far apart the processors
//! [were](placement::Placement).
//!
//! `cargo xtask bench NAME` runs a bench, and so does `cargo bench -p joint-benches --bench NAME`,
//! which leaves out the peers that need a newer compiler. With `-- FILTER` it runs only the rows
//! whose titles contain it, and with `-- --test` each row once, with little work. With
//! `JOINT_CRITERION=1` the same rows then run under criterion, for figures with a history.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use joint_benches::{
//!     pools::{joint::Joint, tokio::TokioPool},
//!     runtime::{Pool, Runtime},
//!     table::{self, Row, Table},
//! };
//!
//! const TASKS: usize = 100;
//!
//! async fn spawn_and_join<R: Runtime>(runtime: &'static R) {
//!     for i in 0..TASKS {
//!         R::join(runtime.spawn(async move { i })).await;
//!     }
//! }
//!
//! fn rows<R: Runtime>() -> [Row<R>; 1] {
//!     [Row::timed("spawn and join", TASKS, spawn_and_join)]
//! }
//!
//! let table = Table::new("tasks, one worker", Duration::from_secs(1))
//!     .with("joint", Joint::start(1), rows())
//!     .with("tokio", TokioPool::start(1), rows());
//! table::main("example", &[table], |_, _| ());
//! ```
#![allow(
    missing_debug_implementations,
    reason = "benches print figures, and never their contestants"
)]

/// A runtime's `join`, `detach` and `cancel`, for a handle whose drop cancels the task.
macro_rules! cancelled_by_drop {
    ($handle:ident) => {
        fn join<T: Send + 'static>(handle: $handle<T>) -> impl Future<Output = T> + Send {
            handle
        }

        fn detach<T: Send + 'static>(handle: $handle<T>) {
            handle.detach();
        }

        fn cancel<T: Send + 'static>(handle: $handle<T>) {
            drop(handle);
        }
    };
}

/// As above, for a handle whose drop lets the task continue.
macro_rules! detached_by_drop {
    ($handle:ident) => {
        async fn join<T: Send + 'static>(handle: $handle<T>) -> T {
            handle.await.expect("no task fails")
        }

        fn detach<T: Send + 'static>(handle: $handle<T>) {
            drop(handle);
        }

        fn cancel<T: Send + 'static>(handle: $handle<T>) {
            handle.abort();
        }
    };
}

pub mod allocator;
pub mod child;
pub mod driven;
pub mod echo;
pub mod forks;
pub mod locals;
pub mod options;
pub mod placement;
pub mod pools;
pub mod processors;
pub mod report;
pub mod runtime;
pub mod signal;
pub mod table;
pub mod work;
mod yields;
