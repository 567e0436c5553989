//! [`Ending`]: how a run has failed.

use std::cell::{Cell, RefCell};

use super::{
    super::{
        failure::{Failure, Kind},
        record::Event,
        snoozing::Snoozing,
        unfinished::Unfinished,
    },
    World,
};

/// How a run has failed, if it has.
#[derive(Default)]
pub(super) struct Ending {
    pub(super) failure: RefCell<Option<Failure>>,
    /// What snoozed when the main future ended.
    pub(super) snoozing: RefCell<Vec<Snoozing>>,
    /// What had not ended then.
    pub(super) unfinished: RefCell<Vec<Unfinished>>,
    /// The number of events that were kept when it failed.
    pub(super) failed_after: Cell<usize>,
    /// The number of the last step: the limit, or 0 once the run has failed.
    pub(super) last_step: Cell<u64>,
    /// The number of blocking waits that were ended because the run has failed.
    pub(super) ended_waits: Cell<usize>,
    /// The reason why the world was abandoned, if it was.
    pub(super) stuck: Cell<Option<Failure>>,
    pub(super) is_abandoned: Cell<bool>,
}

impl Ending {
    pub(super) fn new(max_steps: u64) -> Self {
        Self {
            failed_after: Cell::new(usize::MAX),
            last_step: Cell::new(max_steps),
            ..Self::default()
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure.borrow().is_some()
    }

    pub(super) fn take(&self) -> Failure {
        let failure = self.failure.borrow_mut().take();
        failure.expect("a run without an output has failed")
    }
}

impl World {
    /// Takes what snoozed when the main future ended.
    pub(crate) fn take_snoozing(&self) -> Vec<Snoozing> {
        self.ending.snoozing.take()
    }

    /// Takes what had not ended when the main future did.
    pub(crate) fn take_unfinished(&self) -> Vec<Unfinished> {
        self.ending.unfinished.take()
    }

    pub(super) fn failure_with(&self, kind: Kind, last: Vec<Event>) -> Failure {
        let at = self.time.passed();
        Failure::new(self.settings.seed, kind, self.steps(), at, last)
    }

    /// Ends the run, unless it has failed before.
    pub(crate) fn fail(&self, kind: Kind) {
        if !self.ending.has_failed() {
            let agenda = self.agenda.borrow();
            let last = agenda.record.last().cloned().collect();
            self.ending.failed_after.set(agenda.record.kept());
            drop(agenda);
            let failure = self.failure_with(kind, last);
            self.replace_failure(Some(failure));
        }
    }

    /// Ends the run between two steps, when it can be told what is left of the program.
    pub(super) fn fail_here(&self, kind: Kind) {
        self.fail(kind);
        self.tell_left();
    }

    /// Notes what is left of the program in a run that has failed.
    pub(super) fn tell_left(&self) {
        if let Some(failure) = &mut *self.ending.failure.borrow_mut() {
            failure.set_left(|| self.left());
        }
    }

    /// Fails a run whose main future has ended well, if there is a reason.
    pub(super) fn judge(&self) {
        self.judge_panics();
        let unfinished = self.unfinished();
        if self.settings.deny_unfinished && !unfinished.is_empty() {
            self.fail_here(Kind::Unfinished);
        }
        let snoozing = self.snoozing();
        if self.settings.deny_snoozing && !snoozing.is_empty() {
            self.fail_here(Kind::Snoozing);
        }
        self.ending.snoozing.replace(snoozing);
        self.ending.unfinished.replace(unfinished);
    }

    /// Sets how the run has failed, or that it has not. Returns what was set before.
    pub(super) fn replace_failure(&self, failure: Option<Failure>) -> Option<Failure> {
        let last_step = failure.as_ref().map_or(self.settings.max_steps, |_| 0);
        self.ending.last_step.set(last_step);
        self.ending.failure.replace(failure)
    }
}
