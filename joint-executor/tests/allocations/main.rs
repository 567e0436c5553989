//! The heap memory of the executor, of its scopes and of its timers. A program of its own, whose
//! allocator counts.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../tests/common/counting.rs"]
mod counting;

mod scope;
mod tasks;
mod timers;
