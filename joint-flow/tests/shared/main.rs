//! The value for many waiters, through the public interface.
#![deny(unfulfilled_lint_expectations)]

#[path = "../../../tests/common/mod.rs"]
mod common;
#[path = "../../../tests/common/counting.rs"]
mod counting;

mod allocations;
mod waits;
