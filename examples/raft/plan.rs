//! The faults of a run, as a list that can be shortened.

use std::{fmt, time::Duration};

use crate::{chance, protocol::message::Id};

/// The settings of a run, all of which its seed decides.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) servers: u64,
    pub(crate) clients: u64,
    /// The most entries in one message.
    pub(crate) most_entries: usize,
    /// The longest election timeout. If it is little more than the shortest one, votes are split.
    pub(crate) election: Duration,
    /// The probability that a message is lost, in percent.
    pub(crate) loss: u32,
    /// Whether timers and wake-ups are late, and polls are spurious.
    pub(crate) is_late: bool,
    pub(crate) faults: Vec<Fault>,
}

/// Something that is done to a server.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) whom: Whom,
    /// The time since the fault before, or since the moment that is waited for.
    pub(crate) after: Duration,
    pub(crate) what: What,
    /// The time until it is undone.
    pub(crate) lasts: Duration,
}

#[derive(Clone, Debug)]
pub(crate) enum Whom {
    Server(Id),
    /// The next server to which this happens.
    Next(Moment),
}

/// A fault at a moment when a server is most vulnerable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Moment {
    /// It is elected.
    Elected,
    /// It is the leader, and something is committed for the first time in its term.
    Commits,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    Crash,
    /// No message passes between the server, with these machines, and all others.
    CutOff(Vec<Id>),
}

const CLIENTS: u64 = 3;
const MOST_FAULTS: u64 = 16;

/// The shortest election timeout (section 5.6).
pub(crate) const ELECTION: Duration = Duration::from_millis(150);

impl Plan {
    /// Draws a plan. To be called in a simulation, whose seed decides it.
    pub(crate) fn draw() -> Self {
        let mut plan = Self {
            servers: *chance::one_of(&[3, 3, 5]),
            clients: CLIENTS,
            most_entries: *chance::one_of(&[1, 1, 4, 16]),
            election: ELECTION + *chance::one_of(&[20, 50, 150]) * Duration::from_millis(1),
            loss: *chance::one_of(&[0, 5, 20, 40]),
            is_late: chance::one_in(3),
            faults: Vec::new(),
        };
        for _ in 0..chance::below(MOST_FAULTS) {
            let fault = plan.draw_fault();
            plan.faults.push(fault);
        }
        plan
    }

    fn draw_fault(&self) -> Fault {
        Fault {
            whom: match chance::below(8) {
                0 => Whom::Server(Id(1 + chance::below(self.servers))),
                1..=3 => Whom::Next(Moment::Commits),
                _ => Whom::Next(Moment::Elected),
            },
            after: draw_time(&[1, 20, 300]),
            what: match chance::below(8) {
                0..=2 => What::Crash,
                3 | 4 => What::CutOff(Vec::new()),
                5 | 6 => What::CutOff(vec![Id::client(1 + chance::below(self.clients))]),
                _ => What::CutOff(self.machines().filter(|_| chance::one_in(2)).collect()),
            },
            lasts: draw_time(&[100, 500, 1000, 1000]),
        }
    }

    /// Plans that are a little smaller: with half of the faults, or without one of them, or tamer.
    pub(crate) fn smaller(&self) -> impl Iterator<Item = Self> + use<'_> {
        let count = self.faults.len();
        let cuts = [count / 2, 1].into_iter().filter(|&size| size > 0);
        let parts = cuts.flat_map(move |size| {
            (0..count)
                .step_by(size)
                .map(move |from| from..count.min(from + size))
        });
        let without = parts.map(|part| {
            let mut plan = self.clone();
            plan.faults.drain(part);
            plan
        });
        let with = |change: fn(&mut Self)| {
            let mut plan = self.clone();
            change(&mut plan);
            plan
        };
        let tamer = [
            with(|plan| plan.is_late = false),
            with(|plan| plan.loss = 0),
            with(|plan| plan.loss = plan.loss.min(5)),
            with(|plan| plan.clients = 2),
            with(|plan| plan.servers = 3),
        ];
        let is_new = |plan: &Self| {
            let size = |plan: &Self| (plan.is_late, plan.loss, plan.clients, plan.servers);
            plan.names_its_servers() && size(plan) != size(self)
        };
        without.chain(tamer.into_iter().filter(is_new))
    }

    /// Whether all machines that the faults name exist.
    fn names_its_servers(&self) -> bool {
        let exists = |id: &Id| self.machines().any(|machine| machine == *id);
        self.faults.iter().all(|fault| {
            let whom = match &fault.whom {
                Whom::Server(id) => exists(id),
                Whom::Next(_) => true,
            };
            let with = match &fault.what {
                What::Crash => true,
                What::CutOff(with) => with.iter().all(exists),
            };
            whom && with
        })
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
}

/// A time up to one of these many milliseconds.
fn draw_time(most: &[u64]) -> Duration {
    chance::between(Duration::ZERO, Duration::from_millis(*chance::one_of(most)))
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            servers,
            clients,
            most_entries,
            loss,
            is_late,
            ..
        } = self;
        let late = if *is_late { ", late timers" } else { "" };
        write!(
            f,
            "{servers} servers, {clients} clients, {most_entries} entries a message, \
             {loss}% loss{late}"
        )
    }
}
