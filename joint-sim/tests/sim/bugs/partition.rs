//! Hosts whose messages are lost, late, or overtaken by others.

use std::{cell::RefCell, rc::Rc, time::Duration};

use futures_lite::{AsyncReadExt, AsyncWriteExt};
use joint_executor::{
    spawn_local,
    time::{now, sleep, timeout},
};
use joint_sim::{
    self as sim, Host,
    net::{self, TcpListener, TcpStream, UdpSocket},
};

use super::{
    Runtime,
    Version::{self, Planted},
};

const MILLISECOND: Duration = Duration::from_millis(1);

/// Below `most`, whatever the seed says.
fn any(most: Duration) -> Duration {
    most * (sim::random() % 1000) as u32 / 1000
}

/// How long a lease is valid. A leader stops writing this part of it earlier.
const LEASE: Duration = Duration::from_millis(20);
const MARGIN: Duration = Duration::from_millis(5);

/// Gives the lease to the host that asks, if nobody else has it, with a number that grows with each
/// holder. Otherwise there is no answer.
async fn lease_server() {
    let socket = UdpSocket::bind("0.0.0.0:1").await.unwrap();
    let (mut number, mut holder, mut until) = (0, None, now());
    loop {
        let (_, asker) = socket.recv_from(&mut [0]).await.unwrap();
        let is_new = holder != Some(asker);
        if is_new && now() < until {
            continue;
        }
        number += u8::from(is_new);
        holder = Some(asker);
        until = now() + LEASE;
        socket.send_to(&[number], asker).await.unwrap();
    }
}

/// The numbers of the leaders whose writes have been accepted, in their order.
type Log = Rc<RefCell<Vec<u8>>>;

async fn store(log: Log, version: Version) {
    let listener = TcpListener::bind("0.0.0.0:2").await.unwrap();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let log = log.clone();
        let connection = spawn_local(async move {
            let mut number = [0];
            while stream.read_exact(&mut number).await.is_ok() {
                let mut log = log.borrow_mut();
                let is_newest = log.last().is_none_or(|last| *last <= number[0]);
                if version == Planted || is_newest {
                    log.push(number[0]);
                }
            }
        });
        connection.detach();
    }
}

/// Writes whenever it has the lease.
async fn candidate() {
    let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
    let mut store = TcpStream::connect("store:2").await.unwrap();
    loop {
        let asked = now();
        socket.send_to(&[0], "lease:1").await.unwrap();
        let mut number = [0];
        let answer = timeout(LEASE / 4, socket.recv(&mut number)).await;
        if answer.is_err() {
            continue;
        }
        while now() < asked + LEASE - MARGIN {
            store.write_all(&number).await.unwrap();
            sleep(LEASE / 4).await;
        }
    }
}

pub(crate) async fn deposed_leader<R: Runtime>(version: Version) {
    let log = Log::default();
    Host::new("lease").run(lease_server);
    Host::new("store").run({
        let log = log.clone();
        move || store(log.clone(), version)
    });
    for name in ["a", "b"] {
        Host::new(name).run(candidate);
    }
    sleep(LEASE + any(2 * LEASE)).await;
    // What the host has sent stays in its connection, and arrives when the link is healed. If that
    // takes longer than the lease, there is another leader by then.
    for other in ["lease", "store", "b"] {
        net::partition("a", other);
    }
    sleep(any(2 * LEASE)).await;
    net::heal_all();
    sleep(LEASE).await;
    let log = log.borrow();
    assert!(
        log.is_sorted(),
        "a leader writes after its successor: {log:?}"
    );
}

pub(crate) async fn overtaken_write<R: Runtime>(version: Version) {
    let register = Rc::new(RefCell::new(0));
    Host::new("register").run({
        let register = register.clone();
        move || {
            let register = register.clone();
            async move {
                let socket = UdpSocket::bind("0.0.0.0:1").await.unwrap();
                let mut value = [0];
                loop {
                    socket.recv(&mut value).await.unwrap();
                    let mut register = register.borrow_mut();
                    // The values are versions, too.
                    if version == Planted || *register < value[0] {
                        *register = value[0];
                    }
                }
            }
        }
    });
    let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
    for value in 1..=3 {
        socket.send_to(&[value], "register:1").await.unwrap();
        sleep(MILLISECOND).await;
    }
    sleep(10 * MILLISECOND).await;
    assert_eq!(*register.borrow(), 3, "the last write is the newest");
}
