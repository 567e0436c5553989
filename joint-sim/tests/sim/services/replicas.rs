//! Values that several hosts have.

use std::time::SystemTime;

use joint_executor::time::wall;

use super::*;
use crate::prelude::Version::{self, Planted, Repaired};

/// Two bytes: when a value was written, and the value. Nothing has been written at 0.
type Written = [u8; 2];

/// A register that keeps what is newer.
async fn register(is_newer: fn(Written, Written) -> bool) -> io::Result<()> {
    let mut value = [0; 2];
    serve("0.0.0.0:1", async |written: Written| {
        if written != [0; 2] && is_newer(written, value) {
            value = written;
        }
        Ok(value.into())
    })
    .await
}

/// Asks three replicas until so many have answered. Returns the newest answer.
async fn ask_some(request: Written, need: usize) -> Written {
    let (mut tasks, mut answers) = (JoinSet::new(), Vec::new());
    for replica in ["a:1", "b:1", "c:1"] {
        tasks.spawn(async move { ask(replica, &request).await });
    }
    while answers.len() < need {
        let answer = tasks.join_next().await.unwrap().unwrap();
        answers.push([answer[0], answer[1]]);
    }
    answers.into_iter().max().unwrap()
}

pub(super) fn quorums_apart(version: Version) -> Service {
    let writes = if version == Planted { 1 } else { 2 };
    let names = ["a", "b", "c"].into_iter();
    let service = names.fold(service(), |service, name| {
        service.host(name, || register(|one, other| one > other))
    });
    service.client(async move {
        for number in 1..5 {
            ask_some([number, number], writes).await;
            let read = ask_some([0; 2], 2).await;
            assert_eq!(
                read[1], number,
                "the value that was read is not the last one"
            );
        }
    })
}

/// Two clients write to two replicas, both at the time 1.
pub(super) fn tie(version: Version) -> Service {
    let register = move || match version {
        Planted => register(|one, other| one[0] > other[0]),
        Repaired => register(|one, other| one > other),
    };
    let write = |value| async move {
        ask("a:1", &[1, value]).await;
        ask("b:1", &[1, value]).await;
    };
    let service = service().host("a", register).host("b", register);
    service.client(write(1)).client(write(2)).invariant(async {
        let [a, b] = [ask("a:1", &[0; 2]).await, ask("b:1", &[0; 2]).await];
        assert_eq!(a[1], b[1], "the replicas have different values");
    })
}

/// The seconds of the wall clock, from two minutes before the start of the run on.
fn seconds() -> u8 {
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(946_684_800 - 120);
    let since = wall().duration_since(start).unwrap();
    since.as_secs().min(254) as u8
}

/// Two clients, of which one writes what it has read of the other.
pub(super) fn last_writer_by_clock(version: Version) -> Service {
    let write = move |value: u8| async move {
        loop {
            let [time, read, ..] = ask("a:1", &[0; 2]).await;
            if read == value - 1 {
                let after = if version == Planted { 0 } else { time + 1 };
                ask("a:1", &[seconds().max(after), value]).await;
                break;
            }
            sleep(SECOND).await;
        }
    };
    let service = service().host("a", || register(|one, other| one > other));
    service.client(write(1)).client(write(2)).invariant(async {
        assert_eq!(ask("a:1", &[0; 2]).await[1], 2, "the second write is lost");
    })
}
