//! The settings of a run.

use std::time::Duration;

use joint_sim::{
    fault,
    net::{Latency, Link},
};

use crate::protocol::message::Id;

/// The settings of a run. Whatever makes it harder is a fault, so that a failure is shrunk to the
/// usual settings if it does not need others.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    servers: u64,
    clients: u64,
    /// The most entries in one message.
    pub(crate) most_entries: usize,
    /// The longest election timeout. If it is little more than the shortest one, votes are split.
    pub(crate) election: Duration,
    /// The probability that a datagram is lost.
    loss: f64,
}

/// The shortest election timeout (section 5.6).
pub(crate) const ELECTION: Duration = Duration::from_millis(150);

impl Setup {
    pub(crate) fn decide() -> Self {
        let one_or_other = |site, usual, harder| if fault(site) { harder } else { usual };
        let spread = one_or_other("timeouts are alike", 150, 30);
        Self {
            servers: one_or_other("two more servers", 3, 5),
            clients: one_or_other("one more client", 2, 3),
            most_entries: one_or_other("one entry in a message", 16, 1) as usize,
            election: ELECTION + Duration::from_millis(spread),
            loss: match fault("a bad network") {
                false => 0.05,
                true => 0.3,
            },
        }
    }

    pub(crate) fn servers(&self) -> impl Iterator<Item = Id> + use<> {
        (1..=self.servers).map(Id)
    }

    pub(crate) fn clients(&self) -> impl Iterator<Item = Id> + use<> {
        (1..=self.clients).map(Id::client)
    }

    pub(crate) fn machines(&self) -> impl Iterator<Item = Id> + use<> {
        self.servers().chain(self.clients())
    }

    /// A network that loses, doubles and delays datagrams.
    pub(crate) fn network(&self) -> Link {
        let latency = Latency::Exponential {
            least: Duration::from_micros(500),
            mean: Duration::from_millis(3),
        };
        Link::new()
            .latency(latency)
            .loss(self.loss)
            .duplication(0.05)
            .reordering(0.1)
    }
}
