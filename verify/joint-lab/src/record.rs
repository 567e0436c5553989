//! The functions by which a wrapper of other types records their operations.
//!
//! The types of [`sync`](crate::sync), [`cell`](crate::cell) and [`thread`](crate::thread) record
//! themselves. A crate that has its own wrappers around loom's types calls these functions right
//! before and right after each operation, and [`stop_if_failed`] before each use of loom that they
//! do not record, such as that of a thread-local. Nothing here is an operation of the model.

pub use super::{
    event::{Source, Step},
    recorder::{begins, ended, lane_of, made, stop_if_failed},
};
