//! Executors that are dropped by each other's tasks.

use std::sync::{Arc, Barrier, Mutex, mpsc};

use joint::block_on;
use joint_executor::Executor;

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

/// A task of one executor drops the other, whose worker, at its end, drops the first.
#[test]
fn a_worker_drops_an_executor_in_its_last_hook() {
    ends(|| {
        for _ in 0..20 {
            let second = executor(1);
            let slot = Arc::new(Mutex::new(None));
            let held = slot.clone();
            let first = Executor::builder()
                .workers(1)
                .on_thread_stop(move |_| drop(held.lock().unwrap().take()))
                .build()
                .unwrap();
            let (give, given) = mpsc::channel::<Executor>();
            let (tell, told) = mpsc::channel();
            second.spawn_detached(async move {
                drop(given.recv().unwrap());
                tell.send(()).unwrap();
            });
            *slot.lock().unwrap() = Some(second);
            give.send(first).unwrap();
            told.recv().unwrap();
        }
    });
}

/// The same, where the worker's thread does so at the very end.
#[cfg(not(windows))]
#[test]
fn a_worker_drops_an_executor_in_a_destructor_of_its_thread() {
    thread_local! {
        static HELD: Mutex<Option<Executor>> = const { Mutex::new(None) };
    }
    ends(|| {
        for _ in 0..20 {
            let (first, second) = (executor(1), executor(1));
            let (give, given) = mpsc::channel::<Executor>();
            let (tell, told) = mpsc::channel();
            second.spawn_detached(async move {
                drop(given.recv().unwrap());
                tell.send(()).unwrap();
            });
            let keeps = first.spawn(async move {
                HELD.with(|held| *held.lock().unwrap() = Some(second));
            });
            block_on(keeps);
            give.send(first).unwrap();
            told.recv().unwrap();
        }
    });
}
