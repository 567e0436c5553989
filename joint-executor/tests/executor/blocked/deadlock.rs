//! A worker that blocks itself until a task has ended which only it could run: a deadlock, which a
//! panic ends. A wait that something else ends goes on, however long that takes.

use joint::park::block_on_timeout;

use super::{Sender, read, socket};
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

/// In a task of an executor that has this many workers. The panic names the cures as well, and the
/// worker goes on.
#[test]
fn a_wait_for_a_task_that_only_its_worker_can_run_panics() {
    type Row = (&'static str, usize, fn(&Executor));
    let waits: [Row; 4] = [
        ("one just spawned", 1, |_| block_on(spawn(async {}))),
        ("two of them", 1, |_| {
            let (a, b) = (spawn(async {}), spawn(async {}));
            let _both = block_on(join_async(a, b));
        }),
        ("one that another thread has spawned", 1, |executor| {
            let task = thread::scope(|s| s.spawn(|| executor.spawn(async {})).join());
            block_on(task.unwrap());
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

/// It has run before, and is woken by another thread while its worker is blocked.
#[test]
fn a_wait_for_a_task_that_waits_itself_panics() {
    ends(|| {
        let executor = executor(1);
        let (sender, receiver) = oneshot::channel();
        let task = executor.spawn(receiver);
        let result = executor.spawn(async move {
            yield_now().await;
            block_on(async {
                thread::spawn(|| sender.send(()));
                let _ = task.await;
            });
        });
        assert_deadlock(result);
    });
}

/// A task that is pinned to this worker, and was spawned elsewhere.
#[test]
fn a_wait_for_a_task_that_is_pinned_to_this_worker_panics() {
    ends(|| {
        let executor = executor(2);
        let (send, receive) = mpsc::channel::<JoinHandle<()>>();
        let waits = executor.spawn_on(1, async move { block_on(receive.recv().unwrap()) });
        send.send(executor.spawn_on(1, async {})).unwrap();
        assert_deadlock(waits);
    });
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
            let (socket, Sender(send)) = socket();
            thread::spawn(move || {
                thread::sleep(LONG);
                send.send(()).unwrap();
            });
            let (quiet, _kept) = mpsc::channel();
            block_on(read(socket, Sender(quiet)));
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

/// Nobody steps the other worker until then.
#[test]
fn a_wait_for_a_task_of_another_hosted_worker_goes_on() {
    ends(|| {
        let (executor, workers) = Executor::builder().workers(2).build_hosted().unwrap();
        let mut workers = workers.into_iter();
        let (first, second) = (workers.next().unwrap(), workers.next().unwrap());
        let (begin, begun) = mpsc::channel();
        let waits = executor.spawn(async move {
            begin.send(()).unwrap();
            block_on(spawn(async { 5 }))
        });
        let other = thread::spawn(move || {
            begun.recv().unwrap();
            thread::sleep(LONG);
            second.run();
        });
        first.bind().step(1, Waker::noop());
        assert_eq!(block_on(waits), 5);
        drop(executor);
        other.join().unwrap();
    });
}

#[test]
fn a_wait_for_a_task_of_the_only_hosted_worker_panics() {
    ends(|| {
        let (executor, workers) = Executor::builder().workers(1).build_hosted().unwrap();
        let mut worker = workers.into_iter().next().unwrap().bind();
        let waits = executor.spawn(async { block_on(spawn(async {})) });
        worker.step(1, Waker::noop());
        assert_deadlock(waits);
    });
}
