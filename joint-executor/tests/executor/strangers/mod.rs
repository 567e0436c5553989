//! Code of strangers on a worker: wakers, hooks, schedule functions, drops and closures. They may
//! take any time, and may wait for anything else that the executor runs. The executor runs it
//! meanwhile.
//!
//! Here the stranger's code itself waits for what must happen meanwhile. A test fails if that code
//! gives up, after [`GUARD`](support::GUARD).
#![cfg(all(feature = "io", not(miri)))]

mod closing;
mod driver;
mod hooks;
mod hosted;
#[cfg(target_os = "linux")]
mod real_time;
pub(crate) mod scope;
mod slot;
mod support;
