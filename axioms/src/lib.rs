//! Every execution that the memory model of C11, as RC11 repairs it, allows a small program, and
//! the data races among them.
//!
//! An execution is a graph: its events are what the instructions did, its edges say who comes after
//! whom in a thread, who read from whom, and in which order the writes to each location became. The
//! axioms say which graphs are allowed. [`explore()`] makes all graphs of a program and keeps
//! those: no scheduler, no interleaving, nothing sampled. The axioms and their limits are in the
//! crate's README.
//!
//! | module | does |
//! |---|---|
//! | [`program`] | what is written: locations, threads, instructions, branches |
//! | [`model`] | which executions are allowed |
//! | [`machine`] | which executions happen on x86, Armv8, POWER and RISC-V |
//! | [`execution`] | what happened: events, edges, final values, races, and an order to draw them in |
//! | [`completion`] | the mutex-free completion with every pair of orderings: 25 verdicts and their witnesses |
//! | [`text`], [`json`], [`herd`] | executions as text and as JSON, programs as litmus tests for herd7 |
//! | [`page`] | the completion's cells and executions as one HTML page |
//!
//! It reads and writes nothing, and knows no clock and no thread: it runs wherever Rust does.
//!
//! ```
//! use axioms::{Model, Ordering, Program, explore};
//!
//! // Message passing: does who sees the flag see the data?
//! let message = |publish, observe| {
//!     let mut program = Program::new("MP");
//!     let data = program.plain("data", 0);
//!     let flag = program.atomic("flag", 0);
//!     program.thread("writer", |code| {
//!         code.write(data, 42);
//!         code.store(flag, 1, publish);
//!     });
//!     program.thread("reader", |code| {
//!         let seen = code.load(flag, observe);
//!         code.when(seen, 1, |code| code.read(data))
//!     });
//!     program
//! };
//! let racy = |program: &Program| explore(program, Model::Rc11).iter().any(|execution| !execution.races().is_empty());
//! assert!(!racy(&message(Ordering::Release, Ordering::Acquire)));
//! assert!(racy(&message(Ordering::Relaxed, Ordering::Acquire)));
//! ```
#![forbid(unsafe_code)]

mod candidate;
mod choices;
mod code;
pub mod completion;
pub mod execution;
mod explore;
mod grow;
mod guess;
pub mod herd;
pub mod json;
pub mod machine;
pub mod model;
mod ordering;
mod orders;
pub mod page;
pub mod program;
mod race;
mod relation;
pub mod text;
mod timeline;
mod trace;

pub use code::Code;
pub use execution::{Event, EventId, Execution};
pub use explore::{MOST_EVENTS, explore};
pub use machine::Machine;
pub use model::Model;
pub use ordering::{Ordering, UnknownOrdering};
pub use program::{Location, Program, Register, Value};
pub use race::{MissingEdge, Race};
pub use relation::Relation;
