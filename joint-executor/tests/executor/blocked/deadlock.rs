//! A worker that blocks itself until a task has ended which only it could run: a deadlock, which a
//! panic ends. A wait that something else ends goes on, however long that takes.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::mpsc,
    task::{Poll, Waker},
    thread,
    time::Duration,
};

use joint::{block_on, oneshot, park::block_on_timeout};
use joint_executor::{
    Executor, JoinHandle, join_async, spawn, spawn_blocking, spawn_local, time::sleep, yield_now,
};

use super::{Sender, ends, executor, read, socket};

/// A time after which a deadlock would have been found.
const LONG: Duration = Duration::from_millis(1_500);

/// Runs this in a task. It panics, and the message names the cause and the cures. The worker goes
/// on.
#[track_caller]
fn panics(workers: usize, waits: impl FnOnce(&Executor) + Send + 'static) {
    ends(move || {
        let executor = std::sync::Arc::new(executor(workers));
        let own = executor.clone();
        let result = block_on(executor.spawn(async move { waits(&own) }).result());
        let message = result.expect_err("it waits in vain").to_string();
        for part in [
            "only this worker can run",
            "await",
            "more workers",
            "spawn_blocking",
        ] {
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(block_on(executor.spawn(async { 5 })), 5);
    });
}

/// Runs this in a task of an executor that has this many workers. It ends.
#[track_caller]
fn goes_on(workers: usize, waits: impl FnOnce() + Send + 'static) {
    ends(move || block_on(executor(workers).spawn(async move { waits() })));
}

#[test]
fn a_wait_for_a_task_that_was_just_spawned_panics() {
    panics(1, |_| block_on(spawn(async {})));
}

#[test]
fn a_wait_for_two_tasks_panics() {
    panics(1, |_| {
        let (a, b) = (spawn(async {}), spawn(async {}));
        let _both = block_on(join_async(a, b));
    });
}

#[test]
fn a_wait_for_a_task_that_another_thread_has_spawned_panics() {
    panics(1, |executor| {
        let task = thread::scope(|s| s.spawn(|| executor.spawn(async {})).join());
        block_on(task.unwrap());
    });
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
        let error = block_on(result.result()).unwrap_err().to_string();
        assert!(error.contains("only this worker can run"), "{error}");
    });
}

/// The other worker cannot run it either.
#[test]
fn a_wait_for_a_local_task_of_the_same_worker_panics() {
    panics(2, |_| block_on(spawn_local(async {})));
}

/// A task that is pinned to this worker, and was spawned elsewhere.
#[test]
fn a_wait_for_a_task_that_is_pinned_to_this_worker_panics() {
    ends(|| {
        let executor = executor(2);
        let (send, receive) = mpsc::channel::<JoinHandle<()>>();
        let waits = executor.spawn_on(1, async move { block_on(receive.recv().unwrap()) });
        send.send(executor.spawn_on(1, async {})).unwrap();
        let error = block_on(waits.result()).unwrap_err().to_string();
        assert!(error.contains("only this worker can run"), "{error}");
    });
}

#[test]
fn a_wait_for_a_thread_goes_on() {
    goes_on(1, || {
        let (sender, receiver) = oneshot::channel();
        thread::spawn(|| {
            thread::sleep(LONG);
            sender.send(5)
        });
        let other = spawn(async {});
        assert_eq!(block_on(receiver), Ok(5));
        drop(other);
    });
}

#[test]
fn a_wait_for_a_timer_goes_on() {
    goes_on(1, || block_on(sleep(LONG)));
}

#[test]
fn a_wait_for_a_descriptor_goes_on() {
    goes_on(1, || {
        let (socket, Sender(send)) = socket();
        thread::spawn(move || {
            thread::sleep(LONG);
            send.send(()).unwrap();
        });
        let (quiet, _kept) = mpsc::channel();
        block_on(read(socket, Sender(quiet)));
    });
}

#[test]
fn a_wait_for_a_task_of_another_executor_goes_on() {
    let other = executor(1);
    goes_on(1, move || block_on(other.spawn(sleep(LONG))));
}

#[test]
fn a_wait_for_a_blocking_function_goes_on() {
    goes_on(1, || block_on(spawn_blocking(|| thread::sleep(LONG))));
}

/// The task cannot run, but the timer ends the wait.
#[test]
fn a_wait_for_a_task_or_a_timer_goes_on() {
    goes_on(1, || {
        let (mut task, mut timer) = (spawn(async {}), pin!(sleep(LONG)));
        block_on(poll_fn(|cx| match Pin::new(&mut task).poll(cx) {
            Poll::Ready(()) => unreachable!("its worker is blocked"),
            Poll::Pending => timer.as_mut().poll(cx),
        }));
    });
}

#[test]
fn a_wait_with_a_limit_goes_on() {
    goes_on(1, || {
        assert!(block_on_timeout(spawn(async {}), LONG).is_none())
    });
}

/// The other worker is in a long poll until then.
#[test]
fn a_wait_for_a_task_that_another_worker_will_run_goes_on() {
    goes_on(2, || {
        let (begin, begun) = mpsc::channel();
        let busy = spawn(async move {
            begin.send(()).unwrap();
            thread::sleep(LONG);
        });
        begun.recv().unwrap();
        block_on(spawn(async {}));
        block_on(busy);
    });
}

/// Nobody steps the other worker until then.
#[test]
fn a_wait_for_a_task_that_another_hosted_worker_will_run_goes_on() {
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
        let error = block_on(waits.result()).unwrap_err().to_string();
        assert!(error.contains("only this worker can run"), "{error}");
    });
}
