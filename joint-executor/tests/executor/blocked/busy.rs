//! Blocking waits whose future, or local tasks, always have something to do, so that the thread
//! never sleeps. Timers and descriptors are served all the same.

use super::{read, socket};
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

async fn datagram() {
    let (socket, sender) = socket();
    read(socket, sender).await;
}

/// Each in a task, on the only worker.
#[test]
fn a_wait_that_never_sleeps_is_served() {
    let waits: [(&str, fn()); 6] = [
        ("a timer", || block_on(busily(sleep(MILLI)))),
        ("a descriptor", || block_on(busily(datagram()))),
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
        ("a timer, in a local task", || {
            beside_one_that_yields(sleep(MILLI))
        }),
        ("a descriptor, in a local task", || {
            beside_one_that_yields(datagram())
        }),
        ("a timer, in a local executor that has no task", || {
            LocalExecutor::new().block_on(busily(sleep(MILLI)));
        }),
    ];
    for (name, wait) in waits {
        println!("{name}");
        ends(move || {
            let executor = executor(1);
            for _ in 0..10 {
                block_on(executor.spawn(async move { wait() }));
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
            let (begin, begun) = std::sync::mpsc::channel();
            let task = executor.spawn(async move {
                let (sender, mut receiver) = joint::oneshot::channel::<()>();
                let _task = joint_executor::spawn(hold(sender));
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
