//! What is left of a run once it is over, and how a run is told which choices to make.

use alloc::{boxed::Box, vec::Vec};

use super::{
    super::{
        record::{Event, Named},
        scheduler::Strategy,
    },
    World,
};

/// The decisions and the events of a run whose settings say that they are kept.
#[derive(Default)]
pub(in crate::sim) struct Kept {
    pub(in crate::sim) decisions: Vec<u32>,
    pub(in crate::sim) events: Vec<Event>,
    /// The tasks by their numbers.
    pub(in crate::sim) tasks: Vec<Option<Named>>,
}

impl World {
    /// Chooses in this way, instead of the one in the settings.
    pub(in crate::sim) fn use_strategy(&self, strategy: Box<dyn Strategy>) {
        self.strategy.replace(strategy);
    }

    /// Takes what was kept.
    pub(in crate::sim) fn take_kept(&self) -> Kept {
        let mut record = self.record.borrow_mut();
        let (events, tasks) = record.all().unwrap_or_default();
        Kept {
            decisions: self.chance.borrow_mut().made(),
            events,
            tasks,
        }
    }
}
