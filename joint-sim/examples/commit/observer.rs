//! What has happened, as somebody sees who looks into all hosts.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use joint_executor::chance::random;

#[derive(Debug)]
pub(crate) struct Observer {
    /// The number of transactions that are still to begin.
    left: Cell<u32>,
    /// The outcomes. They are the same everywhere.
    outcomes: RefCell<BTreeMap<u64, bool>>,
    /// The participants, by their names, and whether they wait for an outcome.
    waiting: RefCell<BTreeMap<String, bool>>,
}

impl Observer {
    pub(crate) fn new(transactions: u32) -> Self {
        Self {
            left: Cell::new(transactions),
            outcomes: RefCell::default(),
            waiting: RefCell::default(),
        }
    }

    /// Returns the number of the next transaction, if there is one.
    pub(crate) fn begin(&self) -> Option<u64> {
        self.left.set(self.left.get().checked_sub(1)?);
        Some(random())
    }

    /// A host knows the outcome of a transaction.
    pub(crate) fn decided(&self, transaction: u64, commits: bool) {
        let mut outcomes = self.outcomes.borrow_mut();
        let outcome = *outcomes.entry(transaction).or_insert(commits);
        assert_eq!(
            outcome, commits,
            "transaction {transaction:x} is committed on one host and aborted on another"
        );
    }

    /// A participant waits for an outcome, or does not.
    pub(crate) fn waits(&self, waits: bool) {
        let name = joint_sim::current_host().name().to_owned();
        self.waiting.borrow_mut().insert(name, waits);
    }

    /// Returns whether all transactions have begun, and no participant waits.
    pub(crate) fn is_done(&self) -> bool {
        self.left.get() == 0 && self.waiting.borrow().values().all(|waits| !waits)
    }

    /// Returns how many transactions were committed.
    pub(crate) fn committed(&self) -> usize {
        self.outcomes.borrow().values().filter(|own| **own).count()
    }
}
