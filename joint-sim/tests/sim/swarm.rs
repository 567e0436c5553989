//! Each run of a check has a part of the faults, and a scale of delays of its own.

use joint::oneshot;
use joint_executor::{spawn_detached, time::timeout, yield_now};
use joint_sim::{Builder, Check};

use crate::{SECOND, says};

/// Requests and answers. A session begins anew after a timeout, and breaks in its 800th round.
async fn rounds() {
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
