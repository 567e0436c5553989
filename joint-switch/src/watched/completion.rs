//! The word of a completion, with what `verify/proof/Word.v` knows beside it.

use super::{
    monitor::{Step, Verdict},
    tables::{Join, Tables},
};

#[derive(Default)]
pub(super) struct Completion {
    /// The end that a thread is about to restore.
    restores: Option<(u32, Join)>,
    /// The end that a thread has found when it detached. It may restore it (`slotted.rs`).
    detached_from: Option<(u32, Join)>,
    /// Whether the completer has taken a waker out, and the waiter has not looked since.
    is_unseen: bool,
    /// Whether one waiter follows another (`succession.rs`), which the tables do not have.
    is_shared: bool,
}

impl Completion {
    /// Returns what is left to do.
    pub(super) fn step(
        &mut self,
        step: &Step,
        tables: &Tables,
    ) -> Result<&'static str, &'static str> {
        let (before, after) = (Join::of(step.before), Join::of(step.after));
        if before != after && step.name != "restore" && self.restores.is_some() {
            return Err("the word is changed before its end is restored");
        }
        let op = match (step.name, after) {
            ("complete" | "unobserved" | "finish", Join::Done) => "finish DONE",
            ("complete" | "unobserved" | "finish", Join::Abandoned) => "finish ABANDONED",
            ("register", Join::Waker) => "register W2",
            ("detach", Join::Detached) => "detach",
            ("restore", _) => {
                let due = self.restores.take().or(self.detached_from.take());
                // The result is taken out, and the waiter stays.
                let is_emptied = before.is_end() && after == Join::Abandoned;
                return match due == Some((step.by, after)) || due.is_none() && is_emptied {
                    true => Ok("nothing"),
                    false => Err("an end is restored that was not there"),
                };
            }
            ("poll", _) => {
                self.is_unseen = false;
                return Ok("nothing");
            }
            ("glance" | "missed" | "look", _) => return Ok("nothing"),
            ("preset" | "vacate" | "succeed" | "vacate_ended" | "succeed_ended", _) => {
                self.is_shared = true;
                return Ok("nothing");
            }
            _ => return Err("the operation puts another value into the word"),
        };
        let (settled, left) = tables.join(op, before)?;
        self.is_unseen = op.starts_with("finish") && before == Join::Waker;
        // Of those that are not split in two, the word after is the table's.
        self.restores = (settled != after).then_some((step.by, settled));
        let finds_end = op == "detach" && before.is_end();
        self.detached_from = finds_end.then_some((step.by, before));
        Ok(left)
    }

    pub(super) fn is_waited_for(&self, value: u64) -> bool {
        Join::of(value) == Join::Waker && !self.is_shared
    }

    /// Whether its memory may have been used for another word meanwhile.
    pub(super) fn is_over(&self, value: u64) -> bool {
        self.is_shared || value != 0 && !self.is_waited_for(value)
    }

    /// Nothing has happened for some time.
    pub(super) fn check_rest(&self, value: u64) -> Verdict {
        if self.restores.is_some() {
            return Err("nobody restores the end");
        }
        if self.is_unseen {
            return Err("the waiter waits, and the word is complete");
        }
        match self.is_waited_for(value) {
            true => Err("the waiter waits, and nothing happens"),
            false => Ok(()),
        }
    }
}
