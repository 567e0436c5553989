//! Hosts of which one at a time may do something.

use std::{collections::BTreeMap, time::SystemTime};

use joint_executor::time::wall;

use super::*;
use crate::prelude::Version::{self, Planted};

/// How long a lease is valid. Its holder stops writing when half of it is over.
pub(super) const LEASE: Duration = Duration::from_secs(10);

/// The numbers of the leases under which was written, in their order.
pub(super) type Log = Shared<Vec<u8>>;

/// Gives the lease to whoever asks if it is free: a number that grows, and the wall clock's time
/// at which it ends. Otherwise there is no answer.
async fn lock() -> io::Result<()> {
    let (mut number, mut until) = (0_u8, now());
    serve("0.0.0.0:1", async |_: [u8; 1]| {
        if now() < until {
            return Ok(Vec::new());
        }
        number += 1;
        until = now() + LEASE;
        let end = (wall() + LEASE).duration_since(SystemTime::UNIX_EPOCH);
        let end = (end.unwrap().as_millis() as u64).to_le_bytes();
        Ok([&[number], &end[..7]].concat())
    })
    .await
}

/// Writes under the lease with this number. Planted: whatever the newest one is.
fn write(log: &Log, number: u8, version: Version) {
    let mut log = log.borrow_mut();
    let last = log.last().copied().unwrap_or(0);
    if version == Planted || last <= number {
        assert!(
            last <= number,
            "the holder of {number} writes after that of {last}"
        );
        log.push(number);
    }
}

pub(super) async fn store(log: Log, version: Version) -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:1").await?;
    loop {
        let mut number = [0];
        socket.recv(&mut number).await?;
        write(&log, number[0], version);
    }
}

pub(super) fn with_store<F: Future<Output = io::Result<()>> + 'static>(
    store: fn(Log, Version) -> F,
    version: Version,
    clients: [impl Future<Output = io::Result<()>> + 'static; 2],
) -> Service {
    let store = sharing(&Log::default(), move |log| store(log, version));
    let service = service().host("lock", lock).host("store", store);
    let [one, other] = clients;
    service.client(one).client(other)
}

/// Three times, writes each second while it has the lease, by its own clock.
async fn holder() -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0").await?;
    for _ in 0..3 {
        let asked = now();
        if let Some([number, ..]) = ask_once("lock:1", &[0]).await {
            while now() < asked + LEASE / 2 {
                // The write is made ready.
                yield_now().await;
                socket.send_to(&[number], "store:1").await?;
                sleep(SECOND).await;
            }
        }
        sleep(LEASE / 4).await;
    }
    Ok(())
}

pub(super) fn paused_holder(version: Version) -> Service {
    with_store(store, version, [holder(), holder()])
}

async fn store_of_streams(log: Log, version: Version) -> io::Result<()> {
    serve_streams("0.0.0.0:1", |stream| {
        let log = log.clone();
        async move {
            let mut number = [0];
            while stream.read_exact(&mut number).await.is_ok() {
                write(&log, number[0], version);
            }
        }
    })
    .await
}

/// Three times, writes over a stream while it has the lease, by its own clock.
async fn leader() -> io::Result<()> {
    for _ in 0..3 {
        let Ok(Ok(store)) = timeout(LEASE, TcpStream::connect("store:1")).await else {
            continue;
        };
        let asked = now();
        if let Some([number, ..]) = ask_once("lock:1", &[0]).await {
            while now() < asked + LEASE / 2 && store.write_all(&[number]).await.is_ok() {
                sleep(LEASE / 4).await;
            }
        }
        sleep(LEASE / 2).await;
    }
    Ok(())
}

pub(super) fn deposed_leader(version: Version) -> Service {
    with_store(store_of_streams, version, [leader(), leader()])
}

/// A host that votes once in each term, and is a candidate in some.
async fn node(number: u8, leaders: Shared<BTreeMap<u8, u8>>, version: Version) -> io::Result<()> {
    // The last term, and whom this host votes for in it.
    let vote = Rc::new(Cell::new((0, 0)));
    let own = vote.clone();
    let votes = spawn_local(serve("0.0.0.0:1", async move |[term, whom]: [u8; 2]| {
        if term > own.get().0 {
            own.set((term, whom));
        }
        Ok(vec![u8::from(own.get() == (term, whom))])
    }));
    for _ in 0..3 {
        sleep(SECOND / 100 * (1 + sim::random() % 100) as u32).await;
        let term = vote.get().0 + 1;
        vote.set((term, number));
        let (mut answers, mut granted) = (1, 1);
        let all = ["a:1", "b:1", "c:1"].into_iter().zip(0..3);
        for (other, _) in all.filter(|(_, other)| *other != number) {
            if let Some([is_granted, ..]) = ask_once(other, &[term, number]).await {
                answers += 1;
                granted += is_granted;
            }
        }
        let all = if version == Planted { answers } else { 3 };
        if granted * 2 > all {
            let leader = *leaders.borrow_mut().entry(term).or_insert(number);
            assert_eq!(leader, number, "two leaders in term {term}");
        }
    }
    votes.await
}

pub(super) fn split_brain(version: Version) -> Service {
    let leaders = Shared::default();
    let names = ["a", "b", "c"].into_iter().zip(0..);
    let service = service().trouble(10 * SECOND).quiet(SECOND);
    names.fold(service, |service, (name, number)| {
        let main = sharing(&leaders, move |leaders| node(number, leaders, version));
        service.host(name, main)
    })
}
