//! Models of the executors in the folder `examples`, and mistakes that the models catch: how to
//! write an executor of your own, and how to know that it is right.
//!
//! The executors are those of the examples, except that their mutexes, condition variables and
//! threads are loom's. With `--cfg joint_loom` the atomics of the tasks are the model's too, so a
//! model runs the executor and all of `joint` below it in every order.

use joint::{JoinError, block_on, oneshot};
use loom::{
    sync::{Arc, Condvar, Mutex},
    thread,
};
use loom_tests::{Drops, model, model_bounded};

use queue::{Queue, spawn};

#[path = "../../../examples/executor/queue.rs"]
mod queue;
mod shutdown;

// The models. Each is the smallest use of the executor in which something could go wrong. loom
// fails a model in which a thread waits forever, and one in which a reference to the queue is left
// over: a task that leaks keeps one.

/// Runs `f` beside that many workers, and then shuts the executor down.
fn with_workers(workers: usize, f: impl FnOnce(&Arc<Queue>)) {
    let queue = Queue::new();
    let workers: Vec<_> = (0..workers)
        .map(|_| {
            let queue = queue.clone();
            thread::spawn(move || queue.work())
        })
        .collect();
    f(&queue);
    queue.shut_down();
    for worker in workers {
        worker.join().unwrap();
    }
}

#[test]
fn a_task_runs_and_its_handle_is_answered() {
    model(|| {
        with_workers(1, |queue| {
            let handle = spawn(queue, async { 42 });
            assert_eq!(block_on(handle), 42);
        });
    });
}

#[test]
fn a_task_awaits_a_task_that_another_worker_runs() {
    model_bounded(2, || {
        with_workers(2, |queue| {
            let first = spawn(queue, async { 40 });
            let second = spawn(queue, async { first.await + 2 });
            assert_eq!(block_on(second), 42);
        });
    });
}

#[test]
fn a_task_is_woken_by_another_thread() {
    model_bounded(3, || {
        with_workers(1, |queue| {
            let (sender, receiver) = oneshot::channel();
            let handle = spawn(queue, receiver);
            let other = thread::spawn(move || sender.send(42).unwrap());
            assert_eq!(block_on(handle), Ok(42));
            other.join().unwrap();
        });
    });
}

#[test]
fn two_workers_run_each_task_once() {
    model_bounded(2, || {
        with_workers(2, |queue| {
            let drops = Drops::default();
            let handles = [1, 2].map(|number| {
                let value = drops.value();
                spawn(queue, async move {
                    value.look();
                    number
                })
            });
            assert_eq!(handles.map(block_on), [1, 2]);
            drops.assert_all_of(2);
        });
    });
}

#[test]
fn a_shutdown_answers_every_handle() {
    model(|| {
        let mut handles = Vec::new();
        with_workers(1, |queue| {
            handles.extend([1, 2].map(|number| (number, spawn(queue, async move { number }))));
        });
        for (number, handle) in handles {
            match block_on(handle.result()) {
                Ok(output) => assert_eq!(output, number),
                Err(JoinError::Cancelled(_)) => {}
                Err(JoinError::Panicked(panic)) => panic.resume(),
            }
        }
    });
}

#[test]
fn a_task_that_outlives_the_executor_ends_when_it_is_woken() {
    model(|| {
        let (sender, receiver) = oneshot::channel::<u32>();
        let mut handle = None;
        with_workers(1, |queue| handle = Some(spawn(queue, receiver)));
        // The task was never run, and the shutdown has cancelled it. Or it is idle, and the push
        // that the executor refuses cancels it.
        let _ = sender.send(42);
        let result = block_on(handle.take().unwrap().result());
        assert!(matches!(result, Err(JoinError::Cancelled(_))));
    });
}
