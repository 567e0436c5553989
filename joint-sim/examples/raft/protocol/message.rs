//! The messages between machines: the calls of figure 2, and the clients' requests.
//!
//! A call and its answer are two messages here. Each may be lost, doubled or overtaken.

use std::fmt;

use super::log::{Entry, Index, Position, Term};
pub(crate) use crate::history::Operation;

/// A server or a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id(pub(crate) u64);

impl Id {
    /// Clients have the numbers behind this one.
    const CLIENTS: u64 = 100;

    pub(crate) fn client(number: u64) -> Self {
        Self(Self::CLIENTS + number)
    }

    pub(crate) fn is_client(self) -> bool {
        self.0 > Self::CLIENTS
    }

    /// The number among the servers or the clients.
    pub(crate) fn number(self) -> u64 {
        self.0 % Self::CLIENTS
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.checked_sub(Self::CLIENTS) {
            Some(client) => write!(f, "c{client}"),
            None => write!(f, "s{}", self.0),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// A candidate asks for a vote (section 5.2).
    RequestVote {
        term: Term,
        /// The candidate's last entry.
        last: Position,
    },
    Vote {
        term: Term,
        granted: bool,
    },
    /// A leader replicates its log (section 5.3). Without entries, it is a heartbeat.
    AppendEntries {
        term: Term,
        /// The entry before the new ones.
        previous: Position,
        entries: Vec<Entry>,
        leader_commit: Index,
        /// The answer repeats this number, so that a leader knows how recent the answer is.
        round: u64,
    },
    Appended {
        term: Term,
        /// The last index up to which both logs are the same, or else an index from which the
        /// leader should try again.
        matched: Result<Index, Index>,
        round: u64,
    },
    /// A client asks for an operation (section 8).
    Request(Request),
    /// The operation was done. It has found this value.
    Done {
        serial: u64,
        found: u64,
    },
    /// This server is not the leader, but may know it.
    Elsewhere {
        serial: u64,
        leader: Option<Id>,
    },
}

impl Message {
    /// The sender's term, if it is a server's message to a server.
    pub(crate) fn term(&self) -> Option<Term> {
        match *self {
            Self::RequestVote { term, .. }
            | Self::Vote { term, .. }
            | Self::AppendEntries { term, .. }
            | Self::Appended { term, .. } => Some(term),
            Self::Request(_) | Self::Done { .. } | Self::Elsewhere { .. } => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) client: Id,
    /// The number of the client's operation. A request that is repeated keeps its number.
    pub(crate) serial: u64,
    pub(crate) key: u64,
    pub(crate) operation: Operation,
}
