//! The program on simulated hosts: replicas and clients crash, links are cut and clogged, and what
//! the clients have found is checked.

use std::{cell::Cell, convert::Infallible, io, net::SocketAddr, time::Duration};

use joint_executor::{io::TcpListener, spawn_local};
use joint_flow::{
    retry::{Backoff, retry},
    time::{delay, timeout},
};
use joint_sim::{Check, Faults, Host, HostEnd, fault, net, random};

use crate::{
    disk::Disk,
    history::Operation,
    program::{client::Client, replica::serve, workload},
    record::Record,
};

const PORT: u16 = 7000;
const CLIENTS: u64 = 3;

/// The number of moments at which something may go wrong.
const MOMENTS: u64 = 30;
/// The longest time between two moments, and the longest time for which something stays wrong.
const BETWEEN: Duration = Duration::from_millis(20);
const LASTS: Duration = Duration::from_millis(300);
/// How likely it is that an operation is cancelled where it waits.
const CANCELLATIONS: f64 = 0.005;
/// The longest delay of a timer or a wake-up. All clients have to be done within [`PATIENCE`].
const LONGEST_DELAY: Duration = Duration::from_millis(134);
/// More steps than any run takes that makes progress.
const MOST_STEPS: u64 = 1_000_000;
/// How long the clients may take once nothing goes wrong any more.
const PATIENCE: Duration = Duration::from_secs(60);

/// The sums over all runs. `Check` makes some of them twice, and both count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) faults: u64,
    /// How many operations were called.
    pub(crate) operations: usize,
    /// How many of them have not returned: they have failed or were cancelled, or their client has
    /// crashed.
    pub(crate) unknown: usize,
}

/// A search for a seed with which the program fails.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    pub(crate) seeds: u64,
    /// The number of operations of each client.
    pub(crate) operations: u64,
}

impl Search {
    /// Runs the program with the seeds from 1 on, and returns the sums over all runs.
    ///
    /// # Errors
    /// If a run fails: how, and how to replay it.
    pub(crate) fn run(self) -> Result<Totals, String> {
        let totals = Cell::default();
        let faults = Faults::all()
            .cancellations(CANCELLATIONS)
            .longest_delay(LONGEST_DELAY);
        let check = Check::new()
            .max_steps(MOST_STEPS)
            .faults(faults)
            // A run without a fault is short.
            .swarm(false)
            .first_seed(1)
            .seeds(self.seeds);
        match check.find(|| self.run_once(&totals)) {
            Ok(_) => Ok(totals.get()),
            Err(found) => Err(found.to_string()),
        }
    }

    async fn run_once(self, totals: &Cell<Totals>) {
        let record = Record::default();
        let cluster = Cluster::start(self, &record);
        let faults = cluster.hurt().await;
        cluster.recover().await;
        cluster.read(&record).await;
        let mut sums = totals.get();
        let (called, returned) = record.counts();
        sums.faults += faults;
        sums.operations += called;
        sums.unknown += called - returned;
        totals.set(sums);
    }
}

struct Cluster {
    replicas: Vec<Host>,
    clients: Vec<Host>,
    addresses: Vec<SocketAddr>,
}

impl Cluster {
    fn start(search: Search, record: &Record) -> Self {
        let count = [3, 3, 5][random() as usize % 3];
        let replicas: Vec<_> = (1..=count).map(|n| Host::new(format!("r{n}"))).collect();
        let clients: Vec<_> = (1..=CLIENTS).map(|n| Host::new(format!("c{n}"))).collect();
        let address = |host: &Host| SocketAddr::new(host.ip(), PORT);
        let addresses: Vec<_> = replicas.iter().map(address).collect();
        for replica in &replicas {
            // It belongs to the closure, so it survives the crashes.
            let disk = Disk::default();
            replica.run(move || {
                let disk = disk.clone();
                async move {
                    let Err(error) = listen(disk).await;
                    panic!("{error}");
                }
            });
        }
        for (client, name) in clients.iter().zip(1..) {
            let (addresses, record) = (addresses.clone(), record.clone());
            client.run(move || {
                let client = Client::new(name, &addresses);
                workload::run(client, name, search.operations, record.clone())
            });
        }
        Self {
            replicas,
            clients,
            addresses,
        }
    }

    /// Lets things go wrong. Returns how many have.
    async fn hurt(&self) -> u64 {
        let mut faults = 0;
        for _ in 0..MOMENTS {
            delay(BETWEEN.mul_f64(part())).await;
            // Drawn in any case, so that the same is drawn if fewer things go wrong.
            let (replica, client) = (one_of(&self.replicas), one_of(&self.clients));
            let (other, lasts) = (one_of(&self.replicas), LASTS.mul_f64(part()));
            let mut goes_wrong = |name| {
                let fires = fault(name);
                faults += u64::from(fires);
                fires
            };
            if goes_wrong("a replica crashes") {
                crash(replica, lasts);
            }
            if goes_wrong("a client crashes") {
                client.kill();
            }
            if goes_wrong("a replica is cut off from a client") {
                cut(replica, client, lasts);
            }
            if goes_wrong("messages are late") {
                net::clog(other, client, lasts);
            }
        }
        faults
    }

    /// Waits until the clients have done what they had to, without further faults.
    async fn recover(&self) {
        let clients = async {
            for client in &self.clients {
                if let HostEnd::Panicked(message) = client.ended().await {
                    panic!("{message}");
                }
            }
        };
        let done = timeout(PATIENCE, clients).await;
        done.expect("the clients make progress without faults");
    }

    /// Reads once more, which shows whether a write that has returned was lost.
    async fn read(&self, record: &Record) {
        let reader = CLIENTS + 1;
        let call = record.called(reader, Operation::Read);
        let client = Client::new(reader, &self.addresses);
        let read = retry(Backoff::new(BETWEEN), || client.read());
        let read = timeout(PATIENCE, read).await;
        let found = read.expect("a majority answers without faults");
        record.returned(call, found.ok());
    }
}

async fn listen(disk: Disk) -> io::Result<Infallible> {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    Ok(serve(&listener, disk).await)
}

/// Crashes a replica, and starts it again later with what is on its disk.
fn crash(replica: &Host, lasts: Duration) {
    if replica.is_running() {
        replica.kill();
        let replica = replica.clone();
        let restart = spawn_local(async move {
            delay(lasts).await;
            replica.restart();
        });
        restart.detach();
    }
}

fn cut(a: &Host, b: &Host, lasts: Duration) {
    net::partition(a, b);
    let (a, b) = (a.clone(), b.clone());
    let heal = spawn_local(async move {
        delay(lasts).await;
        net::heal(a, b);
    });
    heal.detach();
}

fn one_of(hosts: &[Host]) -> &Host {
    &hosts[random() as usize % hosts.len()]
}

/// A number from 0 to less than 1.
fn part() -> f64 {
    (random() % 1000) as f64 / 1000.0
}
