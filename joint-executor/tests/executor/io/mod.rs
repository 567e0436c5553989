//! Descriptors awaited through the public API.
#![cfg(all(unix, feature = "io"))]

mod end;
mod guard;
mod readiness;
mod support;
mod waiters;
