//! The program as a service on simulated hosts: the check crashes replicas, cuts links, and loses
//! and delays messages, and what the clients have found is checked.

use std::{cell::Cell, io, net::SocketAddr, rc::Rc, time::Duration};

use joint_executor::io::TcpListener;
use joint_flow::retry::{Backoff, retry};
use joint_sim::{Check, Faults, Reached, Service, net, random};

use crate::{
    disk::Disk,
    history::Operation,
    program::{client::Client, replica::serve, workload},
    record::Record,
};

const PORT: u16 = 7000;
const CLIENTS: u64 = 3;

/// How likely it is that an operation is cancelled where it waits.
const CANCELLATIONS: f64 = 0.005;
/// The longest delay of a timer or a wake-up.
const LONGEST_DELAY: Duration = Duration::from_millis(134);
/// More steps than any run takes that makes progress.
const MOST_STEPS: u64 = 1_000_000;

/// The sums over all runs. `Check` makes some of them twice, and both count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// How often a replica has crashed, and links were cut.
    pub(crate) faults: u64,
    /// How many operations were called.
    pub(crate) operations: usize,
    /// How many of them have not returned: they have failed or were cancelled.
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
        let counts = Rc::new(Cell::new((0, 0)));
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
        let checked = check.find(|| self.service(counts.clone()));
        let reached = checked.map_err(|found| found.to_string())?.reached;
        let times = |what: Reached| reached.get(&what.to_string()).copied().unwrap_or(0);
        let (called, returned) = counts.get();
        Ok(Totals {
            faults: times(Reached::Crash) + times(Reached::Cut),
            operations: called,
            unknown: called - returned,
        })
    }

    fn service(self, counts: Rc<Cell<(usize, usize)>>) -> Service {
        let (record, replicas) = (Record::default(), [3, 3, 5][random() as usize % 3]);
        let mut service = Service::new();
        for number in 1..=replicas {
            // It belongs to the closure, so it survives the crashes.
            let disk = Disk::default();
            service = service.may_crash(format!("r{number}"), move || listen(disk.clone()));
        }
        for name in 1..=CLIENTS {
            let record = record.clone();
            service = service.client(async move {
                let client = Client::new(name, &addresses(replicas));
                workload::run(client, name, self.operations, record).await;
            });
        }
        // Reads once more, which shows whether a write that has returned was lost.
        service.invariant(async move {
            let reader = CLIENTS + 1;
            let call = record.called(reader, Operation::Read);
            let client = Client::new(reader, &addresses(replicas));
            let pause = Backoff::new(Duration::from_millis(20));
            let found = retry(pause, || client.read()).await?;
            record.returned(call, Some(found));
            let (before, (called, returned)) = (counts.get(), record.counts());
            counts.set((before.0 + called, before.1 + returned));
            Ok::<(), io::Error>(())
        })
    }
}

fn addresses(replicas: u64) -> Vec<SocketAddr> {
    let names = (1..=replicas).map(|number| format!("r{number}"));
    let known = |name: String| net::lookup(&name).expect("the replica has a host");
    names.map(|name| (known(name), PORT).into()).collect()
}

async fn listen(disk: Disk) -> io::Result<()> {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    match serve(&listener, disk).await {}
}
