//! Each run of a check has a part of the faults, and a scale of delays of its own.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use joint::oneshot;
use joint_executor::{
    spawn, spawn_detached,
    time::{now, sleep, timeout},
    yield_now,
};
use joint_sim::{Builder, Check, Faults};

use crate::{SECOND, join, says};

/// Requests and answers. A session begins anew after a timeout, and breaks in its 800th round.
pub(crate) async fn rounds() {
    let mut in_session = 0;
    for _ in 0..800 {
        let (sender, answer) = oneshot::channel();
        spawn_detached(async move {
            yield_now().await;
            let _ = sender.send(());
        });
        match timeout(SECOND / 20, answer).await {
            Ok(answer) => {
                answer.unwrap();
                in_session += 1;
            }
            Err(_) => in_session = 0,
        }
        assert!(in_session < 800, "the session has no more numbers");
    }
}

#[test]
fn the_ordinary_path_of_a_long_program_is_run_too() {
    for seed in 0..100 {
        assert!(Builder::new(seed).run(rounds()).is_err());
    }
    assert!(Check::new().swarm(false).find(rounds).is_ok());
    let found = Check::new().find(rounds).unwrap_err();
    says(&found, "no more numbers");
    let again = Check::new().replay(found.replay()).find(rounds);
    assert_eq!(again.unwrap_err().failure().seed(), found.failure().seed());
}

/// A lease of ten seconds, which its owner checks before it writes, with seconds to spare. Nothing
/// checks it where the write arrives.
async fn leases() {
    let lease = Arc::new(Mutex::new((0, now())));
    let client = |own: u32| {
        let lease = lease.clone();
        spawn(async move {
            for _ in 0..20 {
                let until = {
                    let mut lease = lease.lock().unwrap();
                    if lease.1 <= now() {
                        *lease = (own, now() + 10 * SECOND);
                    }
                    if lease.0 == own { lease.1 } else { now() }
                };
                if now() + 5 * SECOND < until {
                    // The write is on its way.
                    yield_now().await;
                    let owner = lease.lock().unwrap().0;
                    assert_eq!(owner, own, "the lease has another owner");
                }
                sleep(3 * SECOND).await;
            }
        })
    };
    join([client(1), client(2)]).await;
}

#[test]
fn a_lease_that_is_checked_before_a_long_pause_is_found() {
    let short = Faults::all().longest_delay(Duration::from_millis(134));
    assert!(Check::new().faults(short).find(leases).is_ok());
    let found = Check::new().find(leases).unwrap_err();
    says(&found, "another owner");
}
