//! The task through its public interface.
#![allow(
    clippy::waker_clone_wake,
    reason = "to wake by value is what is tested"
)]

mod cancel;
mod join;
mod layout;
mod peers;
mod product;
mod support;
mod threads;
mod wake;
