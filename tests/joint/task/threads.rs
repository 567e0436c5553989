//! Real threads against each other. What must hold in every order is left to the models; this
//! counts.

use crate::{
    prelude::*,
    support::{Wakes, each_row, poll_with},
};

const ROUNDS: usize = if cfg!(miri) { 10 } else { 2_000 };

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
                    Poll::Ready(Err(JoinError::Cancelled(_))) => {}
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
