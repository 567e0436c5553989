//! Every execution that the memory model of C11, as RC11 repairs it, allows a small program, and
//! the data races among them.
//!
//! An execution is a graph. Its events are what the instructions did. Its edges are the order of
//! each thread's events, the write that each read reads from, and the order of the writes to each
//! location. The axioms say which graphs are allowed. [`explore()`] makes all graphs of a program
//! and keeps those that are allowed. It uses no scheduler and no interleaving, and samples nothing.
//! The crate's README describes the axioms and their limits.
//!
//! | module | does |
//! |---|---|
//! | [`program`] | what is written: locations, threads, instructions, branches |
//! | [`model`] | which executions are allowed |
//! | [`machine`] | which executions happen on x86, Armv8, POWER, RISC-V and Alpha |
//! | [`execution`] | what happened: events, edges, final values, races, and an order to draw them in |
//! | [`completion`] | the mutex-free completion with every pair of orderings: 25 verdicts and their witnesses |
//! | [`text`], [`json`] | executions as text and as JSON |
//! | [`language`], [`report`] | programs as text, and every execution of one as JSON |
//! | [`page`] | the completion's cells and executions as one HTML page |
//!
//! Except for [`page::sources()`], the crate does no input or output. It uses neither clocks nor
//! threads, so it runs wherever Rust does.
//!
//! ```
//! use axioms::{Model, Program, explore, language::parse};
//!
//! // Message passing: if the reader sees the flag, does it see the data?
//! let message = |publish, observe| {
//!     let text = format!(
//!         "plain data
//!         atomic flag
//!         thread writer {{ data = 42; flag.store(1, {publish}) }}
//!         thread reader {{
//!             seen = flag.load({observe})
//!             if seen == 1 {{ got = data }}
//!         }}"
//!     );
//!     parse(&text).unwrap().program
//! };
//! let racy = |program: &Program| {
//!     let all = explore(program, Model::Rc11);
//!     all.iter().any(|execution| !execution.races().is_empty())
//! };
//! assert!(!racy(&message("Release", "Acquire")));
//! assert!(racy(&message("Relaxed", "Acquire")));
//! ```
#![forbid(unsafe_code)]

mod candidate;
mod choices;
pub mod completion;
pub mod execution;
mod explore;
mod grow;
mod guess;
pub mod json;
pub mod language;
pub mod machine;
pub mod model;
mod ordering;
mod orders;
pub mod page;
pub mod program;
mod race;
mod relation;
pub mod report;
pub mod text;
mod trace;

pub use execution::{Event, EventId, Execution};
pub use explore::{MOST_EVENTS, explore};
pub use machine::Machine;
pub use model::Model;
pub use ordering::{Ordering, UnknownOrdering};
pub use program::{Location, Program, Register, Value};
pub use race::{MissingEdge, Race};
pub use relation::Relation;
