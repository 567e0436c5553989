//! The results of a run once it is over, and how a run is told which choices to make.

use alloc::{
    boxed::Box,
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    super::{
        chance::Decision,
        record::{Actor, Event, Named, lines},
        scheduler::{Chooser, Strategy},
        trace::Trace,
    },
    World,
};

/// The decisions and the events of a run whose settings say that they are kept.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) decisions: Vec<Decision>,
    pub(crate) events: Vec<Event>,
    /// The tasks by their numbers. The main future, which is 0, has no name.
    pub(crate) tasks: Vec<Option<Named>>,
    /// The number of events up to the failure, if the run has failed.
    until: usize,
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

impl Kept {
    /// Returns what is known about a task.
    pub(crate) fn task(&self, actor: Actor) -> Option<&Named> {
        let number = usize::try_from(actor.0).ok()?;
        self.tasks.get(number)?.as_ref()
    }

    /// Shows an actor with what is known about it.
    pub(crate) fn named(&self, actor: Actor) -> String {
        match self.task(actor) {
            Some(named) => format!("{actor}{named}"),
            None => actor.to_string(),
        }
    }

    /// Returns what has happened up to the failure, and only the last of that if it is more than
    /// this many events.
    pub(crate) fn into_trace(mut self, most: usize) -> Trace {
        self.events.truncate(self.until);
        let first = self.events.len().saturating_sub(most);
        self.events.drain(..first);
        Trace::new(self.events, self.tasks)
    }

    /// Shows all tasks, one a line.
    pub(crate) fn all_tasks(&self) -> String {
        let numbers = (1..).take(self.tasks.len().saturating_sub(1));
        lines(numbers.map(|number| self.named(Actor(number))))
    }
}

impl World {
    /// Chooses in this way, instead of the one in the settings.
    pub(crate) fn use_strategy(&self, strategy: Box<dyn Strategy>) {
        self.agenda.borrow_mut().chooser = Chooser::Other(strategy);
    }

    /// Takes what was kept.
    pub(crate) fn take_kept(&self) -> Kept {
        if self.ending.is_abandoned.get() {
            // A call may be adding to it (rule 2 of `threads`).
            return Kept::default();
        }
        let mut agenda = self.agenda.borrow_mut();
        let (events, tasks) = agenda.record.all().unwrap_or_default();
        Kept {
            decisions: agenda.chance.made(),
            events,
            tasks,
            until: self.ending.failed_after.get(),
            sites: self
                .injected
                .as_ref()
                .map(|one| one.sites.take())
                .unwrap_or_default(),
        }
    }
}
