//! Leader election: sections 5.2 and 5.4.1 of the paper.

use std::collections::BTreeSet;

use super::{
    Node, Role, Timer,
    bug::Bug,
    log::{Position, Term},
    message::{Id, Message},
};

impl Node {
    /// "On conversion to candidate, start election: increment currentTerm, vote for self, reset
    /// election timer, send RequestVote RPCs to all other servers" (figure 2).
    pub(super) fn start_election(&mut self) {
        self.persistent.current_term += 1;
        self.persistent.voted_for = Some(self.id);
        self.output.write = true;
        self.output.timer = Some(Timer::Election);
        self.role = Role::Candidate {
            votes: BTreeSet::from([self.id]),
        };
        let ask = Message::RequestVote {
            term: self.persistent.current_term,
            last: self.persistent.log.last(),
        };
        for peer in self.peers.clone() {
            self.send(peer, ask.clone());
        }
    }

    /// Answers RequestVote (figure 2).
    pub(super) fn vote(&mut self, candidate: Id, term: Term, last: Position) {
        let current_term = self.persistent.current_term;
        let is_free = self.persistent.voted_for.is_none_or(|id| id == candidate);
        // The candidate's log must have all that may be committed (section 5.4.1).
        let is_up_to_date = last >= self.persistent.log.last() || self.has(Bug::VoteForAnyone);
        let granted = term == current_term && is_free && is_up_to_date;
        if granted {
            self.persistent.voted_for = Some(candidate);
            self.output.write = true;
            self.output.timer = Some(Timer::Election);
        }
        let answer = Message::Vote {
            term: current_term,
            granted,
        };
        self.send(candidate, answer);
    }

    /// "If votes received from majority of servers: become leader" (figure 2).
    pub(super) fn count_vote(&mut self, from: Id, term: Term, granted: bool) {
        let (majority, is_current) = (self.majority(), term == self.persistent.current_term);
        if let Role::Candidate { votes } = &mut self.role {
            if granted && is_current {
                votes.insert(from);
                if votes.len() >= majority {
                    self.become_leader();
                }
            }
        }
    }
}
