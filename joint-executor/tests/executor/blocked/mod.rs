//! Polls that block their worker in a wait of this crate. Whatever they wait for arrives, although
//! the worker runs no task meanwhile.
#![cfg(feature = "io")]

mod deadlock;
mod served;
