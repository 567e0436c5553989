//! Timers that are moved: between threads, between executors, and away from one that has gone.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, mpsc},
    task::Poll,
    thread,
    time::Instant,
};

use joint::{
    block_on,
    time::{Timer, interval_at, sleep, timeout},
};

use super::{HOUR, MILLI, ends, executor, poll_on, poll_with, wakes::counting};

#[test]
fn armed_on_one_executor_it_ends_on_others() {
    ends(|| {
        let (a, b) = (executor(1), executor(1));
        let (_, waker) = counting();
        for _ in 0..20 {
            let begin = Instant::now();
            let (slept, _) = poll_on(&a, sleep(3 * MILLI), &waker);
            let (slept, _) = poll_on(&b, slept, &waker);
            block_on(b.spawn(slept));
            assert!(begin.elapsed() >= 3 * MILLI);
            let (slept, _) = poll_on(&a, sleep(MILLI), &waker);
            thread::spawn(move || block_on(slept)).join().unwrap();
        }
    });
}

#[test]
fn when_its_executor_goes_it_goes_on_elsewhere() {
    ends(|| {
        let begin = Instant::now();
        let (wakes, waker) = counting();
        let gone = executor(1);
        let (mut slept, polled) = poll_on(&gone, sleep(20 * MILLI), &waker);
        assert_eq!(polled, Poll::Pending);
        let before = wakes.count();
        drop(gone);
        // Woken to find itself another, if it was not to be woken anyway.
        assert_eq!((before + wakes.count()).min(1), 1);
        assert_eq!(wakes.wakers(), 1);
        let _ = poll_with(&mut slept, &waker);
        block_on(&mut slept);
        assert!(begin.elapsed() >= 20 * MILLI);
        assert_eq!(wakes.wakers(), 1);
    });
}

#[test]
fn dropped_after_its_executor_it_does_no_harm() {
    ends(|| {
        let (_, waker) = counting();
        let gone = executor(2);
        let sleeps: Vec<_> = (0..10)
            .map(|_| poll_on(&gone, sleep(HOUR), &waker).0)
            .collect();
        let fired = poll_on(&gone, sleep(MILLI), &waker).0;
        drop(gone);
        drop((sleeps, fired));
    });
}

/// A thread waits on a timer of an executor that is dropped meanwhile.
#[test]
fn who_waits_while_the_executor_goes_is_woken_all_the_same() {
    ends(|| {
        for round in 0..20 {
            let (begin, wait) = (Instant::now(), 5 * MILLI);
            let gone = executor(1);
            let (_, waker) = counting();
            let slept = poll_on(&gone, sleep(wait), &waker).0;
            let waiter = thread::spawn(move || block_on(slept));
            if round % 2 == 0 {
                thread::yield_now();
            }
            drop(gone);
            waiter.join().unwrap();
            assert!(begin.elapsed() >= wait);
        }
    });
}

#[test]
fn a_reset_on_another_thread_reaches_who_waits() {
    ends(|| {
        let executor = executor(1);
        for _ in 0..20 {
            let shared = Arc::new(Mutex::new(sleep(HOUR)));
            let (armed, is_armed) = mpsc::channel();
            let waiter = executor.spawn({
                let shared = shared.clone();
                poll_fn(move |cx| {
                    let polled = Pin::new(&mut *shared.lock().unwrap()).poll(cx);
                    armed.send(()).unwrap();
                    polled
                })
            });
            is_armed.recv().unwrap();
            let due = Instant::now() + MILLI;
            shared.lock().unwrap().reset(due);
            block_on(waiter);
            assert!(Instant::now() >= due);
        }
    });
}

#[test]
fn all_kinds_go_on_when_their_executor_has_gone() {
    ends(|| {
        let gone = executor(1);
        let mut timer = Timer::new(3 * MILLI);
        let start = Instant::now() + 3 * MILLI;
        let mut ticks = interval_at(start, MILLI);
        let mut late = timeout(3 * MILLI, std::future::pending::<()>());
        let polled = gone.spawn(poll_fn(move |cx| {
            let _ = Pin::new(&mut timer).poll(cx);
            let _ = ticks.poll_tick(cx);
            let _ = Pin::new(&mut late).poll(cx);
            let fresh = (
                Timer::new(HOUR),
                interval_at(start, MILLI),
                timeout(HOUR, std::future::pending()),
            );
            Poll::Ready((
                std::mem::replace(&mut timer, fresh.0),
                std::mem::replace(&mut ticks, fresh.1),
                std::mem::replace(&mut late, fresh.2),
            ))
        }));
        let (mut timer, mut ticks, late) = block_on(polled);
        drop(gone);
        block_on(async {
            if timer.is_armed() {
                (&mut timer).await;
            }
            assert_eq!(ticks.tick().await, start);
            assert_eq!(ticks.tick().await, start + MILLI);
            assert!(late.await.is_err());
        });
    });
}
