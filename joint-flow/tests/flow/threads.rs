//! Streams and combinators on threads of the system: children are woken from other threads while
//! the combinator is polled, and wakers outlive their combinators.

use std::{sync::mpsc, thread};

use joint::{block_on, oneshot};
use joint_flow::{
    Closed, all, any, quorum, race,
    stream::{self, StreamExt},
};

const ROUNDS: usize = if cfg!(miri) { 10 } else { 2_000 };

type Sender = oneshot::Sender<usize>;

/// Has `threads` threads that send the number of each sender that they get, in the order in which
/// they get them.
fn with_senders(threads: usize, run: impl FnOnce(&dyn Fn(usize, Sender))) {
    thread::scope(|scope| {
        let queues: Vec<_> = (0..threads)
            .map(|_| {
                let (queue, senders) = mpsc::channel::<(usize, Sender)>();
                scope.spawn(move || {
                    for (number, sender) in senders {
                        // The receivers of losers have been dropped.
                        let _ = sender.send(number);
                    }
                });
                queue
            })
            .collect();
        run(&move |number, sender| queues[number % threads].send((number, sender)).unwrap());
    });
}

/// Makes so many channels, and has all of them sent to by the threads.
fn sent(count: usize, send: &dyn Fn(usize, Sender)) -> Vec<oneshot::Receiver<usize>> {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| oneshot::channel()).unzip();
    senders
        .into_iter()
        .enumerate()
        .for_each(|(number, sender)| send(number, sender));
    receivers
}

#[test]
fn all_of_many_sizes_while_threads_send() {
    with_senders(3, |send| {
        block_on(async {
            for round in 0..ROUNDS {
                let count = [1, 3, 8, 65, 200][round % 5];
                let values = all(sent(count, send)).await;
                assert!(values.into_iter().map(Result::unwrap).eq(0..count));
            }
        });
    });
}

#[test]
fn races_and_quorums_while_threads_send() {
    with_senders(3, |send| {
        block_on(async {
            for round in 0..ROUNDS {
                let (place, value) = race(sent(3, send)).await;
                assert_eq!(value, Ok(place));
                let n = round % 6;
                let values = quorum(n, sent(5, send)).await.unwrap();
                assert_eq!(values.iter().flatten().count(), n);
                let (result, losers) = quorum(1, sent(3, send)).keep_losers().await;
                assert_eq!(result.unwrap().iter().flatten().count(), 1);
                let others = losers.await;
                assert_eq!(others.len(), 2);
                assert!(others.into_iter().all(|(place, value)| value == Ok(place)));
                let (place, value) = any(sent(2, send)).await.unwrap();
                assert_eq!(value, place);
            }
        });
    });
}

#[test]
fn the_items_of_each_thread_arrive_in_its_order() {
    const THREADS: usize = 5;
    const ITEMS: usize = if cfg!(miri) { 20 } else { 20_000 };
    let (sender, mut receiver) = stream::channel::<_, Closed>();
    let threads = [0, 1, 2, 3, 4].map(|thread| {
        let sender = sender.clone();
        thread::spawn(move || (0..ITEMS).for_each(|n| sender.send((thread, n)).unwrap()))
    });
    let mut next = [0; THREADS];
    block_on(async {
        for _ in 0..THREADS * ITEMS {
            let (thread, n) = receiver.next().await.unwrap().unwrap();
            assert_eq!(n, next[thread]);
            next[thread] += 1;
        }
    });
    assert!(receiver.is_empty());
    for thread in threads {
        thread.join().unwrap();
    }
}
