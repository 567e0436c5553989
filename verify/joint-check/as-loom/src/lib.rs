//! joint-check under the name of loom.
pub use joint_check::*;
