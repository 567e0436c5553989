//! A poll blocks its worker and waits for something that another task holds, which shutdown drops.

use crate::prelude::*;

/// The workers take turns at being the one that blocks, and at being the one that knows the task.
const ROUNDS: usize = 40;

/// Drops the executor while a task of it is in `poll`, which says when it is about to block.
fn drop_while_blocked<F>(workers: &[usize], poll: fn(mpsc::Sender<()>) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for &workers in workers {
        ends(move || {
            for _ in 0..ROUNDS {
                let executor = executor(workers);
                let (begin, begun) = mpsc::channel();
                let task = executor.spawn(poll(begin));
                begun.recv().unwrap();
                drop(executor);
                // Its poll was over before the drop returned: ready, or dropped after that.
                assert!(task.is_finished());
            }
        });
    }
}

/// A task that has been polled, waits for nothing, and holds something.
async fn idle(holds: impl Send + 'static) -> JoinHandle<()> {
    let (polled, was_polled) = oneshot::channel();
    let task = spawn(async move {
        polled.send(()).unwrap();
        let _holds = holds;
        pending::<()>().await;
    });
    was_polled.await.unwrap();
    // So that its poll is over.
    yield_now().await;
    task
}

#[test]
fn a_wait_of_this_crate_for_what_another_task_holds() {
    async fn wait(begin: mpsc::Sender<()>, receiver: oneshot::Receiver<()>) {
        begin.send(()).unwrap();
        assert!(receiver.blocking_recv().is_err());
    }
    drop_while_blocked(&[1, 2, 4], |begin| async move {
        let (sender, receiver) = oneshot::channel::<()>();
        let _idle = idle(sender).await;
        begin.send(()).unwrap();
        assert!(block_on(receiver).is_err());
    });
    drop_while_blocked(&[1, 2, 4], |begin| async move {
        let (sender, receiver) = oneshot::channel::<()>();
        let _queued = spawn(hold(sender));
        wait(begin, receiver).await;
    });
    drop_while_blocked(&[1, 2, 4], |begin| async move {
        let (sender, receiver) = oneshot::channel::<()>();
        let _pinned = joint_executor::spawn_local(hold(sender));
        yield_now().await;
        wait(begin, receiver).await;
    });
}

#[test]
fn a_wait_of_std_for_what_another_task_holds() {
    drop_while_blocked(&[2, 4], |begin| async move {
        let (sender, receiver) = mpsc::channel::<()>();
        let _idle = idle(sender).await;
        begin.send(()).unwrap();
        assert!(receiver.recv().is_err());
    });
    drop_while_blocked(&[2, 4], |begin| async move {
        let (sender, receiver) = mpsc::channel::<()>();
        let _queued = spawn(hold(sender));
        begin.send(()).unwrap();
        assert!(receiver.recv().is_err());
    });
}

/// The tasks come when the executor is closed already, and the other workers have nothing left to
/// drop.
#[test]
fn a_wait_for_what_a_task_holds_that_is_spawned_after_the_close() {
    drop_while_blocked(&[2, 4], |begin| async move {
        let (first, closed) = mpsc::channel::<()>();
        let _first = idle(first).await;
        begin.send(()).unwrap();
        // The end has reached the others.
        assert!(closed.recv().is_err());
        for _ in 0..3 {
            let (sender, receiver) = mpsc::channel::<()>();
            let _task = spawn(hold(sender));
            assert!(receiver.recv().is_err());
        }
    });
}

/// Every task that waits is dropped, and those who wait for them are woken, while a poll goes on.
#[test]
fn a_shutdown_drops_idle_tasks_while_a_poll_blocks() {
    const TASKS: usize = 500;
    for workers in [2, 4] {
        ends(move || {
            let executor = executor(workers);
            let (begin, begun) = mpsc::channel();
            let (end, ended) = mpsc::channel::<()>();
            let tasks: Vec<_> = (0..TASKS)
                .map(|_| executor.spawn(pending::<()>()))
                .collect();
            let blocks = executor.spawn(async move {
                begin.send(()).unwrap();
                let _ = ended.recv();
            });
            begun.recv().unwrap();
            let drops = thread::spawn(move || drop(executor));
            for task in tasks {
                assert!(block_on(task.result()).is_err());
            }
            assert!(!blocks.is_finished());
            end.send(()).unwrap();
            drops.join().unwrap();
            assert!(blocks.is_finished());
        });
    }
}
