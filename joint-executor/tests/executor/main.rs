//! The executor through its public interface: how it runs tasks, what it can be told about them,
//! what it reports, and how it ends.
//!
//! Tests that count what the process allocates, that fork, or that need a driver that nothing has
//! used yet are programs of their own.

#[path = "../common/mod.rs"]
mod common;

mod block_on;
mod dropped_inside;
mod dump;
mod handle;
mod hooks;
mod metrics;
mod run;
mod shutdown;
mod task_data;
mod task_options;
mod unwinding;

use common::{OnDrop, Panics, built, ends, executor, hold, on_drop, wait_until};
