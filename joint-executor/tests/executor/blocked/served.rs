//! Timers and descriptors of blocking waits are served, also if the future, or local tasks, always
//! have something to do, so that the thread never sleeps.

use crate::prelude::*;

/// Waits, but is polled again at once each time.
async fn busily(future: impl Future<Output = ()>) {
    let mut future = pin!(future);
    poll_fn(|cx| {
        let polled = Pin::as_mut(&mut future).poll(cx);
        cx.waker().wake_by_ref();
        polled
    })
    .await;
}

/// Beside another local task that yields for as long as this one waits.
fn beside_one_that_yields(waits: impl Future<Output = ()> + 'static) {
    let local = LocalExecutor::new();
    let over = Rc::new(Cell::new(false));
    let is_over = over.clone();
    let yields = local.spawn(async move {
        while !is_over.get() {
            yield_now().await;
        }
    });
    let waits = local.spawn(async move {
        waits.await;
        over.set(true);
    });
    local.block_on(async {
        waits.await;
        yields.await;
    });
}

/// Each in a task, on the only worker, and beside others that may fire what it waits for.
#[test]
fn what_a_blocking_wait_waits_for_is_served() {
    let waits: [(&str, fn()); 10] = [
        ("a timer", || LocalExecutor::new().block_on(sleep(MILLI))),
        ("a timer, in a local task", || {
            let local = LocalExecutor::new();
            local.block_on(local.spawn(sleep(MILLI)));
        }),
        ("a descriptor", || LocalExecutor::new().block_on(datagram())),
        ("a descriptor, in a local task", || {
            let local = LocalExecutor::new();
            local.block_on(local.spawn(datagram()));
        }),
        ("a timer, never asleep", || block_on(busily(sleep(MILLI)))),
        ("a descriptor, never asleep", || {
            block_on(busily(datagram()))
        }),
        ("a flag, without a poll of the timer that sets it", || {
            let (wakes, waker) = counting();
            let mut timer = pin!(sleep(MILLI));
            assert!(poll_with(&mut timer, &waker).is_pending());
            block_on(async {
                while wakes.count() == 0 {
                    yield_now().await;
                }
            });
        }),
        ("a timer, in a local task that is never asleep", || {
            beside_one_that_yields(sleep(MILLI));
        }),
        ("a descriptor, in a local task that is never asleep", || {
            beside_one_that_yields(datagram());
        }),
        ("a timer, in a local executor that has no task", || {
            LocalExecutor::new().block_on(busily(sleep(MILLI)));
        }),
    ];
    for (name, wait) in waits {
        println!("{name}");
        on_workers(wait);
    }
}

/// Calls a function in a task, often enough for each of the workers to be the one that fires.
fn on_workers(test: fn()) {
    for workers in [1, 2, 4] {
        ends(move || {
            let executor = executor(workers);
            for _ in 0..20 {
                block_on(executor.spawn(async move { test() }));
            }
        });
    }
}

/// The end of the executor reaches a wait that never sleeps.
#[test]
fn a_future_that_wakes_itself_waits_for_what_a_task_holds() {
    ends(|| {
        for _ in 0..10 {
            let executor = executor(1);
            let (begin, begun) = mpsc::channel();
            let task = executor.spawn(async move {
                let (sender, mut receiver) = oneshot::channel::<()>();
                let _task = spawn(hold(sender));
                yield_now().await;
                begin.send(()).unwrap();
                block_on(poll_fn(|cx| {
                    cx.waker().wake_by_ref();
                    let polled = Pin::new(&mut receiver).poll(cx);
                    polled.map(|received| assert!(received.is_err()))
                }));
            });
            begun.recv().unwrap();
            drop(executor);
            assert!(task.is_finished());
        }
    });
}
