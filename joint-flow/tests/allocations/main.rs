//! What combinators and shared results allocate, counted for each thread.

#[path = "../../../tests/common/mod.rs"]
mod common;
#[path = "../../../tests/common/counting.rs"]
mod counting;

mod combinators;
mod generator;
mod shared;
