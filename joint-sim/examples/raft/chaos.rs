//! The faults of the servers and of the network.

use std::time::Duration;

use joint_executor::{
    spawn_detached, spawn_local,
    time::{sleep, timeout},
};
use joint_sim::{fault, net};

use crate::{chance::Chance, cluster::Cluster, protocol::message::Id, setup::Setup};

/// Something that is done to a server.
#[derive(Debug)]
pub(crate) struct Fault {
    whom: Whom,
    /// The time since the fault before, or since the moment that is waited for.
    after: Duration,
    what: What,
    /// The time until it is undone.
    pub(crate) lasts: Duration,
}

#[derive(Debug)]
enum Whom {
    Server(Id),
    /// The next server to which this happens.
    Next(Moment),
}

/// A moment when a server is most vulnerable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Moment {
    /// It is elected.
    Elected,
    /// It is the leader, and something is committed for the first time in its term.
    Commits,
}

#[derive(Debug)]
enum What {
    Crash,
    /// No message passes between the server, with these machines, and all others.
    CutOff(Vec<Id>),
}

/// The most faults in a run.
const FAULTS: u64 = 16;

/// How long a moment is waited for.
const SOON: Duration = Duration::from_secs(1);

/// Decides for the faults of a run.
///
/// All of it is decided before anything else, and the details of a fault are drawn from a source of
/// its own. So the check that shrinks a failure can take away any fault, and the others remain as
/// they are.
pub(crate) fn decide(setup: &Setup) -> Vec<Fault> {
    let chance = Chance::new();
    (0..FAULTS)
        .filter_map(|n| Fault::decide(setup, chance.of(n)))
        .collect()
}

impl Fault {
    fn decide(setup: &Setup, mut chance: Chance) -> Option<Self> {
        let (servers, clients): (Vec<_>, Vec<_>) =
            (setup.servers().collect(), setup.clients().collect());
        let what = if fault("a server crashes") {
            What::Crash
        } else if fault("a server is cut off") {
            What::CutOff(Vec::new())
        } else if fault("a server is cut off with a client") {
            What::CutOff(vec![chance.one_of(&clients)])
        } else if fault("the network is cut in two") {
            What::CutOff(setup.machines().filter(|_| chance.below(2) == 0).collect())
        } else {
            return None;
        };
        let lasts = match what {
            What::Crash => [100, 500, 1000, 1000],
            What::CutOff(_) => [100, 500, 1000, 2000],
        };
        Some(Self {
            whom: match chance.below(8) {
                0 => Whom::Server(chance.one_of(&servers)),
                1..=3 => Whom::Next(Moment::Commits),
                _ => Whom::Next(Moment::Elected),
            },
            after: draw_time(&mut chance, &[1, 20, 300]),
            lasts: draw_time(&mut chance, &lasts),
            what,
        })
    }
}

/// A time up to one of these many milliseconds.
fn draw_time(chance: &mut Chance, most: &[u64]) -> Duration {
    let most = Duration::from_millis(chance.one_of(most));
    chance.between(Duration::ZERO, most)
}

impl Cluster {
    pub(crate) async fn commit(&self, fault: &Fault) {
        let whom = match fault.whom {
            Whom::Server(id) => Some(id),
            Whom::Next(moment) => timeout(SOON, self.observer.next(moment)).await.ok(),
        };
        sleep(fault.after).await;
        match (whom, &fault.what) {
            (Some(id), What::Crash) => self.crash(id, fault.lasts),
            (Some(id), What::CutOff(with)) => self.split(&[&[id], &with[..]].concat(), fault.lasts),
            (None, _) => {}
        }
    }

    /// Crashes a server, and starts it again later.
    fn crash(&self, id: Id, lasts: Duration) {
        let host = self.hosts[&id].clone();
        if host.is_running() {
            host.kill();
            self.observer.crashed(id);
            spawn_detached(async move {
                sleep(lasts).await;
                host.restart();
            });
        }
    }

    /// Cuts the network in two parts, and joins them later.
    fn split(&self, side: &[Id], lasts: Duration) {
        let is_ours = |id: &&Id| side.contains(id);
        let (ours, theirs): (Vec<_>, Vec<_>) = self.hosts.keys().partition(is_ours);
        let names = |ids: Vec<&Id>| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (ours, theirs) = (names(ours), names(theirs));
        let observer = self.observer.clone();
        observer.split(&ours, &theirs);
        for (a, b) in pairs(&ours, &theirs) {
            net::partition(a, b);
        }
        let heal = spawn_local(async move {
            sleep(lasts).await;
            observer.note(None, "network: whole again");
            for (a, b) in pairs(&ours, &theirs) {
                net::heal(a, b);
            }
        });
        heal.detach();
    }
}

fn pairs<'a>(ours: &'a [String], theirs: &'a [String]) -> impl Iterator<Item = (&'a str, &'a str)> {
    let with = |a: &'a String| theirs.iter().map(move |b| (a.as_str(), b.as_str()));
    ours.iter().flat_map(with)
}
