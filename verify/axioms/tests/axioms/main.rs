//! The tests of the explorer: the literature's verdicts (`litmus`), laws for random programs
//! (`laws`), the completion, and what the crate says and shows.

mod completion;
mod export;
mod generate;
mod language;
mod laws;
mod litmus;
mod notation;
mod page;
mod programs;
mod report;
mod wasm;
