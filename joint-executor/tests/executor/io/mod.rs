//! Descriptors awaited through the public API.
#![cfg(unix)]

mod end;
mod guard;
mod readiness;
mod support;
mod waiters;
