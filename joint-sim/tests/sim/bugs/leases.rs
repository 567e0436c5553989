//! Leases that are checked where they are held, and not where the write arrives.

use std::{
    cell::RefCell,
    rc::Rc,
    time::{Duration, SystemTime},
};

use joint_executor::time::{now, sleep, timeout, wall};
use joint_sim::{self as sim, Host, net::UdpSocket};

use super::{Joint, Runtime, Version, Version::Planted};

const SECOND: Duration = Duration::from_secs(1);

/// How long a lease is valid. Its holder stops writing this much earlier.
pub(super) const LEASE: Duration = Duration::from_secs(10);
pub(super) const MARGIN: Duration = Duration::from_secs(5);

/// By which clock a holder knows that its lease is valid.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    Own,
    Wall,
}

/// Below `most`, whatever the seed says.
pub(super) fn any(most: u64) -> u64 {
    sim::random() % most
}

/// Gives the lease to the client that asks if it is free, with a number that grows, and the wall
/// clock's time at which it ends. Otherwise there is no answer.
pub(super) async fn lock() {
    let socket = UdpSocket::bind("0.0.0.0:1").await.unwrap();
    let (mut number, mut until) = (0_u64, now());
    loop {
        let (_, asker) = socket.recv_from(&mut [0]).await.unwrap();
        if now() >= until {
            number += 1;
            until = now() + LEASE;
            let end = (wall() + LEASE).duration_since(SystemTime::UNIX_EPOCH);
            let end = end.unwrap().as_millis() as u64;
            let answer = [number.to_le_bytes(), end.to_le_bytes()].concat();
            socket.send_to(&answer, asker).await.unwrap();
        }
    }
}

/// The numbers of the leases under which has been written, in their order.
pub(super) type Log = Rc<RefCell<Vec<u64>>>;

/// Writes under the lease with this number. Planted: whatever the newest one is.
pub(super) fn write(log: &Log, number: [u8; 8], version: Version) {
    let number = u64::from_le_bytes(number);
    let mut log = log.borrow_mut();
    if version == Planted || log.last().is_none_or(|&last| last <= number) {
        log.push(number);
    }
}

async fn store(log: Log, version: Version) {
    let socket = UdpSocket::bind("0.0.0.0:2").await.unwrap();
    loop {
        let mut number = [0; 8];
        socket.recv(&mut number).await.unwrap();
        write(&log, number, version);
    }
}

/// Writes each second while it has the lease.
async fn client(clock: Clock) {
    let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
    let mut answer = [0; 16];
    loop {
        let asked = now();
        socket.send_to(&[0], "lock:1").await.unwrap();
        if timeout(SECOND, socket.recv(&mut answer)).await.is_ok() {
            let end = u64::from_le_bytes(answer[8..].try_into().unwrap());
            let end = SystemTime::UNIX_EPOCH + Duration::from_millis(end);
            let is_valid = || match clock {
                Clock::Own => now() < asked + LEASE - MARGIN,
                Clock::Wall => wall() < end - MARGIN,
            };
            while is_valid() {
                // The write is made ready.
                Joint::yield_now().await;
                socket.send_to(&answer[..8], "store:2").await.unwrap();
                sleep(SECOND).await;
            }
        }
        sleep(Duration::from_millis(any(10_000))).await;
    }
}

async fn run(version: Version, clock: Clock) {
    let log = Log::default();
    Host::new("lock").run(lock);
    Host::new("store").run({
        let log = log.clone();
        move || store(log.clone(), version)
    });
    for name in ["a", "b"] {
        let host = Host::new(name);
        if clock == Clock::Wall {
            host.clock(any(30_000) as i64 - 15_000, any(200) as i32 - 100);
        }
        host.run(move || client(clock));
    }
    sleep(3 * LEASE).await;
    let log = log.borrow();
    assert!(
        log.is_sorted(),
        "a holder writes after its successor: {log:?}"
    );
}

pub(crate) async fn paused_holder<R: Runtime>(version: Version) {
    run(version, Clock::Own).await;
}

pub(crate) async fn holders_clock<R: Runtime>(version: Version) {
    run(version, Clock::Wall).await;
}
