//! The program on real sockets: replicas and clients are tasks of this process, and replicas are
//! stopped and started again meanwhile.

use std::{convert::Infallible, io, sync::Arc, time::Duration};

use joint_executor::io::TcpListener;
use joint_flow::{OneOf2, Task, all, race, spawn, time::delay};

use crate::{
    disk::Disk,
    program::{client::Client, replica::serve, workload},
    record::Record,
};

/// For how long a replica is stopped, and for how long all are running before that.
const STOPPED: Duration = Duration::from_millis(5);
const RUNNING: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) replicas: u64,
    pub(crate) clients: u64,
    /// The number of operations of each client.
    pub(crate) operations: u64,
}

/// Runs the clients to their end. Returns the record, and how often a replica was stopped.
///
/// # Errors
/// If the system refuses a socket, or a task panics.
pub(crate) async fn run(load: Load) -> io::Result<(Record, u64)> {
    let (mut replicas, mut addresses) = (Vec::new(), Vec::new());
    for _ in 0..load.replicas {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        addresses.push(listener.local_addr()?);
        replicas.push(Replica::new(listener));
    }
    let record = Record::default();
    let clients = (1..=load.clients).map(|name| {
        let client = Client::new(name, &addresses);
        spawn(workload::run(client, name, load.operations, record.clone()))
    });
    let clients = all(clients.collect::<Vec<_>>());
    let mut stops = 0;
    match race((clients, stop_and_start(&mut replicas, &mut stops))).await {
        OneOf2::A(ended) => {
            let ended: Result<Vec<()>, _> = ended.into_iter().collect();
            ended.map_err(io::Error::other)?;
        }
        OneOf2::B(never) => match never {},
    }
    Ok((record, stops))
}

/// Stops one replica after the other, and starts it again with what is on its disk.
async fn stop_and_start(replicas: &mut [Replica], stops: &mut u64) -> Infallible {
    loop {
        for replica in &mut *replicas {
            delay(RUNNING).await;
            replica.stop();
            *stops += 1;
            delay(STOPPED).await;
            replica.start();
        }
    }
}

struct Replica {
    /// Stays open while the replica is stopped, so that nobody else gets its port. Connections wait
    /// meanwhile.
    listener: Arc<TcpListener>,
    disk: Disk,
    task: Option<Task<Infallible>>,
}

impl Replica {
    fn new(listener: TcpListener) -> Self {
        let mut replica = Self {
            listener: Arc::new(listener),
            disk: Disk::default(),
            task: None,
        };
        replica.start();
        replica
    }

    fn start(&mut self) {
        let (listener, disk) = (self.listener.clone(), self.disk.clone());
        self.task = Some(spawn(async move { serve(&listener, disk).await }));
    }

    /// The last handle cancels the task, and with it all of its connections.
    fn stop(&mut self) {
        self.task = None;
    }
}
