//! The heap memory of executors, scopes and timers, by an allocator that counts.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../tests/common/counting.rs"]
mod counting;

mod scope;
mod tasks;
mod timers;
