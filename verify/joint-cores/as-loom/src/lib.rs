//! joint-cores under the name of loom.
pub use joint_cores::*;
