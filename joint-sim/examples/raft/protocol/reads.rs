//! Reads, which add nothing to the log: section 8 of the paper.
//!
//! A leader may have been replaced without knowing it, and then its registers are old. So a read
//! waits until a majority of servers has answered a message that was sent after the read arrived:
//! until then nobody else was elected. It also waits until the leader has applied all that was
//! committed when the read arrived.

use super::{Node, Role, bug::Bug, log::Index, message::Request};

#[derive(Debug, Default)]
pub(crate) struct Reads {
    /// The number that messages to followers carry now.
    pub(super) round: u64,
    /// The first entry of the leader's own term. What earlier leaders have committed lies before.
    pub(super) first: Index,
    pub(super) waiting: Vec<Read>,
}

#[derive(Debug)]
pub(super) struct Read {
    request: Request,
    /// The first round that was sent after the request had arrived.
    round: u64,
    /// The entry that has to be applied first.
    index: Index,
}

impl Node {
    pub(super) fn read(&mut self, request: Request) {
        let is_stale = self.has(Bug::StaleRead);
        let Role::Leader(leader) = &mut self.role else {
            return;
        };
        let reads = &mut leader.reads;
        reads.round += 1;
        reads.waiting.push(Read {
            request,
            round: if is_stale { 0 } else { reads.round },
            index: self.commit_index.max(reads.first),
        });
        self.send_to_all();
        self.answer_reads();
    }

    /// Answers the reads that have waited long enough.
    pub(super) fn answer_reads(&mut self) {
        let (majority, last_applied) = (self.majority(), self.last_applied);
        let Role::Leader(leader) = &mut self.role else {
            return;
        };
        let mut rounds: Vec<_> = leader.followers.values().map(|f| f.round).collect();
        rounds.push(leader.reads.round);
        rounds.sort_unstable();
        let confirmed = rounds[rounds.len() - majority];
        let is_due = |read: &Read| read.round <= confirmed && read.index <= last_applied;
        let (due, waiting) = leader.reads.waiting.drain(..).partition(is_due);
        leader.reads.waiting = waiting;
        let due: Vec<Read> = due;
        for Read { request, .. } in due {
            let found = self.registers.read(request.key);
            self.done(&request, found);
        }
    }
}
