//! Forks without exec, from a thread outside and from inside of a task, while the executor's
//! workers are busy.
//!
//! No thread starts or ends at the fork: std has a lock of its own for that, which would stay
//! locked in the child.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};

use futures_lite::{AsyncReadExt, AsyncWriteExt};
use joint::{JoinHandle, block_on};
use joint_executor::{Executor, spawn, time::sleep, yield_now};

use crate::{
    blocked::another,
    child::in_child,
    count,
    kinds::{Choice, fibonacci},
    outside::{ends, micros},
};

/// Bytes through a pipe, and a timer.
async fn talk(n: u64) -> u64 {
    let timer = spawn(async move {
        sleep(micros(n)).await;
        n
    });
    let (mut reader, mut writer) = ends().await.unwrap();
    let mut buffer = [0; 8];
    writer.write_all(&[1; 8]).await.unwrap();
    reader.read_exact(&mut buffer).await.unwrap();
    assert_eq!(buffer, [1; 8]);
    timer.await
}

/// The lives of two executors.
fn in_a_child(n: u64, m: u64) {
    let executor = Executor::builder().workers(2).build().unwrap();
    assert_eq!(block_on(executor.spawn(talk(m))), m);
    assert_eq!(executor.install(|| fibonacci(12)), 144);
    another(n, m, Vec::new());
    let never = executor.spawn(pending::<()>());
    drop(executor);
    assert!(block_on(never.result()).is_err());
}

/// Forks twice beside the tasks of an executor, once all threads of those before have ended, of
/// which there are so many.
pub(crate) fn fork(choice: &mut Choice, threads: usize) {
    while count("task") != threads {
        thread::yield_now();
    }
    let workers = 1 + choice.below(4) as usize;
    let executor = Executor::builder().workers(workers).build().unwrap();
    let over = Arc::<AtomicBool>::default();
    // Each worker has begun when its task has.
    for worker in 0..workers {
        block_on(executor.spawn_on(worker, yield_now()));
    }
    let until_over = |kind: usize| -> JoinHandle<u64> {
        let over = over.clone();
        executor.spawn(async move {
            let mut rounds = 0;
            while !over.load(Relaxed) {
                rounds += 1;
                yield_now().await;
                match kind {
                    0 => {}
                    1 => sleep(micros(50)).await,
                    2 => block_on(sleep(micros(50))),
                    _ => assert_eq!(talk(20).await, 20),
                }
            }
            rounds
        })
    };
    let tasks: Vec<_> = (0..8).map(|i| until_over(i % 4)).collect();
    let (n, m) = (choice.below(20), choice.below(300));
    in_child(|| in_a_child(n, m));
    let inside = executor.spawn(async move { in_child(|| in_a_child(n, m)) });
    block_on(inside);
    // The parent takes no notice.
    over.store(true, Relaxed);
    for task in tasks {
        block_on(task);
    }
    assert_eq!(block_on(executor.spawn(talk(m))), m);
    assert_eq!(executor.metrics().live(), 0);
}
