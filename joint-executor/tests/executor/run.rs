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

#[test]
fn a_deep_chain_of_awaits_needs_no_stack() {
    let executor = executor(2);
    let (sender, receiver) = oneshot::channel();
    let first = executor.spawn(async { receiver.await.unwrap() });
    let last = (0..100_000).fold(first, |before, _| {
        executor.spawn(async move { before.await + 1 })
    });
    sender.send(0).unwrap();
    assert_eq!(block_on(last), 100_000);
}

#[test]
fn a_deep_chain_cancelled_by_its_last_handle_needs_no_stack() {
    let executor = executor(2);
    let (gone, all_gone) = mpsc::channel();
    let first = executor.spawn(pending());
    let last = (0..100_000).fold(first, |before: JoinHandle<usize>, _| {
        let gone = gone.clone();
        let tell = on_drop(move || gone.send(()).unwrap());
        executor.spawn(async move {
            let _tell = tell;
            before.await
        })
    });
    drop(last);
    for _ in 0..100_000 {
        all_gone.recv().unwrap();
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
fn a_task_that_blocks_does_not_hold_up_what_it_spawned() {
    let executor = executor(2);
    for priority in [Priority::Normal, Priority::High]
        .into_iter()
        .cycle()
        .take(200)
    {
        let blocking = executor.spawn(async move {
            let (sender, receiver) = mpsc::channel();
            let task = TaskBuilder::new().priority(priority);
            task.spawn_detached(async move { sender.send(()).unwrap() });
            receiver.recv()
        });
        assert_eq!(block_on(blocking), Ok(()), "{priority:?}");
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
fn a_task_that_blocks_does_not_hold_up_the_task_it_woke() {
    let executor = executor(2);
    for _ in 0..200 {
        let (wake, woken) = oneshot::channel();
        let (sender, receiver) = mpsc::channel();
        let waiting = executor.spawn(async move {
            woken.await.unwrap();
            sender.send(()).unwrap();
        });
        let blocking = executor.spawn(async move {
            wake.send(()).unwrap();
            receiver.recv()
        });
        assert_eq!(block_on(blocking), Ok(()));
        block_on(waiting);
    }
}

/// The ones behind may have come along in one batch with the one that blocks.
#[test]
fn a_task_that_blocks_does_not_hold_up_those_queued_behind() {
    let executor = executor(2);
    for behind in (0..40).cycle().take(200) {
        let (sender, receiver) = mpsc::channel();
        let blocking = executor.spawn(async move {
            for _ in 0..behind {
                receiver.recv().unwrap();
            }
        });
        for _ in 0..behind {
            let sender = sender.clone();
            executor.spawn(async move { sender.send(()) }).detach();
        }
        block_on(blocking);
    }
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
    let names = [
        block_on(spawn(name())),
        block_on(async { spawn(name()).await }),
        block_on(TaskBuilder::new().name("x").spawn(name())),
        block_on(Executor::global().spawn(name())),
    ];
    for name in names {
        assert!(name.is_some_and(|name| name.starts_with("joint-global-")));
    }
    assert!(Executor::global().workers() > 0);
}

#[test]
fn cancel_gives_nothing_once_the_future_is_gone() {
    let executor = executor(1);
    let (held, gone) = mpsc::channel::<()>();
    assert_eq!(block_on(executor.spawn(hold(held)).cancel()), None);
    assert_eq!(gone.try_recv(), Err(mpsc::TryRecvError::Disconnected));
}

#[test]
fn a_detached_task_that_nobody_can_wake_ends() {
    let executor = executor(2);
    let (sender, receiver) = oneshot::channel::<()>();
    let (kept, keeps) = oneshot::channel::<Waker>();
    let mut kept = Some(kept);
    executor.spawn_detached(async move {
        let _dropped_with_it = sender;
        poll_fn(|cx| {
            if let Some(kept) = kept.take() {
                kept.send(cx.waker().clone()).unwrap();
            }
            Poll::<()>::Pending
        })
        .await;
    });
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

#[test]
fn threads_have_the_names_that_were_asked_for() {
    let executor = built(3, |builder| {
        let named = builder.thread_name(|i| format!("named-{i}"));
        named.stack_size(128 * 1024)
    });
    // One task for each worker, all at once.
    let barrier = Arc::new(Barrier::new(3));
    let names = [(); 3].map(|()| {
        let barrier = barrier.clone();
        executor.spawn(async move {
            barrier.wait();
            thread::current().name().map(String::from)
        })
    });
    let mut names: Vec<_> = names.into_iter().filter_map(block_on).collect();
    names.sort();
    assert_eq!(names, ["named-0", "named-1", "named-2"]);
    assert_eq!(executor.workers(), 3);
}

#[test]
fn no_workers_and_more_than_can_be_counted_are_an_error() {
    for workers in [0, usize::MAX] {
        let error = Executor::builder().workers(workers).build().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains("worker"), "{error}");
    }
}

/// Counts up by one at each wake-up that it is sent, until it has come to `goal`.
#[derive(Default)]
struct Mailbox {
    sent: AtomicUsize,
    waker: Mutex<Option<Waker>>,
}

impl Mailbox {
    fn send(&self) {
        self.sent.fetch_add(1, Relaxed);
        let waker = self.waker.lock().unwrap().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    async fn receive(&self, goal: usize) {
        poll_fn(|cx| {
            *self.waker.lock().unwrap() = Some(cx.waker().clone());
            if self.sent.load(Relaxed) == goal {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}

#[test]
fn no_wake_up_from_foreign_threads_is_lost() {
    let threads = thread::available_parallelism()
        .map_or(2, usize::from)
        .max(2);
    let rounds = 2_000;
    let executor = executor(2);
    let boxes = [(); 4].map(|()| Arc::new(Mailbox::default()));
    let receivers = boxes
        .clone()
        .map(|mailbox| executor.spawn(async move { mailbox.receive(threads * rounds).await }));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..rounds {
                    boxes.iter().for_each(|mailbox| mailbox.send());
                }
            });
        }
    });
    receivers.into_iter().for_each(block_on);
}

/// The other worker never has nothing to do.
#[test]
fn a_task_that_blocks_beside_busy_workers_holds_nothing_up() {
    let executor = executor(2);
    block_on(executor.spawn(async move {
        // One for each worker: that of the blocked one is taken over as well.
        let both = [(); 2].map(|()| {
            spawn(async {
                loop {
                    yield_now().await;
                }
            })
        });
        let (sender, receiver) = mpsc::channel();
        let blocked = spawn(async move {
            spawn(async move { sender.send(()).unwrap() }).detach();
            receiver.recv().unwrap();
        });
        blocked.await;
        drop::<[JoinHandle<()>; 2]>(both);
    }));
}
