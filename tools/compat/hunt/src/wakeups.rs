//! Programs for what only one crate has: mea's condition variable and its semaphore with keys, and
//! maitake-sync's queue.

use crate::world::{List, Room, below, join, maybe, programs, rest, settle, spawn_frail};
use joint_executor::spawn;
use maitake_sync::WaitQueue;
use mea::{admission::FairShare, condvar::Condvar, mutex::Mutex};
use std::sync::Arc;

programs![mea_condvar, mea_fair_share, maitake_sync_wait_queue];

/// A queue on a condition variable: each notification reaches somebody who waits.
async fn mea_condvar() {
    let queue = Arc::new((Mutex::new(0), Condvar::new()));
    let count = 2 + below(3);
    let taken = List::new();
    let mut tasks = Vec::new();
    for number in 0..count {
        let (queue, taken) = (queue.clone(), taken.clone());
        tasks.push(spawn(async move {
            loop {
                rest().await;
                let takes = async {
                    let guard = queue.0.lock().await;
                    let mut guard = queue.1.wait_while(guard, |left| *left == 0).await;
                    *guard -= 1;
                };
                if maybe(takes).await.is_some() {
                    return taken.push(number);
                }
            }
        }));
    }
    for _ in 0..count {
        rest().await;
        *queue.0.lock().await += 1;
        queue.1.notify_one();
    }
    settle().await;
    assert_eq!(taken.get().len(), count as usize, "a notification is lost");
    join(tasks).await;
}

/// As a semaphore, with keys.
async fn mea_fair_share() {
    let permits = 1 + below(3) as usize;
    let share = Arc::new(FairShare::new(permits));
    let room = Room::default();
    let mut tasks = Vec::new();
    for _ in 0..2 + below(4) {
        let (share, room) = (share.clone(), room.clone());
        tasks.push(spawn_frail(async move {
            for _ in 0..1 + below(3) {
                rest().await;
                let key = below(3);
                maybe(async {
                    let guard = share.acquire(key).await;
                    let inside = room.enter(1, permits);
                    rest().await;
                    drop((inside, guard));
                })
                .await;
            }
        }));
    }
    join(tasks).await;
    assert_eq!(share.available_permits(), permits);
    assert_eq!(share.num_waiters(), 0);
}

/// A wake-up for each that waits; a cancelled one passes its own on.
async fn maitake_sync_wait_queue() {
    let queue = Arc::new(WaitQueue::new());
    let count = 2 + below(3);
    let mut tasks = Vec::new();
    for _ in 0..count {
        let queue = queue.clone();
        tasks.push(spawn(async move {
            rest().await;
            loop {
                match maybe(queue.wait()).await {
                    Some(woken) => return woken.expect("it is open"),
                    None => rest().await,
                }
            }
        }));
    }
    // A wake-up is kept if nobody waits, but only one: wake when all that are left wait.
    for _ in 0..count {
        settle().await;
        queue.wake();
    }
    settle().await;
    join(tasks).await;
}
