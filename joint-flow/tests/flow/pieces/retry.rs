//! The retry loop.

use joint_flow::{
    retry::{Backoff, Policy},
    time::now,
};

use crate::prelude::*;

const MS: Duration = Duration::from_millis(1);

/// The waits of a policy, for failures in a row.
async fn waits<E: Clone>(mut policy: impl Policy<E>, error: E) -> Vec<Duration> {
    let mut all = Vec::new();
    // Enough for every policy here that gives up.
    for _ in 0..20 {
        let start = now();
        if policy.next(error.clone()).await.is_err() {
            break;
        }
        all.push(now() - start);
    }
    all
}

#[test]
fn a_backoff_grows_to_its_longest_delay_and_gives_up() {
    // Without faults, which make timers late.
    joint_sim::run(1, async {
        let backoff = Backoff::new(MS).max(10 * MS).tries(7);
        let expected = [1, 2, 4, 8, 10, 10].map(|n| n * MS);
        assert_eq!(waits(backoff, ()).await, expected);

        let constant = Backoff::new(3 * MS).factor(1).tries(4);
        assert_eq!(waits(constant, ()).await, [3 * MS; 3]);

        assert!(waits(Backoff::new(MS).tries(0), ()).await.is_empty());
        let zero = Backoff::new(Duration::ZERO).tries(3);
        assert_eq!(waits(zero, ()).await, [Duration::ZERO; 2]);
    });
}

#[test]
fn jitter_is_bounded_and_repeatable() {
    joint_sim::run(1, async {
        let backoff = |seed| Backoff::new(MS).max(64 * MS).tries(12).jitter(seed);
        for seed in 0..20 {
            let jittered = waits(backoff(seed), ()).await;
            let full = waits(Backoff::new(MS).max(64 * MS).tries(12), ()).await;
            for (jittered, full) in jittered.iter().zip(full) {
                assert!(*jittered >= full / 2 && *jittered <= full);
            }
            assert_eq!(jittered, waits(backoff(seed), ()).await);
            assert_ne!(jittered, waits(backoff(seed + 1), ()).await);
        }
    });
}
