//! The vocabulary through its public interface. What counts the memory that the process allocates
//! is a program of its own.
#![allow(unreachable_pub, reason = "the modules are one program")]
#![deny(unfulfilled_lint_expectations)]

mod chain;
mod common;
#[path = "../../../joint-executor/tests/common/example.rs"]
mod example;
mod fuzz;
mod page;
mod panics;
mod pieces;
mod polls;
mod prelude;
#[path = "../../../joint-executor/tests/common/program.rs"]
mod program;
mod register;
mod start;
mod threads;
mod traits;
mod waits;
