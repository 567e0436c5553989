//! How a worker attends to the driver without the feature `io`: there is no driver.

use std::time::Instant;

use super::{Attended, Then, Worker};
use crate::driver::Keeper;

#[derive(Default)]
pub(super) struct Attendant {}

impl Worker {
    pub(super) fn attend(&self, _: Then) -> Attended {
        Attended::FoundNothing
    }

    pub(super) fn is_driver_visited(&self) -> bool {
        true
    }

    pub(super) fn attend_in_turn(&self) {}

    pub(super) fn attend_as(&self, keeper: Keeper) -> Attended {
        match keeper.0 {}
    }

    pub(super) fn next_visit(&self) -> Option<Instant> {
        None
    }

    pub(super) fn leaves_driver(&self) -> bool {
        false
    }
}
