//! Values that are dropped inside a blocked poll, or while another drop blocks.

use joint_executor::TaskLocal;

use crate::prelude::*;

/// Starts a task that holds something and waits forever, and comes back when its first poll is
/// over.
fn hold(executor: &Executor, holds: impl Send + 'static) -> JoinHandle<()> {
    hold_by(|| executor.task(), holds)
}

fn hold_by<'a>(task: impl Fn() -> TaskBuilder<'a>, holds: impl Send + 'static) -> JoinHandle<()> {
    let (polled, was_polled) = mpsc::channel();
    let holder = task().spawn(async move {
        let _holds = holds;
        // This is in the register before the next task has its turn.
        polled.send(()).unwrap();
        pending::<()>().await;
    });
    was_polled.recv().unwrap();
    block_on(task().spawn(yield_now()));
    holder
}

#[test]
fn a_drop_sees_no_task_local_of_the_poll_around_it() {
    static NAME: TaskLocal<&str> = TaskLocal::new();
    ends(|| {
        let executor = executor(1);
        let (sender, receiver) = oneshot::channel::<()>();
        let (tell, told) = mpsc::channel();
        let dropped = on_drop(move || {
            let _sender = sender;
            tell.send(NAME.try_with(|name| *name)).unwrap();
        });
        let _held = hold(&executor, dropped);
        let (begin, begun) = mpsc::channel();
        executor.spawn_detached(NAME.scope("alice", async move {
            begin.send(()).unwrap();
            assert!(block_on(receiver).is_err());
            assert_eq!(NAME.get(), "alice");
        }));
        begun.recv().unwrap();
        drop(executor);
        assert_eq!(told.recv().unwrap(), None);
    });
}

#[test]
fn a_drop_inside_of_a_local_executor_spawns_nothing_there() {
    ends(|| {
        let executor = executor(1);
        let (sender, receiver) = oneshot::channel::<()>();
        let dropped = on_drop(move || {
            let _sender = sender;
            joint_executor::spawn_local(async {}).detach();
        });
        let _held = hold(&executor, dropped);
        let (begin, begun) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        executor.spawn_detached(async move {
            let local = LocalExecutor::new();
            begin.send(()).unwrap();
            assert!(local.block_on(receiver).is_err());
            tell.send(local.is_empty()).unwrap();
        });
        begun.recv().unwrap();
        drop(executor);
        assert!(told.recv().unwrap());
    });
}

/// Each would be dropped inside of the wait of the one before, if nothing limited that.
#[test]
fn drops_that_block_do_not_pile_up_on_the_stack() {
    const TASKS: usize = 20_000;
    for workers in [1, 2] {
        ends(move || {
            let executor = executor(workers);
            let (begin, begun) = mpsc::channel();
            let (go_on, goes_on) = mpsc::channel::<()>();
            let goes_on = Arc::new(Mutex::new(goes_on));
            for worker in 0..workers {
                let (begin, goes_on) = (begin.clone(), goes_on.clone());
                let blocks = async move {
                    begin.send(()).unwrap();
                    goes_on.lock().unwrap().recv().unwrap();
                };
                executor.spawn_on(worker, blocks).detach();
                begun.recv().unwrap();
            }
            let (ask, asked) = mpsc::channel::<oneshot::Sender<()>>();
            for _ in 0..TASKS {
                let ask = ask.clone();
                let dropped = on_drop(move || {
                    let (sender, receiver) = oneshot::channel();
                    ask.send(sender).unwrap();
                    receiver.blocking_recv().unwrap();
                });
                executor.spawn_detached(async move { drop(dropped) });
            }
            drop(ask);
            executor.shutdown_background();
            (0..workers).for_each(|_| go_on.send(()).unwrap());
            let sent = asked.into_iter().map(|sender| sender.send(()));
            assert_eq!(sent.filter(Result::is_ok).count(), TASKS);
        });
    }
}

/// Both have waited and are cancelled at once: the drop of the first waits for what the second
/// holds.
#[test]
fn a_drop_that_waits_for_the_drop_of_another_task() {
    for (workers, pinned_to) in [(1, None), (2, None), (4, None), (2, Some(0))] {
        ends(move || {
            for _ in 0..20 {
                let executor = executor(workers);
                let task = || match pinned_to {
                    Some(worker) => executor.task().on_worker(worker),
                    None => executor.task(),
                };
                let (sender, receiver) = oneshot::channel::<()>();
                let waits = on_drop(move || assert!(receiver.blocking_recv().is_err()));
                let _held = [hold_by(task, waits), hold_by(task, sender)];
                drop(executor);
            }
        });
    }
}

/// Another worker is free: it is the one that drops what waits for the blocked poll.
#[test]
fn another_worker_does_the_drop_that_waits_for_a_blocked_poll() {
    ends(|| {
        for _ in 0..40 {
            let executor = executor(2);
            let (value, comes) = oneshot::channel::<()>();
            let (end, ended) = oneshot::channel::<()>();
            let dropped = on_drop(move || {
                value.send(()).unwrap();
                ended.blocking_recv().unwrap();
            });
            let _held = hold(&executor, dropped);
            let (begin, begun) = mpsc::channel();
            executor.spawn_detached(async move {
                begin.send(()).unwrap();
                comes.blocking_recv().unwrap();
                end.send(()).unwrap();
            });
            begun.recv().unwrap();
            drop(executor);
        }
    });
}
