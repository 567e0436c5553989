//! The task through its public interface.
#![allow(
    clippy::waker_clone_wake,
    reason = "to wake by value is what is tested"
)]

#[cfg(not(miri))] // it counts in bytes, and takes long there
mod alloc;
mod builder;
mod cancel;
mod debug;
mod detached;
mod executors;
mod guide;
mod join;
mod layout;
mod link;
mod local;
mod names;
mod now;
mod peers;
mod product;
mod schedule;
mod storage;
mod wake;
