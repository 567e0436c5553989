//! Executors whose workers the tests drive: by steps, to the end, and task by task.
#![cfg(feature = "io")]

mod chosen;
mod driver;
mod hosts;
mod identity;
mod steps;

use crate::prelude::*;
