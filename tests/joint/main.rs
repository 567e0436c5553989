//! The crate's promises through its public interface: one program for all of them, with an
//! allocator that counts what each thread takes.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/counting.rs"]
mod counting;

mod hooked;
mod must_use;
mod prelude;
mod support;
mod task;
mod task_panic;
mod waits;
