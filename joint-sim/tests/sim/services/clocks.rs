//! Clocks of several hosts.

use std::time::SystemTime;

use joint_executor::time::wall;

use super::{
    leaders::{LEASE, store, with_store},
    *,
};
use crate::prelude::Version::{self, Repaired};

/// How far the clocks of two hosts may be apart: the margin of the repair.
const APART: Duration = Duration::from_secs(150);

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_millis() as u64
}

/// A host gives tokens for a minute, and another one checks whether they are valid.
pub(super) fn token_of_another_clock(version: Version) -> Service {
    let issuer = || async {
        serve("0.0.0.0:1", async |_: [u8; 1]| {
            Ok(millis(wall() + 60 * SECOND).to_le_bytes().into())
        })
        .await
    };
    let margin = if version == Repaired {
        APART
    } else {
        Duration::ZERO
    };
    let checker = move || async move {
        serve("0.0.0.0:1", async |end: [u8; 8]| {
            let is_valid = millis(wall()) < u64::from_le_bytes(end) + margin.as_millis() as u64;
            Ok(vec![is_valid.into()])
        })
        .await
    };
    let service = service().host("issuer", issuer).host("checker", checker);
    service.client(async {
        let asked = now();
        let token = ask("issuer:1", &[0]).await;
        let [is_valid, ..] = ask("checker:1", &token).await;
        let is_new = now() - asked < 30 * SECOND;
        assert!(is_valid == 1 || !is_new, "a new token is refused");
    })
}

/// A client writes while its lease is valid, by the wall clock. The store should look.
async fn holder() -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0").await?;
    for _ in 0..2 {
        let lease = ask("lock:1", &[0]).await;
        let [number, ..] = lease;
        let mut end = [0; 8];
        end[..7].copy_from_slice(&lease[1..]);
        while millis(wall()) + 5_000 < u64::from_le_bytes(end) {
            socket.send_to(&[number], "store:1").await?;
            sleep(SECOND).await;
        }
        sleep(LEASE / 4).await;
    }
    Ok(())
}

pub(super) fn holders_clock(version: Version) -> Service {
    with_store(store, version, [holder(), holder()])
}
