//! Raft as its paper describes it: leader election and log replication, without changes of
//! membership and snapshots. (Diego Ongaro and John Ousterhout, "In Search of an Understandable
//! Consensus Algorithm", extended version, 2014. The sections are the paper's.)
//!
//! Nothing here does I/O, reads a clock or draws a number. A [`Node`] is given what happens to its
//! server, and leaves what the server has to do in its [`Output`].

pub(crate) mod bug;
mod election;
pub(crate) mod log;
pub(crate) mod message;
mod reads;
mod registers;
mod replication;

use std::{collections::BTreeSet, mem};

use self::{
    bug::Bug,
    log::{Index, Log, Term},
    message::{Id, Message, Request},
    registers::Registers,
    replication::Leader,
};

/// The state that a server must not forget in a crash (figure 2, "Persistent state on all
/// servers").
#[derive(Clone, Debug, Default)]
pub(crate) struct Persistent {
    /// The latest term that the server has seen.
    pub(crate) current_term: Term,
    /// The candidate that it voted for in this term.
    pub(crate) voted_for: Option<Id>,
    pub(crate) log: Log,
}

/// The state of a server (figures 2 and 4).
#[derive(Debug)]
pub(crate) enum Role {
    Follower { leader: Option<Id> },
    Candidate { votes: BTreeSet<Id> },
    Leader(Leader),
}

/// The actions of the server, in this order.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// Write the persistent state to the disk, before anything is sent.
    pub(crate) write: bool,
    pub(crate) messages: Vec<(Id, Message)>,
    /// Start the timer again.
    pub(crate) timer: Option<Timer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// A random time, after which a follower or candidate starts an election (section 5.2).
    Election,
    /// A shorter time, after which a leader sends heartbeats.
    Heartbeat,
}

/// A server of the cluster.
#[derive(Debug)]
pub(crate) struct Node {
    id: Id,
    /// The other servers.
    peers: Vec<Id>,
    pub(crate) persistent: Persistent,
    pub(crate) role: Role,
    /// The last entry that is known to be committed.
    pub(crate) commit_index: Index,
    /// The last entry that the registers reflect.
    last_applied: Index,
    registers: Registers,
    output: Output,
    /// The most entries in one message.
    most_entries: usize,
    bug: Option<Bug>,
}

impl Node {
    /// Starts or restarts a server with what is on its disk. It is a follower at first.
    pub(crate) fn new(
        id: Id,
        servers: &[Id],
        disk: Persistent,
        most_entries: usize,
        bug: Option<Bug>,
    ) -> Self {
        Self {
            id,
            peers: servers.iter().copied().filter(|&peer| peer != id).collect(),
            persistent: disk,
            role: Role::Follower { leader: None },
            commit_index: 0,
            last_applied: 0,
            registers: Registers::default(),
            output: Output {
                timer: Some(Timer::Election),
                ..Output::default()
            },
            most_entries,
            bug,
        }
    }

    /// Takes what the server has to do now.
    pub(crate) fn take_output(&mut self) -> Output {
        mem::take(&mut self.output)
    }

    /// The timer has expired.
    pub(crate) fn timer_expired(&mut self) {
        match self.role {
            Role::Leader(_) => self.send_heartbeats(),
            _ => self.start_election(),
        }
    }

    /// A message has arrived.
    pub(crate) fn receive(&mut self, from: Id, message: Message) {
        if let Some(term) = message.term() {
            // "If RPC request or response contains term T > currentTerm: set currentTerm = T,
            // convert to follower" (figure 2, "Rules for Servers").
            if term > self.persistent.current_term {
                self.persistent.current_term = term;
                self.persistent.voted_for = None;
                self.output.write = true;
                self.become_follower(None);
            }
        }
        match message {
            Message::RequestVote { term, last } => self.vote(from, term, last),
            Message::Vote { term, granted } => self.count_vote(from, term, granted),
            Message::AppendEntries {
                term,
                previous,
                entries,
                leader_commit,
                round,
            } => {
                let matched = self.append(from, term, previous, &entries, leader_commit);
                let term = self.persistent.current_term;
                let answer = Message::Appended {
                    term,
                    matched,
                    round,
                };
                self.send(from, answer);
            }
            Message::Appended {
                term,
                matched,
                round,
            } => self.appended(from, term, matched, round),
            Message::Request(request) => self.request(from, request),
            // These are for clients.
            Message::Done { .. } | Message::Elsewhere { .. } => {}
        }
    }

    fn become_follower(&mut self, leader: Option<Id>) {
        if let Role::Leader(_) = self.role {
            self.output.timer = Some(Timer::Election);
        }
        self.role = Role::Follower { leader };
    }

    fn send(&mut self, to: Id, message: Message) {
        self.output.messages.push((to, message));
    }

    /// The number of servers that is more than half of them.
    fn majority(&self) -> usize {
        let servers = self.peers.len() + 1;
        servers / 2 + 1
    }

    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// The state that the server writes to its disk.
    pub(crate) fn to_write(&self) -> Persistent {
        let mut written = self.persistent.clone();
        if self.has(Bug::ForgetVote) {
            written.voted_for = None;
        }
        written
    }

    /// A request of a client (section 8).
    fn request(&mut self, from: Id, request: Request) {
        let leader = match self.role {
            Role::Leader(_) => return self.lead(request),
            Role::Follower { leader } => leader,
            Role::Candidate { .. } => None,
        };
        let serial = request.serial;
        self.send(from, Message::Elsewhere { serial, leader });
    }
}
