//! The tests of the lab: what the recorder finds, and what a failing model prints.

mod common;
mod locks_and_channels;
mod recorder;
mod reports;
