//! [`Ending`]: how a run has failed, and what is left of it once it is over.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
};

use super::{
    super::{
        chance::Decision,
        failure::{Failure, Kind},
        reached::Counts,
        record::Event,
        snoozing::Snoozing,
        trace::Trace,
        unfinished::Unfinished,
    },
    World,
};

/// How a run has failed, if it has.
#[derive(Default)]
pub(super) struct Ending {
    pub(super) failure: RefCell<Option<Failure>>,
    /// The futures that snoozed and the tasks that had not ended, when the main future ended.
    pub(super) left: Cell<(Vec<Snoozing>, Vec<Unfinished>)>,
    /// The number of events that were kept when it failed.
    pub(super) failed_after: Cell<usize>,
    /// The number of steps after which it is looked whether the run goes on: the limit, or less, or
    /// 0 once the run has failed.
    pub(super) next_look: Cell<u64>,
    max_steps: u64,
    /// The number of blocking waits that were ended because the run has failed.
    pub(super) ended_waits: Cell<usize>,
    /// The reason why the world was abandoned, if it was.
    pub(super) stuck: Cell<Option<Failure>>,
    pub(super) is_abandoned: Cell<bool>,
    pub(super) reached: RefCell<Counts>,
    /// The kinds of what the program has done for real.
    #[cfg_attr(any(miri, not(target_os = "linux")), allow(dead_code))]
    pub(super) real: RefCell<BTreeSet<&'static str>>,
}

/// The decisions and the events of a run whose settings say that they are kept.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) decisions: Vec<Decision>,
    /// The events up to the failure, if the run has failed.
    pub(crate) trace: Trace,
    /// The fault sites of the program. They are kept in any case.
    pub(crate) sites: BTreeMap<String, Site>,
    /// What the run has come to, which is kept as well.
    pub(crate) reached: Counts,
}

/// A fault site of the program, in one run or in several.
#[derive(Debug, Default)]
pub(crate) struct Site {
    /// Whether it may fire in this run.
    pub(super) is_active: bool,
    pub(crate) reached: u64,
    pub(crate) fired: u64,
}

impl Ending {
    pub(super) fn new(max_steps: u64, first_look: u64) -> Self {
        Self {
            failed_after: Cell::new(usize::MAX),
            next_look: Cell::new(max_steps.min(first_look)),
            max_steps,
            ..Self::default()
        }
    }

    pub(super) fn look_at(&self, step: u64) {
        self.next_look.set(step.min(self.max_steps));
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
    /// Takes what snoozed when the main future ended, and what had not ended then.
    pub(crate) fn take_left(&self) -> (Vec<Snoozing>, Vec<Unfinished>) {
        self.ending.left.take()
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
        self.ending.left.set((snoozing, unfinished));
    }

    /// Sets how the run has failed, or that it has not. Returns what was set before.
    pub(super) fn replace_failure(&self, failure: Option<Failure>) -> Option<Failure> {
        let next = failure.as_ref().map_or(u64::MAX, |_| 0);
        self.ending.look_at(next);
        self.ending.failure.replace(failure)
    }

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
            reached: self.ending.reached.take(),
        }
    }
}
