//! A small executor, on two threads. It is in `queue.rs`.

use std::{
    sync::{Arc, Condvar, Mutex},
    thread,
};

use queue::{Queue, spawn};

mod queue;

pub(crate) fn main() {
    let queue = Queue::new();
    let workers = [queue.clone(), queue.clone()].map(|queue| thread::spawn(move || queue.work()));
    let first = spawn(&queue, async { 40 });
    let second = spawn(&queue, async { first.await + 2 });
    assert_eq!(joint::block_on(second), 42);
    queue.shut_down();
    for worker in workers {
        worker.join().unwrap();
    }
}
