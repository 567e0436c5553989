//! The executor through its public interface.
//!
//! One program, because each is linked anew. What counts the memory that the process allocates is
//! in programs of its own. What needs a process of its own otherwise, such as one that forks, is
//! run once more alone ([`common::in_process`]).

#[cfg(unix)]
#[path = "../common/child.rs"]
mod child;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/example.rs"]
mod example;

mod block_on;
mod blocked;
mod budget;
mod dump;
mod fork;
mod fork_join;
mod golden;
mod handle;
mod hooks;
mod hosted;
mod io;
mod join_set;
mod local_executor;
mod metrics;
mod net;
mod now;
mod prelude;
mod process;
mod run;
mod scope;
mod shutdown;
mod signal;
mod spawn_blocking;
mod spawn_blocking_refused;
mod strangers;
mod task_data;
mod task_local;
mod task_options;
mod time;
mod tracing;
mod treehash;
