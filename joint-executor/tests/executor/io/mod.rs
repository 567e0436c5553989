//! Descriptors awaited through the public API.
//!
//! Each test ends: one that hangs is ended by [`support::ends`].
#![cfg(unix)]

mod end;
mod guard;
mod readiness;
mod support;
mod waiters;
