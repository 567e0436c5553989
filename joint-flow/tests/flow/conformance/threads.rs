//! Futures and streams across threads of the system. Flow has types of their own for that.

use std::thread;

use joint::{block_on, oneshot};
use joint_flow::{
    Closed, promise, spawn,
    stream::{self, StreamExt},
};

const THREADS: usize = 5;
const ITEMS: usize = if cfg!(miri) { 20 } else { 20_000 };

/// Each thread's items arrive in its order, and none is lost.
#[test]
fn thread_safe_queue() {
    let (sender, mut receiver) = stream::channel::<_, Closed>();
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let sender = sender.clone();
            thread::spawn(move || (0..ITEMS).for_each(|n| sender.send((thread, n)).unwrap()))
        })
        .collect();
    let mut next = [0; THREADS];
    block_on(async {
        for _ in 0..THREADS * ITEMS {
            let (thread, n) = receiver.next().await.unwrap().unwrap();
            assert_eq!(n, next[thread]);
            next[thread] += 1;
        }
    });
    assert_eq!(next, [ITEMS; THREADS]);
    assert!(receiver.is_empty());
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

/// Closures that another thread sends run in order.
#[test]
fn on_main_thread_fifo() {
    let (sender, receiver) = stream::channel::<Box<dyn FnOnce(&mut Vec<usize>) + Send>, _>();
    let outside = thread::spawn(move || {
        for n in 0..ITEMS {
            sender
                .send(Box::new(move |done| done.push(n)))
                .ok()
                .unwrap();
        }
        sender.end();
    });
    let run = receiver.fold(Vec::new(), |mut done, item: Result<_, Closed>| {
        (item.unwrap())(&mut done);
        done
    });
    assert!(block_on(run).into_iter().eq(0..ITEMS));
    outside.join().unwrap();
}

#[derive(Debug, PartialEq)]
enum Failure {
    TooOld,
    Broken,
}

impl From<Closed> for Failure {
    fn from(Closed: Closed) -> Self {
        Self::Broken
    }
}

#[test]
fn thread_return_promise_stream_error() {
    for fails in [false, true] {
        let (sender, mut receiver) = stream::channel::<u32, Failure>();
        let waits = spawn(async move {
            receiver.next().await.unwrap().is_err_and(|error| {
                error
                    == if fails {
                        Failure::TooOld
                    } else {
                        Failure::Broken
                    }
            })
        });
        let outside = thread::spawn(move || {
            if fails {
                sender.fail(Failure::TooOld).unwrap();
            }
        });
        assert!(block_on(waits).unwrap());
        outside.join().unwrap();
    }
}

/// A stream whose producer has gone gives its items, and then the end or a broken promise.
#[test]
fn thread_return_promise_stream_destroy_promise() {
    for ends in [true, false] {
        let (sender, mut receiver) = stream::channel::<_, Closed>();
        let outside = thread::spawn(move || {
            (0..10).for_each(|n| sender.send(n).unwrap());
            if ends {
                sender.end();
            }
        });
        outside.join().unwrap();
        block_on(async {
            for n in 0..10 {
                assert_eq!(receiver.next().await, Some(Ok(n)));
            }
            let last = receiver.next().await;
            assert_eq!(last, (!ends).then_some(Err(Closed)));
        });
    }
}

#[test]
fn safe_thread_future_to_future_send() {
    let (sender, future) = promise::channel();
    let waits = spawn(future);
    thread::spawn(move || sender.send("sent")).join().unwrap();
    assert_eq!(block_on(waits).unwrap(), Ok("sent"));
}

#[test]
fn safe_thread_future_to_future_cancel() {
    let (sender, future) = oneshot::channel::<u32>();
    let waits = spawn(future);
    let outside = thread::spawn(move || {
        while !sender.is_closed() {
            thread::yield_now();
        }
        sender.send(1).is_err()
    });
    waits.cancel();
    assert!(block_on(waits).unwrap_err().is_cancelled());
    assert!(outside.join().unwrap());
}
