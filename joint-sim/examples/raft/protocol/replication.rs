//! Log replication: sections 5.3 and 5.4.2 of the paper.

use std::collections::BTreeMap;

use super::{
    Node, Role, Timer,
    bug::Bug,
    log::{Command, Entry, Index, Position, Term},
    message::{Id, Message, Operation, Request},
    reads::Reads,
};

/// The knowledge of a leader (figure 2, "Volatile state on leaders").
#[derive(Debug)]
pub(crate) struct Leader {
    pub(super) followers: BTreeMap<Id, Progress>,
    pub(super) reads: Reads,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// The next entry to send: the paper's `nextIndex`.
    next: Index,
    /// The last entry that is known to be in the follower's log: the paper's `matchIndex`.
    matched: Index,
    /// The latest round that the follower has answered.
    pub(super) round: u64,
}

impl Node {
    pub(super) fn become_leader(&mut self) {
        let progress = Progress {
            next: self.persistent.log.last_index() + 1,
            matched: 0,
            round: 0,
        };
        // A leader does not know which entries of earlier terms are committed. It learns that when
        // one of its own is (section 8).
        let first = self.append_own(Command::Nothing);
        self.role = Role::Leader(Leader {
            followers: self.peers.iter().map(|&peer| (peer, progress)).collect(),
            reads: Reads {
                first,
                ..Reads::default()
            },
        });
        self.send_heartbeats();
    }

    fn append_own(&mut self, command: Command) -> Index {
        let term = self.persistent.current_term;
        self.output.write = true;
        self.persistent.log.push(Entry { term, command })
    }

    /// "If command received from client: append entry to local log, respond after entry applied to
    /// state machine" (figure 2).
    pub(super) fn lead(&mut self, request: Request) {
        if let Some(found) = self.registers.result(&request) {
            self.done(&request, found);
        } else if request.operation == Operation::Read {
            self.read(request);
        } else {
            self.append_own(Command::Request(request));
            self.send_to_all();
        }
    }

    pub(super) fn done(&mut self, request: &Request, found: u64) {
        let serial = request.serial;
        self.send(request.client, Message::Done { serial, found });
    }

    pub(super) fn send_heartbeats(&mut self) {
        self.output.timer = Some(Timer::Heartbeat);
        self.send_to_all();
    }

    pub(super) fn send_to_all(&mut self) {
        for peer in self.peers.clone() {
            self.send_entries(peer);
        }
    }

    /// Sends AppendEntries with the entries that the follower is not known to have.
    fn send_entries(&mut self, to: Id) {
        let Role::Leader(leader) = &self.role else {
            return;
        };
        let log = &self.persistent.log;
        let previous = leader.followers[&to].next - 1;
        let message = Message::AppendEntries {
            term: self.persistent.current_term,
            previous: log.position(previous),
            entries: log.after(previous, self.most_entries).to_vec(),
            leader_commit: self.commit_index,
            round: leader.reads.round,
        };
        self.send(to, message);
    }

    /// Follows AppendEntries (figure 2). Returns the last index up to which the log is the leader's
    /// now, or else the index from which the leader should try again.
    pub(super) fn append(
        &mut self,
        leader: Id,
        term: Term,
        previous: Position,
        entries: &[Entry],
        leader_commit: Index,
    ) -> Result<Index, Index> {
        if term < self.persistent.current_term {
            return Err(0);
        }
        self.become_follower(Some(leader));
        self.output.timer = Some(Timer::Election);
        let log = &mut self.persistent.log;
        if !log.contains(previous) {
            return Err(previous.index.min(log.last_index() + 1));
        }
        if self.bug == Some(Bug::Truncate) {
            log.truncate(previous.index);
        }
        self.output.write |= log.merge(previous.index, entries);
        let last_new = previous.index + entries.len() as Index;
        // "If leaderCommit > commitIndex, set commitIndex = min(leaderCommit, index of last new
        // entry)": entries behind that one may differ from the leader's.
        self.commit(leader_commit.min(last_new));
        Ok(last_new)
    }

    /// A follower has answered AppendEntries.
    pub(super) fn appended(
        &mut self,
        from: Id,
        term: Term,
        matched: Result<Index, Index>,
        round: u64,
    ) {
        let Role::Leader(leader) = &mut self.role else {
            return;
        };
        let Some(follower) = leader.followers.get_mut(&from) else {
            return;
        };
        if term < self.persistent.current_term {
            return;
        }
        follower.round = follower.round.max(round);
        // Answers overtake each other, so what the follower is known to have never shrinks. Only
        // an answer that brings something new is followed by the next message. Otherwise each
        // doubled answer would double all that follow.
        let is_news = match matched {
            Ok(index) if index > follower.matched => {
                follower.matched = index;
                follower.next = follower.next.max(index + 1);
                follower.next <= self.persistent.log.last_index()
            }
            Err(index) if index < follower.next && index > follower.matched => {
                follower.next = index;
                true
            }
            _ => false,
        };
        self.commit_what_a_majority_has();
        self.answer_reads();
        if is_news {
            self.send_entries(from);
        }
    }

    /// "If there exists an N such that N > commitIndex, a majority of matchIndex[i] >= N, and
    /// log[N].term == currentTerm: set commitIndex = N" (figure 2, sections 5.3 and 5.4).
    fn commit_what_a_majority_has(&mut self) {
        let Role::Leader(leader) = &self.role else {
            return;
        };
        let log = &self.persistent.log;
        let followers = leader.followers.values();
        let mut matched: Vec<_> = followers.map(|follower| follower.matched).collect();
        matched.push(log.last_index());
        matched.sort_unstable();
        let has_majority = matched[matched.len() - self.majority()];
        let is_own = log.position(has_majority).term == self.persistent.current_term;
        // An entry of an earlier term may still be overwritten, although a majority has it.
        if is_own || self.has(Bug::CommitEarlierTerm) {
            self.commit(has_majority);
        }
    }

    /// "If commitIndex > lastApplied: increment lastApplied, apply log[lastApplied] to state
    /// machine" (figure 2).
    fn commit(&mut self, index: Index) {
        self.commit_index = self.commit_index.max(index);
        while self.last_applied < self.commit_index {
            self.last_applied += 1;
            let entry = self.persistent.log.get(self.last_applied);
            let entry = *entry.expect("a committed entry is in the log");
            if let Command::Request(request) = entry.command {
                let found = self.registers.apply(&request, self.bug);
                if let (Some(found), Role::Leader(_)) = (found, &self.role) {
                    self.done(&request, found);
                }
            }
        }
    }
}
