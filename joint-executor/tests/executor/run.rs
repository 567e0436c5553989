//! The promises of an executor while it runs.

use crate::prelude::*;

#[test]
fn a_task_awaited_after_its_spawn_runs_next_then_its_waiter() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let logs = {
        let log = log.clone();
        move |name: &'static str| log.lock().unwrap().push(name)
    };
    let executor = executor(1);
    block_on(executor.spawn(async move {
        let yields = spawn({
            let logs = logs.clone();
            async move {
                yield_now().await;
                logs("yields");
            }
        });
        // It has run and yielded when this task is next.
        yield_now().await;
        let log_in = |name| {
            let logs = logs.clone();
            spawn(async move { logs(name) })
        };
        let others = ["first", "second"].map(log_in);
        log_in("awaited").await;
        logs("awaits");
        for other in others {
            other.await;
        }
        yields.await;
    }));
    let expected = ["awaited", "awaits", "second", "first", "yields"];
    assert_eq!(*log.lock().unwrap(), expected);
}

/// Tasks of which each awaits the one before: they end one after the other, and each is cancelled
/// by the drop of the one that awaits it, from the last handle or at the end of the executor.
#[test]
fn a_deep_chain_of_tasks_needs_no_stack() {
    const TASKS: usize = 100_000;
    type End = fn(Executor, oneshot::Sender<usize>, JoinHandle<usize>);
    let ends: [End; 3] = [
        |_executor, sender, last| {
            sender.send(0).unwrap();
            assert_eq!(block_on(last), TASKS);
        },
        |executor, _sender, last| {
            drop(last);
            wait_until(|| executor.metrics().live() == 0);
        },
        |executor, _sender, last| {
            wait_until(|| executor.metrics().polls() > TASKS as u64);
            drop(executor);
            assert_cancelled(last);
        },
    ];
    for end in ends {
        let (executor, guards) = (executor(2), Guards::default());
        let (sender, receiver) = oneshot::channel();
        let first = executor.spawn(async { receiver.await.unwrap() });
        let last = (0..TASKS).fold(first, |before, _| {
            let guard = guards.guard();
            executor.spawn(async move {
                let _guard = guard;
                before.await + 1
            })
        });
        end(executor, sender, last);
        guards.assert_all_dropped(TASKS);
    }
}

/// The first kind yields. The second ends, and hands over to those who wait, without a pause.
#[test]
fn tasks_that_are_always_due_do_not_starve_others() {
    for yields in [true, false] {
        let executor = executor(1);
        let over = Arc::new(AtomicBool::new(false));
        let restless = [(); 2].map(|()| {
            let over = over.clone();
            executor.spawn(async move {
                while !over.load(Relaxed) {
                    match yields {
                        true => yield_now().await,
                        false => spawn(async {}).await,
                    }
                }
            })
        });
        let third = executor.spawn(async { spawn(async { 3 }).await });
        assert_eq!(block_on(third), 3);
        over.store(true, Relaxed);
        restless.into_iter().for_each(block_on);
    }
}

#[test]
fn a_task_that_blocks_holds_nothing_up() {
    /// Spawns a task that waits, by means of std, for one that it spawns.
    fn block_for_a_child(executor: &Executor, priority: Priority) -> JoinHandle<()> {
        executor.spawn(async move {
            let (sender, receiver) = mpsc::channel();
            let child = TaskBuilder::new().priority(priority);
            child.spawn_detached(async move { sender.send(()).unwrap() });
            receiver.recv().unwrap();
        })
    }
    type Row = (&'static str, fn(&Executor, usize));
    let rows: [Row; 6] = [
        ("a task that it spawned", |executor, _| {
            block_on(block_for_a_child(executor, Priority::Normal));
        }),
        ("one of high priority", |executor, _| {
            block_on(block_for_a_child(executor, Priority::High));
        }),
        ("one that it woke", |executor, _| {
            let (wake, woken) = oneshot::channel();
            let (sender, receiver) = mpsc::channel();
            let waiting = executor.spawn(async move {
                woken.await.unwrap();
                sender.send(()).unwrap();
            });
            block_on(executor.spawn(async move {
                wake.send(()).unwrap();
                receiver.recv().unwrap();
            }));
            block_on(waiting);
        }),
        // They may have come along in one batch.
        ("those queued behind", |executor, round| {
            let (sender, receiver) = mpsc::channel();
            let behind = round % 40;
            let blocking =
                executor.spawn(async move { (0..behind).for_each(|_| receiver.recv().unwrap()) });
            for _ in 0..behind {
                let sender = sender.clone();
                executor.spawn_detached(async move { sender.send(()).unwrap() });
            }
            block_on(blocking);
        }),
        // The other worker sleeps, most often.
        ("one that a local task overtook", |executor, _| {
            block_on(executor.spawn(async {
                let (sender, receiver) = mpsc::channel::<()>();
                let blocks = Arc::new(AtomicBool::new(false));
                let begins = blocks.clone();
                spawn_local(async move {
                    begins.store(true, Relaxed);
                    receiver.recv().unwrap();
                })
                .detach();
                while !blocks.load(Relaxed) {
                    yield_now().await;
                }
                sender.send(()).unwrap();
            }));
        }),
        // One for each worker: that of the blocked one is taken over as well.
        ("a task beside busy ones", |executor, _| {
            let busy = || async {
                loop {
                    yield_now().await;
                }
            };
            let both: [JoinHandle<()>; 2] = [(); 2].map(|()| executor.spawn(busy()));
            block_on(block_for_a_child(executor, Priority::Normal));
            drop(both);
        }),
    ];
    let executor = executor(2);
    for (name, row) in rows {
        println!("{name}");
        (0..100).for_each(|round| row(&executor, round));
    }
    let metrics = executor.metrics();
    assert!(
        metrics.steals() >= 100 && metrics.parks() > 0,
        "{metrics:?}"
    );
    let wakes = metrics.workers.iter().map(|worker| worker.wakes);
    assert_eq!(metrics.wakes(), wakes.sum::<u64>());
}

#[test]
fn a_panic_anywhere_in_a_task_leaves_its_worker_alive() {
    type Way = (&'static str, fn(&Executor));
    let ways: [Way; 5] = [
        ("a task", |executor| {
            let error = block_on(executor.spawn(async { panic!("meant") }).result()).unwrap_err();
            let JoinError::Panicked(payload) = error else {
                panic!("it did not panic")
            };
            assert_eq!(payload.message(), Some("meant"));
        }),
        ("a detached task", |executor| {
            executor.spawn(async { panic!("meant") }).detach();
        }),
        // From inside, so that they are detached before they run.
        ("outputs and payloads", |executor| {
            block_on(executor.spawn(async {
                spawn(async { Panics }).detach();
                spawn(async { panic_any(Panics) }).detach();
            }));
        }),
        ("a value of a task", |executor| {
            let result = block_on(executor.spawn(async { drop(Panics) }).result());
            assert!(matches!(result, Err(JoinError::Panicked(_))));
        }),
        ("a waker", |executor| {
            let (sender, receiver) = oneshot::channel();
            let mut handle = executor.spawn(async { receiver.await.unwrap() });
            let waker = waker_that(|| panic!("meant"));
            assert!(poll_with(&mut handle, &waker).is_pending());
            sender.send(7).unwrap();
            assert_eq!(block_on(handle), 7);
        }),
    ];
    for (panics, way) in ways {
        let executor = executor(1);
        let thread = || block_on(executor.spawn(async { thread::current().id() }));
        let before = thread();
        way(&executor);
        assert_eq!(before, thread(), "{panics} panics");
    }
}

#[test]
fn spawn_outside_of_any_executor_uses_the_global_one() {
    let name = || async { thread::current().name().map(String::from) };
    let side = || thread::current().name().map(String::from);
    let sides = join(side, side);
    let names = [
        block_on(spawn(name())),
        block_on(async { spawn(name()).await }),
        block_on(TaskBuilder::new().name("x").spawn(name())),
        block_on(Executor::global().spawn(name())),
        block_on(Handle::current().spawn(name())),
        sides.0,
        sides.1,
    ];
    for name in names {
        assert!(name.is_some_and(|name| name.starts_with("joint-global-")));
    }
    assert!(Executor::global().workers() > 0);
}

#[test]
fn a_detached_task_that_nobody_can_wake_ends() {
    let executor = executor(2);
    let (sender, receiver) = oneshot::channel::<()>();
    let (kept, keeps) = oneshot::channel::<Waker>();
    executor.spawn_detached(give_waker(|waker| kept.send(waker).unwrap(), sender));
    executor.spawn_detached(pending::<()>());
    let waker = block_on(keeps).unwrap();
    assert!(!receiver.is_finished());
    drop(waker);
    assert!(block_on(receiver).is_err());
    wait_until(|| executor.metrics().live() == 0);
    assert_eq!(executor.metrics().cancelled, 2);
}

#[test]
fn metrics_count_spawns_and_polls() {
    let executor = executor(1);
    block_on(executor.spawn(async {
        (0..10).for_each(|_| spawn(async {}).detach());
        yield_now().await;
    }));
    (0..4).for_each(|_| block_on(executor.spawn(async {})));
    let metrics = executor.metrics();
    assert_eq!((metrics.spawned, metrics.workers.len()), (15, 1));
    assert_eq!((metrics.polls(), metrics.steals()), (16, 0));
}
