//! Executors that are dropped by each other's tasks.

use std::sync::{Arc, Barrier, mpsc};

use joint::{Executor, block_on};

use super::{ends, executor};

/// Each of so many executors is dropped by a task of the one before, all at once.
fn in_a_circle(executors: usize, workers: usize) {
    ends(move || {
        for _ in 0..20 {
            let barrier = Arc::new(Barrier::new(executors));
            let all: Vec<_> = (0..executors).map(|_| executor(workers)).collect();
            let (give, given): (Vec<_>, Vec<_>) =
                (0..executors).map(|_| mpsc::channel::<Executor>()).unzip();
            let (tell, told) = mpsc::channel();
            for (executor, given) in all.iter().zip(given) {
                let (barrier, tell) = (barrier.clone(), tell.clone());
                executor.spawn_detached(async move {
                    let other = given.recv().unwrap();
                    barrier.wait();
                    drop(other);
                    tell.send(()).unwrap();
                });
            }
            for (place, executor) in all.into_iter().enumerate() {
                give[(place + 1) % executors].send(executor).unwrap();
            }
            for _ in 0..executors {
                told.recv().unwrap();
            }
        }
    });
}

#[test]
fn two_executors_drop_each_other() {
    in_a_circle(2, 1);
    in_a_circle(2, 2);
}

#[test]
fn three_executors_drop_each_other() {
    in_a_circle(3, 1);
    in_a_circle(3, 2);
}

/// One drops the other, whose own task drops it in turn, inside of what the first is waiting for.
#[test]
fn the_second_drop_does_not_wait_for_the_first() {
    ends(|| {
        let (first, second) = (executor(2), executor(2));
        let (give, given) = mpsc::channel::<Executor>();
        let (begin, begun) = mpsc::channel();
        // A poll of the first that lasts until the second has begun to go.
        let task = second.spawn(async move {
            begin.send(()).unwrap();
            drop(given.recv().unwrap());
        });
        begun.recv().unwrap();
        let drops = first.spawn(async move { drop(second) });
        drops.detach();
        give.send(first).unwrap();
        block_on(task);
    });
}
