//! A worker that blocks itself until a task has ended which only it could run: a deadlock, which a
//! panic ends. A wait that something else ends goes on, however long that takes.

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
