//! How a worker attends to the driver without the feature `io`: there is no driver.

use alloc::vec::Vec;
use core::task::Waker;
use std::time::Instant;

use super::{Running, Worker, queues::After};

#[derive(Default)]
pub(super) struct Attendant {}

impl Attendant {
    pub(super) fn take_buffer(&self) -> Vec<Waker> {
        Vec::new()
    }
}

impl Running<'_> {
    pub(super) fn attend(&self, _: After) -> bool {
        false
    }

    pub(super) fn attend_in_turn(&self) -> Option<u64> {
        None
    }

    pub(super) fn attend_as_keeper(&self, _: Vec<Waker>) {}
}

impl Worker {
    pub(super) fn is_driver_visited(&self) -> bool {
        true
    }

    pub(super) fn next_visit(&self) -> Option<Instant> {
        None
    }

    pub(super) fn leaves_driver(&self) -> bool {
        false
    }
}
