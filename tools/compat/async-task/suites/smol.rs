//! A program on smol's own executor. `cargo xtask compat` runs it with this package as smol's
//! async-task.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use smol::{Executor, Timer, channel, future, lock::Barrier};

#[test]
fn thousands_of_tasks_give_their_outputs() {
    let tasks: Vec<_> = (0..5_000_u64)
        .map(|n| {
            smol::spawn(async move {
                future::yield_now().await;
                n
            })
        })
        .collect();
    let total = smol::block_on(async {
        let mut total = 0;
        for task in tasks {
            total += task.await;
        }
        total
    });
    assert_eq!(total, 5_000 * 4_999 / 2);
}

#[test]
fn timers_wake_their_tasks() {
    let wait = Duration::from_millis(20);
    let start = Instant::now();
    let sleepers: Vec<_> = (0..50)
        .map(|_| smol::spawn(async move { Timer::after(wait).await }))
        .collect();
    smol::block_on(async {
        for sleeper in sleepers {
            assert!(sleeper.await >= start + wait);
        }
    });
}

#[test]
fn a_chain_of_channels_passes_everything_on() {
    let (first, mut last) = channel::bounded(1);
    for _ in 0..20 {
        let (sender, receiver) = channel::bounded(1);
        let from = std::mem::replace(&mut last, receiver);
        smol::spawn(async move {
            while let Ok(n) = from.recv().await {
                sender.send(n + 1).await.unwrap();
            }
        })
        .detach();
    }
    smol::spawn(async move {
        for n in 0..500 {
            first.send(n).await.unwrap();
        }
    })
    .detach();
    smol::block_on(async {
        for n in 20..520 {
            assert_eq!(last.recv().await, Ok(n));
        }
        assert!(last.recv().await.is_err());
    });
}

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_cancelled_task_is_gone_when_that_has_been_awaited() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let barrier = Arc::new(Barrier::new(2));
    for n in 1..=100 {
        let (counted, here) = (Counted(dropped.clone()), barrier.clone());
        let task = smol::spawn(async move {
            let _counted = counted;
            here.wait().await;
            future::pending::<()>().await;
        });
        smol::block_on(async {
            barrier.wait().await;
            assert_eq!(task.cancel().await, None);
        });
        assert_eq!(dropped.load(SeqCst), n);
    }
}

#[test]
fn a_race_cancels_the_loser() {
    let dropped = Arc::new(AtomicUsize::new(0));
    smol::block_on(async {
        let counted = Counted(dropped.clone());
        let loser = smol::spawn(async move {
            let _counted = counted;
            future::pending::<()>().await;
            2
        });
        let winner = smol::spawn(async { 1 });
        assert_eq!(future::race(winner, loser).await, 1);
        while dropped.load(SeqCst) == 0 {
            future::yield_now().await;
        }
    });
}

#[test]
fn tasks_borrow_from_outside_of_their_executor() {
    let words = ["a", "bb", "ccc"].map(String::from);
    let executor = Executor::new();
    let total = smol::block_on(executor.run(async {
        let lengths: Vec<_> = words
            .iter()
            .map(|word| executor.spawn(async move { word.len() }))
            .collect();
        let mut total = 0;
        for length in lengths {
            total += length.await;
        }
        total
    }));
    assert_eq!(total, 6);
}
