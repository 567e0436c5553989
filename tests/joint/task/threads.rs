//! Real threads against each other. What must hold in every order is left to the models; this
//! counts.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Barrier, Mutex, mpsc},
    task::{Context, Poll, Waker},
    thread,
};

use joint::{
    JoinError, block_on,
    task::{self, Runnable},
};

use crate::support::{Count, Dropped, Queue, Wakes, each_row, pending_once, poll_with};

const ROUNDS: usize = if cfg!(miri) { 10 } else { 2_000 };

fn runner(inbox: mpsc::Receiver<Runnable>) -> impl FnOnce() {
    move || {
        for runnable in inbox {
            runnable.run();
        }
    }
}

#[test]
fn every_task_is_run_and_joined() {
    let queue = Queue::new();
    let (outbox, inbox) = mpsc::channel();
    let runner = thread::spawn(runner(inbox));
    for round in 0..ROUNDS {
        let (runnable, handle) = queue.spawn(async move { round });
        outbox.send(runnable).unwrap();
        assert_eq!(block_on(handle), round);
    }
    drop(outbox);
    runner.join().unwrap();
    assert_eq!(queue.tasks(), 0);
}

#[test]
fn every_wake_from_another_thread_leads_to_a_run() {
    let (outbox, inbox) = mpsc::channel();
    let (wakers, to_wake) = mpsc::channel::<Waker>();
    let runner = thread::spawn(runner(inbox));
    let waking = thread::spawn(move || to_wake.into_iter().for_each(Waker::wake));
    for _ in 0..ROUNDS {
        let (outbox, wakers) = (outbox.clone(), wakers.clone());
        let mut polls = 0;
        let future = poll_fn(move |cx: &mut Context<'_>| {
            polls += 1;
            if polls == 4 {
                return Poll::Ready(polls);
            }
            wakers.send(cx.waker().clone()).unwrap();
            Poll::Pending
        });
        let (runnable, handle) =
            task::spawn(future, move |runnable| outbox.send(runnable).unwrap());
        runnable.schedule();
        assert_eq!(block_on(handle), 4);
    }
    drop((outbox, wakers));
    waking.join().unwrap();
    runner.join().unwrap();
}

/// An act of the threads of [`race`] on a task.
#[derive(Clone, Copy)]
enum Ends {
    Joins,
    Drops,
    Detaches,
    Aborts,
}

/// One task in each round: run, woken, and given up at once by three threads.
fn race(ends: Ends) {
    let queue = Queue::new();
    let (futures, outputs) = (Count::new(), Count::new());
    let start = Barrier::new(3);
    let place = Mutex::new(None);
    let mut joined = 0;
    thread::scope(|s| {
        let (send_run, to_run) = mpsc::channel::<Runnable>();
        let (send_wake, to_wake) = mpsc::channel::<Waker>();
        let (start, place, queue) = (&start, &place, &queue);
        s.spawn(move || {
            for runnable in to_run {
                start.wait();
                runnable.run();
                queue.run();
                start.wait();
            }
        });
        s.spawn(move || {
            for waker in to_wake {
                start.wait();
                waker.wake();
                start.wait();
            }
        });
        for _ in 0..ROUNDS {
            let (future, output) = (Dropped(futures.clone()), Dropped(outputs.clone()));
            let (runnable, handle) = queue.spawn(async move {
                let _future = future;
                pending_once().await;
                output
            });
            *place.lock().unwrap() = Some(runnable.waker());
            send_wake.send(runnable.waker()).unwrap();
            send_run.send(runnable).unwrap();
            let wakes = Wakes::new();
            let mut result = None;
            start.wait();
            match ends {
                Ends::Joins => {
                    let mut handle = handle.result();
                    if poll_with(&mut handle, &wakes.waker()).is_pending() {
                        result = Some(handle);
                    } else {
                        joined += 1;
                    }
                }
                Ends::Drops => drop(handle),
                Ends::Detaches => handle.detach(),
                Ends::Aborts => {
                    handle.abort();
                    result = Some(handle.result());
                }
            }
            start.wait();
            // A wake-up that came before the first poll was consumed by it.
            place.lock().unwrap().take().unwrap().wake();
            queue.run();
            if let Some(mut result) = result {
                match Pin::new(&mut result).poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(Ok(_)) => joined += 1,
                    Poll::Ready(Err(JoinError::Cancelled)) => {}
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(wakes.wakers(), 0);
            assert_eq!(queue.tasks(), 0);
        }
    });
    assert_eq!((futures.get(), outputs.get()), (ROUNDS, ROUNDS));
    if let Ends::Joins = ends {
        assert_eq!(joined, ROUNDS);
    }
}

#[test]
fn joined_dropped_detached_or_aborted_while_run_and_woken() {
    let rows = [
        ("joined", Ends::Joins),
        ("dropped", Ends::Drops),
        ("detached", Ends::Detaches),
        ("aborted", Ends::Aborts),
    ];
    each_row(rows, race);
}
