//! Locks: Flow's `FlowMutex`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use joint_flow::{lock::FlowLock, spawn, time::delay};
use joint_sim::random;

use crate::common::check;

const TASKS: usize = 10;
const ROUNDS: usize = 10;

async fn short_delay() {
    delay(Duration::from_micros(random() % 10)).await;
}

/// Ten tasks take turns, and one of them may fail.
#[test]
fn flow_mutex() {
    check(|| async {
        let fails = random() % 2 == 0;
        let lock = FlowLock::new(1);
        let inside = Arc::new(AtomicUsize::new(0));
        let tasks = [(); TASKS].map(|()| {
            let (lock, inside) = (lock.clone(), inside.clone());
            spawn(async move {
                for round in 0..ROUNDS {
                    short_delay().await;
                    let permit = lock.take(1).await?;
                    assert_eq!(inside.fetch_add(1, Relaxed), 0);
                    short_delay().await;
                    assert_eq!(inside.fetch_sub(1, Relaxed), 1);
                    if round + 1 == ROUNDS && fails {
                        lock.close();
                    }
                    drop(permit);
                }
                Ok::<_, joint_flow::Closed>(())
            })
        });
        let mut failed = 0;
        for task in tasks {
            failed += usize::from(task.await.unwrap().is_err());
        }
        // The first that ends its last round fails those that wait or come later.
        assert_eq!(failed > 0, fails);
        assert_eq!(lock.take(1).await.is_err(), fails);
        assert_eq!((lock.taken(), lock.waiters()), (0, 0));
    });
}
