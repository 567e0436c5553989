//! `cargo xtask bench --readme`: which benches it shows, and where their figures are.

use std::path::PathBuf;

use super::{
    size::target,
    step::{root, say},
};

/// The benches whose figures are shown, in the order of the tables.
pub(crate) const BENCHES: [&str; 7] = [
    "executor",
    "scaling",
    "flow",
    "driver",
    "memory",
    "idle",
    "simulation",
];

/// Where the benches write their figures.
pub(crate) fn folder() -> PathBuf {
    target().join("bench")
}

/// Returns the status to exit with.
pub(crate) fn run() -> i32 {
    match joint_figures::write(&root(), &folder(), &BENCHES) {
        Ok(files) => {
            say(&format!("{files} have the figures of the last runs"));
            0
        }
        Err(why) => {
            say(&format!("bench --readme failed: {why}"));
            1
        }
    }
}
