//! One run: a cluster, its clients, and what is done to them.

use std::{cell::RefCell, collections::BTreeMap, panic::resume_unwind, time::Duration};

use futures_lite::future::or;
use joint_executor::time::{sleep, timeout};
use joint_sim::{
    Host,
    net::{self, Link as Network},
};

use crate::{
    chance::Chance,
    chaos::{self, Fault},
    client::Client,
    link::Sent,
    observer::{Observer, Summary},
    protocol::{bug::Bug, message::Id},
    server::Server,
    setup::Setup,
};

/// How long the clients may take once there are no more faults.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs a cluster, and adds what was observed.
///
/// # Panics
/// If a property of the protocol is violated, with its name, so that the check takes two runs that
/// violate the same property for the same failure.
pub(crate) async fn run(bug: Option<Bug>, observed: &RefCell<Summary>) {
    let setup = Setup::decide();
    let faults = chaos::decide(&setup);
    let (observer, violation) = Observer::new();
    let cluster = Cluster::start(&setup, bug, observer.clone());
    let violation = async { violation.await.ok() };
    let violated = or(cluster.run(&setup, &faults), violation).await;
    observed.borrow_mut().add(observer.summary());
    if let Some(property) = violated {
        // Without a message on the standard error: the report of the check has it.
        resume_unwind(Box::new(property));
    }
}

pub(crate) struct Cluster {
    pub(crate) hosts: BTreeMap<Id, Host>,
    pub(crate) observer: Observer,
}

impl Cluster {
    fn start(setup: &Setup, bug: Option<Bug>, observer: Observer) -> Self {
        let host = |id: Id| (id, Host::new(id.to_string()));
        let hosts: BTreeMap<_, _> = setup.machines().map(host).collect();
        let (chance, sent) = (Chance::new(), Sent::default());
        for id in setup.servers() {
            let server = Server {
                id,
                setup: setup.clone(),
                chance: chance.of(id.0),
                disk: Default::default(),
                sent: sent.clone(),
                bug,
                observer: observer.clone(),
            };
            hosts[&id].run(move || server.clone().run());
        }
        for id in setup.clients() {
            let client = Client {
                id,
                setup: setup.clone(),
                chance: chance.of(id.0),
                sent: sent.clone(),
                observer: observer.clone(),
            };
            hosts[&id].run(move || client.clone().run());
        }
        Self { hosts, observer }
    }

    /// Commits all faults, and then waits for the clients. Returns the property that is violated
    /// if they wait for too long.
    async fn run(&self, setup: &Setup, faults: &[Fault]) -> Option<&'static str> {
        net::set_default_link(setup.network());
        for fault in faults {
            self.commit(fault).await;
        }
        net::set_default_link(Network::new());
        let last = faults.iter().map(|fault| fault.lasts).max();
        sleep(last.unwrap_or_default()).await;
        let clients = async {
            for id in setup.clients() {
                let _ = self.hosts[&id].ended().await;
            }
        };
        let ended = timeout(PATIENCE, clients).await;
        let are_late = |_| self.observer.are_late(PATIENCE);
        ended.err().map(are_late)
    }
}
