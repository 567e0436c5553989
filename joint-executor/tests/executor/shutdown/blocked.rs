//! A poll, or a drop, blocks its worker and waits for something that another task holds, which
//! shutdown drops.

use crate::prelude::*;

/// The workers take turns at being the one that blocks, and at being the one that knows the task.
const ROUNDS: usize = 40;

/// Drops the executor while a task of it is in `poll`, which says when it is about to block.
fn drop_while_blocked<F>(
    workers: &[usize],
    poll: impl Fn(mpsc::Sender<()>) -> F + Copy + Send + 'static,
) where
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

/// In a wait of this crate, and in one of std, which leaves the drop to another worker.
#[test]
fn a_poll_that_waits_for_what_another_task_holds_is_not_stuck() {
    async fn wait(holder: &str, by_std: bool, begin: mpsc::Sender<()>) {
        let (sender, receiver) = oneshot::channel::<()>();
        let (std_sender, std_receiver) = mpsc::channel::<()>();
        let holds = (sender, std_sender);
        let _held = match holder {
            "idle" => idle(holds).await,
            "queued" => spawn(hold(holds)),
            _ => spawn_local(hold(holds)),
        };
        if holder == "local" {
            yield_now().await;
        }
        begin.send(()).unwrap();
        match by_std {
            true => assert!(std_receiver.recv().is_err()),
            false => assert!(receiver.blocking_recv().is_err()),
        }
    }
    for holder in ["idle", "queued", "local"] {
        println!("{holder}");
        drop_while_blocked(&[1, 2, 4], move |begin| wait(holder, false, begin));
        if holder != "local" {
            drop_while_blocked(&[2, 4], move |begin| wait(holder, true, begin));
        }
    }
}

/// Starts a task that holds something forever. Its first poll is over when this returns.
fn holder(executor: &Executor, holds: impl Send + 'static) -> JoinHandle<()> {
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
fn a_drop_inside_of_a_blocked_poll_is_none_of_its_code() {
    static NAME: TaskLocal<&str> = TaskLocal::new();
    ends(|| {
        let executor = executor(1);
        let (sender, receiver) = oneshot::channel::<()>();
        let (tell, told) = mpsc::channel();
        let dropped = on_drop(move || {
            let _sender = sender;
            spawn_local(async {}).detach();
            tell.send(NAME.try_with(|name| *name)).unwrap();
        });
        let _held = holder(&executor, dropped);
        let (begin, begun) = mpsc::channel();
        let blocks = executor.spawn(NAME.scope("alice", async move {
            let local = LocalExecutor::new();
            begin.send(()).unwrap();
            assert!(local.block_on(receiver).is_err());
            assert!(NAME.get() == "alice" && local.is_empty());
        }));
        begun.recv().unwrap();
        drop(executor);
        assert_eq!(told.recv().unwrap(), None);
        block_on(blocks);
    });
}

/// The drop of the first waits for what the second holds.
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
