//! One run: a cluster, its clients, and what is done to them.

use std::{collections::BTreeMap, time::Duration};

use futures_lite::future::or;
use joint::{
    sim::{
        Builder, Faults, Host, HostEnd,
        net::{self, Latency, Link as Network},
    },
    spawn_detached, spawn_local,
    time::{sleep, timeout},
};

use crate::{
    client::Client,
    observer::{Observer, Summary},
    plan::{Fault, Plan, What, Whom},
    protocol::{bug::Bug, message::Id},
    server::Server,
};

/// How long the clients may take once there are no more faults.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long an election is waited for.
const SOON: Duration = Duration::from_secs(1);

/// More steps than any run takes that makes progress.
const MOST_STEPS: u64 = 1_000_000;

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) summary: Summary,
    /// The property that does not hold, and where.
    pub(crate) violation: Option<String>,
    pub(crate) steps: u64,
    pub(crate) elapsed: Duration,
    pub(crate) digest: u64,
}

/// Runs a plan with a seed.
///
/// # Errors
/// If the simulation itself fails, for example because a server panics.
pub(crate) fn run(seed: u64, plan: &Plan, bug: Option<Bug>) -> Result<Ended, String> {
    let late = if plan.is_late {
        Faults::all()
    } else {
        Faults::none()
    };
    let builder = Builder::new(seed).faults(late).max_steps(MOST_STEPS);
    let outcome = builder.run(run_inside(plan, bug));
    let outcome = outcome.map_err(|failure| failure.to_string())?;
    let (summary, violation) = outcome.output;
    Ok(Ended {
        summary,
        violation,
        steps: outcome.steps,
        elapsed: outcome.elapsed,
        digest: outcome.digest,
    })
}

async fn run_inside(plan: &Plan, bug: Option<Bug>) -> (Summary, Option<String>) {
    let (observer, violation) = Observer::new();
    let cluster = Cluster::start(plan, bug, observer.clone());
    let ended = or(cluster.run(plan), async { violation.await.ok() }).await;
    let ended = ended.or_else(|| observer.check_history().err());
    (observer.summary(), ended)
}

struct Cluster {
    hosts: BTreeMap<Id, Host>,
    observer: Observer,
}

impl Cluster {
    fn start(plan: &Plan, bug: Option<Bug>, observer: Observer) -> Self {
        let host = |id: Id| (id, Host::new(id.to_string()));
        let hosts: BTreeMap<_, _> = plan.machines().map(host).collect();
        for id in plan.servers() {
            let server = Server {
                id,
                machines: plan.machines().collect(),
                servers: plan.servers().collect(),
                disk: Default::default(),
                most_entries: plan.most_entries,
                election: plan.election,
                bug,
                observer: observer.clone(),
            };
            hosts[&id].run(move || server.clone().run());
        }
        for id in plan.clients() {
            let client = Client {
                id,
                machines: plan.machines().collect(),
                servers: plan.servers().collect(),
                observer: observer.clone(),
            };
            hosts[&id].run(move || client.clone().run());
        }
        Self { hosts, observer }
    }

    /// Commits all faults, and then waits for the clients. Returns what has gone wrong.
    async fn run(&self, plan: &Plan) -> Option<String> {
        net::set_default_link(rough(plan.loss));
        for fault in &plan.faults {
            self.commit(fault).await;
        }
        net::set_default_link(Network::new());
        let last = plan.faults.iter().map(|fault| fault.lasts).max();
        sleep(last.unwrap_or_default()).await;
        let clients = async {
            for id in plan.clients() {
                if let HostEnd::Panicked(message) = self.hosts[&id].ended().await {
                    return Some(message);
                }
            }
            None
        };
        let is_late = || format!("progress: {PATIENCE:?} without faults do not suffice");
        let ended = timeout(PATIENCE, clients).await;
        ended.unwrap_or_else(|_| Some(is_late()))
    }

    async fn commit(&self, fault: &Fault) {
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
        let (ours, theirs): (Vec<_>, Vec<_>) =
            (self.hosts.iter()).partition(|(id, _)| side.contains(id));
        let names = |hosts: &[(&Id, &Host)]| -> Vec<_> {
            hosts
                .iter()
                .map(|(_, host)| host.name().to_owned())
                .collect()
        };
        let (ours, theirs) = (names(&ours), names(&theirs));
        let observer = self.observer.clone();
        observer.note(
            None,
            format_args!("network: {} | {}", ours.join(" "), theirs.join(" ")),
        );
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

/// A network that loses, doubles and delays datagrams.
fn rough(loss: u32) -> Network {
    let latency = Latency::Exponential {
        least: Duration::from_micros(500),
        mean: Duration::from_millis(3),
    };
    Network::new()
        .latency(latency)
        .loss(f64::from(loss) / 100.0)
        .duplication(0.05)
        .reordering(0.1)
}
