//! What the lab says about models that fail.
#![cfg(all(joint_loom, not(joint_check)))]

#[path = "../../../verify/course/models/tests/lessons/compare.rs"]
mod compare;
mod matrix;

/// From the folder in which cargo runs the tests.
const PICTURES: &str = "../verify/course/lessons/pictures";
