//! Hosts whose messages are lost, late, or overtaken by others.

use std::{cell::RefCell, rc::Rc, time::Duration};

use joint_executor::{
    spawn_local,
    time::{now, sleep, timeout},
};
use joint_sim::{
    Host,
    net::{self, TcpListener, TcpStream, UdpSocket},
};

use super::{
    Runtime,
    Version::{self, Planted},
    leases::{LEASE, Log, MARGIN, any, lock, write},
};

const MILLISECOND: Duration = Duration::from_millis(1);

async fn store(log: Log, version: Version) {
    let listener = TcpListener::bind("0.0.0.0:2").await.unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let log = log.clone();
        let connection = spawn_local(async move {
            let mut number = [0; 8];
            while stream.read_exact(&mut number).await.is_ok() {
                write(&log, number, version);
            }
        });
        connection.detach();
    }
}

/// Writes whenever it has the lease.
async fn candidate() {
    let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
    let store = TcpStream::connect("store:2").await.unwrap();
    loop {
        let asked = now();
        socket.send_to(&[0], "lock:1").await.unwrap();
        let mut answer = [0; 16];
        if timeout(LEASE / 4, socket.recv(&mut answer)).await.is_ok() {
            while now() < asked + LEASE - MARGIN {
                store.write_all(&answer[..8]).await.unwrap();
                sleep(LEASE / 4).await;
            }
        }
    }
}

pub(crate) async fn deposed_leader<R: Runtime>(version: Version) {
    let log = Log::default();
    Host::new("lock").run(lock);
    Host::new("store").run({
        let log = log.clone();
        move || store(log.clone(), version)
    });
    for name in ["a", "b"] {
        Host::new(name).run(candidate);
    }
    sleep(LEASE + Duration::from_millis(any(2 * LEASE.as_millis() as u64))).await;
    // What the host has sent stays in its connection, and arrives when the link is healed. If that
    // takes longer than the lease, there is another leader by then.
    for other in ["lock", "store", "b"] {
        net::partition("a", other);
    }
    sleep(Duration::from_millis(any(2 * LEASE.as_millis() as u64))).await;
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
