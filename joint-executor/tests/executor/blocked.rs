//! Polls that block their worker in a wait of this crate. Whatever they wait for arrives, although
//! the worker runs no task meanwhile: timers and descriptors are served, also if the future, or
//! local tasks, always have something to do, so that the thread never sleeps. Only a wait until a
//! task has ended which only that worker could run is a deadlock, which a panic ends.
#![cfg(feature = "io")]

use crate::prelude::*;

/// A time after which a deadlock would have been found.
const LONG: Duration = Duration::from_millis(1_500);

/// The panic names the cause.
#[track_caller]
fn assert_deadlock(task: JoinHandle<()>) -> String {
    let result = block_on(task.result());
    let message = result.expect_err("it waits in vain").to_string();
    assert_contains(&message, "only this worker can run");
    message
}

/// The panic names the cures as well, and the worker goes on.
#[test]
fn a_wait_for_a_task_that_only_its_worker_can_run_panics() {
    type Row = (&'static str, usize, fn(&Executor));
    let waits: [Row; 5] = [
        ("one just spawned", 1, |_| block_on(spawn(async {}))),
        ("two of them", 1, |_| {
            let (a, b) = (spawn(async {}), spawn(async {}));
            let _both = block_on(join_async(a, b));
        }),
        ("one that another thread has spawned", 1, |executor| {
            let task = thread::scope(|s| s.spawn(|| executor.spawn(async {})).join());
            block_on(task.unwrap());
        }),
        ("a pinned one, beside another worker", 2, |executor| {
            let own = current_worker().unwrap();
            block_on(executor.spawn_on(own, async {}));
        }),
        ("a local one, beside another worker", 2, |_| {
            block_on(spawn_local(async {}));
        }),
    ];
    for (name, workers, wait) in waits {
        println!("{name}");
        ends(move || {
            let executor = Arc::new(executor(workers));
            let own = executor.clone();
            let message = assert_deadlock(executor.spawn(async move { wait(&own) }));
            for cure in ["await", "more workers", "spawn_blocking"] {
                assert_contains(&message, cure);
            }
            assert_eq!(block_on(executor.spawn(async { 5 })), 5);
        });
    }
}

/// In a task of an executor that has this many workers. All at once, because each takes long.
#[test]
fn a_wait_that_something_else_ends_goes_on() {
    type Row = (&'static str, usize, fn());
    let waits: [Row; 8] = [
        ("a thread", 1, || {
            let (sender, receiver) = oneshot::channel();
            thread::spawn(|| {
                thread::sleep(LONG);
                sender.send(5)
            });
            let other = spawn(async {});
            assert_eq!(block_on(receiver), Ok(5));
            drop(other);
        }),
        ("a timer", 1, || block_on(sleep(LONG))),
        ("a descriptor", 1, || {
            let (socket, send) = socket();
            block_on(receive(socket, || {
                thread::sleep(LONG);
                send();
            }));
        }),
        ("a task of another executor", 1, || {
            block_on(executor(1).spawn(sleep(LONG)));
        }),
        ("a blocking function", 1, || {
            block_on(spawn_blocking(|| thread::sleep(LONG)));
        }),
        ("a task that cannot run, or a timer", 1, || {
            let (mut task, mut timer) = (spawn(async {}), pin!(sleep(LONG)));
            block_on(poll_fn(|cx| match Pin::new(&mut task).poll(cx) {
                Poll::Ready(()) => unreachable!("its worker is blocked"),
                Poll::Pending => timer.as_mut().poll(cx),
            }));
        }),
        ("a task that cannot run, with a limit", 1, || {
            assert!(block_on_timeout(spawn(async {}), LONG).is_none());
        }),
        ("a task for which another worker has time later", 2, || {
            let (begin, begun) = mpsc::channel();
            let busy = spawn(async move {
                begin.send(()).unwrap();
                thread::sleep(LONG);
            });
            begun.recv().unwrap();
            block_on(spawn(async {}));
            block_on(busy);
        }),
    ];
    let threads = waits.map(|(name, workers, wait)| {
        let waits = move || block_on(executor(workers).spawn(async move { wait() }));
        (name, thread::spawn(move || ends(waits)))
    });
    for (name, thread) in threads {
        assert!(thread.join().is_ok(), "a wait for {name}");
    }
}

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
