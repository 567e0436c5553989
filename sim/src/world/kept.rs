//! The results of a run once it is over.

use std::collections::BTreeMap;

use super::{
    super::{chance::Decision, trace::Trace},
    World,
};

/// The decisions and the events of a run whose settings say that they are kept.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) decisions: Vec<Decision>,
    /// The events up to the failure, if the run has failed.
    pub(crate) trace: Trace,
    /// The fault sites of the program. They are kept in any case.
    pub(crate) sites: BTreeMap<String, Site>,
}

/// A fault site of the program, in one run or in several.
#[derive(Debug, Default)]
pub(crate) struct Site {
    /// Whether it may fire in this run.
    pub(super) is_active: bool,
    pub(crate) reached: u64,
    pub(crate) fired: u64,
}

impl World {
    /// Takes what was kept.
    pub(crate) fn take_kept(&self) -> Kept {
        if self.ending.is_abandoned.get() {
            // A call may be adding to it (rule 2 of `threads`).
            return Kept::default();
        }
        let decisions = self.chance().made();
        let sites = self.injected.as_ref().map(|one| one.sites.take());
        Kept {
            decisions,
            trace: self.trace().unwrap_or_default(),
            sites: sites.unwrap_or_default(),
        }
    }
}
