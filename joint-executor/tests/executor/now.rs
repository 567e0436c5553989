//! Tasks that start on their spawner's stack.

use joint::task;
use joint_executor::{TaskGuard, spawn_local_now, spawn_now, spawn_now_with};

use crate::prelude::*;

static VALUE: TaskLocal<u32> = TaskLocal::new();

/// What a task saw in its first poll: itself, its thread, and a value.
type Seen = (task::Id, thread::ThreadId, Option<u32>);

/// Whatever starts in one place.
struct Started {
    waiting: JoinHandle<u32>,
    sender: oneshot::Sender<u32>,
    yielding: JoinHandle<bool>,
    panicking: JoinHandle<()>,
}

/// Starts a task of each kind, inside a task-local value, and checks what is known at once.
fn start(executor: &Executor) -> Started {
    let around = || {
        (
            task::try_id(),
            VALUE.try_with(|&value| value),
            budget::left(),
        )
    };
    VALUE.sync_scope(7, || {
        let before = around();
        let seen = || {
            (
                task::id(),
                thread::current().id(),
                VALUE.try_with(|&value| value),
            )
        };
        let ready: JoinHandle<Seen> = executor.spawn_now(async move { seen() });
        assert!(ready.is_finished());
        let id = ready.id();
        assert_eq!(block_on(ready), (id, thread::current().id(), None));
        let (sender, receiver) = oneshot::channel();
        let waiting = executor.spawn_now(async { receiver.await.unwrap() });
        let yielding = executor.spawn_now(async {
            yield_now().await;
            current_worker().is_some()
        });
        let panicking = executor.spawn_now(async { panic!("in the first poll") });
        assert!(panicking.is_finished() && !waiting.is_finished());
        let after = around();
        assert_eq!((before.0, before.1), (after.0, after.1));
        Started {
            waiting,
            sender,
            yielding,
            panicking,
        }
    })
}

/// Calls a function somewhere.
type Place = fn(&Executor, Box<dyn FnOnce() + Send>);

fn places() -> [(&'static str, Place); 15] {
    [
        ("on a plain thread", |_, f| f()),
        ("on a worker", |executor, f| {
            block_on(executor.spawn(async move { f() }))
        }),
        ("in block_on", |executor, f| {
            executor.block_on(async { f() })
        }),
        ("in a block_on on a worker", |executor, f| {
            block_on(executor.spawn(async { block_on(async { f() }) }));
        }),
        ("in a task of another executor", |_, f| {
            let other = executor(1);
            block_on(other.spawn(async move { f() }));
        }),
        ("in a local executor", |_, f| {
            LocalExecutor::new().block_on(async { f() })
        }),
        ("in a local executor on a worker", |executor, f| {
            block_on(executor.spawn(async { LocalExecutor::new().block_on(async { f() }) }));
        }),
        ("on a hosted worker of another executor", |_, f| {
            let (_other, mut worker) = current_thread();
            worker.block_on(async { f() });
        }),
        ("in spawn_blocking", |executor, f| {
            executor.block_on(async { spawn_blocking(f).await });
        }),
        ("in a task that starts", |executor, f| {
            assert!(executor.spawn_now(async { f() }).is_finished());
        }),
        ("in a hook", |_, f| {
            let f = Mutex::new(Some(f));
            let hook =
                move |_: &TaskInfo<'_>| f.lock().unwrap().take().into_iter().for_each(|f| f());
            let other = built(1, |builder| builder.before_poll(hook));
            block_on(other.spawn(async {}));
        }),
        ("in the drop of a future", |executor, f| {
            let dropped = on_drop(f);
            let handle = executor.spawn(async {
                let _dropped = dropped;
                pending::<()>().await;
            });
            handle.abort();
            _ = block_on(handle.result());
        }),
        ("in the drop of an output", |executor, f| {
            let dropped = on_drop(f);
            drop(block_on(executor.spawn(async { dropped })));
        }),
        ("in a waker", |_, f| waker_that(f).wake()),
        ("during a panic", |_, f| {
            let dropped = on_drop(f);
            panics(|| {
                let _dropped = dropped;
                panic_any(());
            });
        }),
    ]
}

#[test]
fn a_task_starts_wherever_its_spawner_is() {
    each_row(places(), |place| {
        let executor = executor(2);
        let (handle, (sender, started)) = (executor.handle(), mpsc::channel());
        place(
            &executor,
            Box::new(move || sender.send(start(&handle)).unwrap()),
        );
        let started = started.recv().unwrap();
        started.sender.send(3).unwrap();
        assert_eq!(block_on(started.waiting), 3);
        assert!(block_on(started.yielding), "it goes on on a worker");
        let panicked = block_on(started.panicking.result());
        assert!(matches!(panicked, Err(JoinError::Panicked(_))));
        let spawned = executor.metrics().spawned;
        wait_until(|| executor.metrics().live() == 0);
        assert!(spawned >= 4);
    });
}

/// Starts itself again, on the executor that runs it or the local one, and awaits that.
fn deep(depth: u32, local: bool) -> Pin<Box<dyn Future<Output = u32> + Send>> {
    Box::pin(async move {
        match depth {
            0 => 0,
            _ if local => 1 + spawn_local_now(deep(depth - 1, true)).await,
            _ => 1 + spawn_now(deep(depth - 1, false)).await,
        }
    })
}

#[test]
fn a_recursion_of_starts_takes_a_bounded_stack() {
    let depth = if cfg!(miri) { 100 } else { 20_000 };
    let executor = executor(2);
    assert_eq!(block_on(executor.spawn(deep(depth, false))), depth);
    assert_eq!(block_on(executor.spawn(deep(depth, true))), depth);
    assert_eq!(executor.block_on(deep(depth, false)), depth);
    assert_eq!(LocalExecutor::new().block_on(deep(depth, true)), depth);
    // The seventeenth on one stack is queued.
    fn nested(executor: Handle, sender: mpsc::Sender<usize>, depth: usize) {
        let inner = executor.clone();
        let next = sender.clone();
        let task = async move { nested(inner, next, depth + 1) };
        if depth < 20 {
            match executor.spawn_now(task) {
                task if task.is_finished() => {}
                _ => sender.send(depth).unwrap(),
            }
        }
    }
    let (parked, workers) = hosted(1);
    let (sender, queued) = mpsc::channel();
    nested(parked.handle(), sender, 0);
    assert_eq!(queued.recv(), Ok(16));
    drop(workers);
}

#[test]
fn a_start_uses_up_the_budget_of_its_spawner() {
    let executor = executor(1);
    let spend = |most| {
        let mut spent = 0;
        poll_fn(move |cx| {
            while spent < most {
                if budget::poll_proceed(cx).is_pending() {
                    return Poll::Pending;
                }
                budget::spend();
                spent += 1;
            }
            Poll::Ready(())
        })
    };
    let started = executor.spawn(async move {
        let before = budget::left();
        let ready = spawn_now(spend(10));
        assert!(ready.is_finished());
        assert_eq!(before - budget::left(), 10);
        let refused = spawn_now(spend(1_000));
        assert!(!refused.is_finished(), "it is queued");
        assert!(!budget::has_left());
        refused.await;
    });
    block_on(started);
}

/// The polls are not runs: the other workers must see that a worker stays in one poll. And a task
/// that is queued is announced at once, because its spawner may block.
#[test]
fn a_start_is_a_part_of_its_spawner_s_run() {
    let executor = executor(2);
    let blocks = executor.spawn(async {
        for _ in 0..100 {
            assert!(spawn_now(async {}).is_finished());
        }
        let (sender, receiver) = mpsc::channel();
        let yields = spawn_now(async move {
            yield_now().await;
            sender.send(()).unwrap();
        });
        receiver.recv().unwrap();
        yields.await;
    });
    block_on(blocks);
    wait_until(|| executor.metrics().live() == 0);
    let metrics = executor.metrics();
    assert_eq!((metrics.spawned, metrics.finished), (102, 102));
    assert!(metrics.polls() <= 4, "{metrics:?}");
}

#[test]
fn the_hooks_are_called_around_a_start() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let note = |what: &'static str| {
        let log = log.clone();
        move |task: &TaskInfo<'_>| {
            let inside = task::try_id().is_some();
            log.lock()
                .unwrap()
                .push((what, task.name().map(String::from), inside));
        }
    };
    let ends = note("end");
    let executor = built(1, |builder| {
        let builder = builder.on_spawn(note("spawn")).before_poll(note("before"));
        let builder = builder.after_poll(note("after")).on_wake(note("wake"));
        builder.on_end(move |task, _| ends(task))
    });
    let expected = |is_outside: bool| {
        let row = |what, inside| (what, Some(String::from("inner")), inside);
        let spawn = row("spawn", !is_outside);
        [
            spawn,
            row("before", false),
            row("end", false),
            row("after", false),
        ]
    };
    let start = || drop(TaskBuilder::new().name("inner").spawn_now(async {}));
    block_on(executor.spawn(async move { start() }));
    executor.enter(start);
    let log: Vec<_> = mem::take(&mut *log.lock().unwrap());
    let inner: Vec<_> = log
        .into_iter()
        .filter(|(_, name, _)| name.is_some())
        .collect();
    assert_eq!(inner, [expected(false), expected(true)].concat());
    let delayed = built(1, |builder| builder.on_start(|_, _| {}));
    let task = delayed.spawn_now(async { current_worker() });
    assert_eq!(block_on(task), Some(0), "the hook has left it to a worker");
}

#[test]
fn the_lane_decides_where_it_starts() {
    let executor = executor(2);
    let here = || thread::current().id();
    let own = here();
    let high = executor
        .task()
        .priority(Priority::High)
        .spawn_now(async move { here() });
    assert_eq!(block_on(high), own);
    let inside = executor.spawn_on(0, async move {
        let own = here();
        let pinned = TaskBuilder::new().on_worker(0).spawn_now(async move {
            yield_now().await;
            here()
        });
        let other = TaskBuilder::new()
            .on_worker(1)
            .spawn_now(async move { here() });
        let local = || {
            let answer = Rc::new(1);
            let local = spawn_local_now(async move { answer });
            assert!(local.is_finished());
            *block_on(local)
        };
        assert_eq!(local(), 1);
        (own, pinned.await, other.await)
    });
    let (own, pinned, other) = block_on(inside);
    assert_eq!(own, pinned);
    assert_ne!(own, other, "it was queued there");
}

/// Whoever has started outside waits in the registry, where the end of the executor finds it.
#[test]
fn the_end_of_the_executor_cancels_what_has_started() {
    let executor = executor(2);
    let guards = Guards::default();
    let waiting = [(); 3].map(|()| executor.spawn_now(hold(guards.guard())));
    let inside = block_on(executor.spawn({
        let guard = guards.guard();
        async move { [spawn_now(hold(guard))] }
    }));
    let late = executor.handle();
    drop(executor);
    guards.assert_all_dropped(4);
    waiting.into_iter().chain(inside).for_each(assert_cancelled);
    assert_cancelled(late.spawn_now(async { unreachable!("no poll begins") }));
}

#[test]
fn a_start_in_a_drop_at_the_end_is_not_polled() {
    let start = || spawn_local_now(async { unreachable!("no poll begins") }).detach();
    let local = LocalExecutor::new();
    local.spawn_now(hold(on_drop(start))).detach();
    drop(local);
    let executor = executor(1);
    let start = || spawn_now(async { unreachable!("no poll begins") }).detach();
    executor.spawn_now(hold(on_drop(start))).detach();
    drop(executor);
}

#[test]
fn what_the_spawner_has_borrowed_is_a_panic_of_the_task() {
    let local = LocalExecutor::new();
    let cell = Rc::new(RefCell::new(0));
    let borrowed = cell.borrow_mut();
    let inner = cell.clone();
    let task = local.spawn_now(async move { *inner.borrow_mut() += 1 });
    drop(borrowed);
    let result = local.block_on(task.result());
    assert!(matches!(result, Err(JoinError::Panicked(_))));
    assert_eq!(*cell.borrow(), 0);
}

#[test]
fn a_set_and_a_scope_start_tasks() {
    let executor = executor(2);
    let ended = block_on(executor.spawn(async {
        let mut set = JoinSet::new();
        for i in 0..3 {
            set.spawn_now(async move { i });
        }
        let (sender, receiver) = oneshot::channel();
        set.spawn_now(async { receiver.await.unwrap() });
        sender.send(3).unwrap();
        let text = async_scope(String::from("text"), async |s| {
            s.spawn_now(async move { s.env().len() }).await
        });
        (set.join_all().await, text.await)
    }));
    assert_eq!(ended, (vec![0, 1, 2, 3], 4));
    let mut numbers = [1, 2];
    let number = executor.scope(|s| {
        let [first, second] = &mut numbers;
        assert!(s.spawn_now(async { *first *= 10 }).is_finished());
        block_on(s.spawn_now(async {
            yield_now().await;
            *second *= 10;
            *second
        }))
    });
    assert_eq!((numbers, number), ([10, 20], 20));
}

/// Starts a task that waits for `future`. Both its future and its value have a guard.
fn start_with<F>(guards: &Guards, future: F) -> TaskGuard
where
    F: Future<Output = ()> + Send + 'static,
{
    let value = (AtomicUsize::new(7), guards.guard());
    spawn_now_with(value, |(number, _)| {
        assert_eq!(number.load(Relaxed), 7);
        let held = guards.guard();
        async {
            let _held = held;
            future.await;
        }
    })
}

#[test]
fn a_guard_cancels_its_task_wherever_it_is_dropped() {
    each_row(places(), |place| {
        let (executor, guards) = (executor(2), Guards::default());
        let own = guards.clone();
        let task = block_on(executor.spawn(async move { start_with(&own, pending()) }));
        assert!(!task.is_finished());
        place(&executor, Box::new(|| drop(task)));
        wait_until(|| guards.dropped() == 2 && executor.metrics().live() == 0);
    });
}

#[test]
fn a_guard_cancels_at_once_what_waits_for_its_worker() {
    let (executor, guards) = (executor(1), Guards::default());
    let own = guards.clone();
    let kept = block_on(executor.spawn(async move {
        let waits = start_with(&own, pending());
        waits.cancel();
        assert_eq!(own.dropped(), 1, "the future");
        assert!(waits.is_finished());
        waits.cancel();
        drop(waits);
        assert_eq!(own.dropped(), 2, "the value");

        let ready = start_with(&own, async {});
        assert_eq!((own.dropped(), ready.is_finished()), (3, true));
        drop(ready);
        assert_eq!(own.dropped(), 4);

        let is_due = start_with(&own, yield_now());
        drop(is_due);
        assert_eq!(own.dropped(), 4, "its run drops it");
        yield_now().await;
        assert_eq!(own.dropped(), 6);

        // A destructor that panics leaves the caller alone.
        drop(start_with(&own, async {
            let _panics = on_drop(|| resume_unwind(Box::new("planned")));
            pending().await
        }));
        assert_eq!(own.dropped(), 8);
        start_with(&own, pending())
    }));
    let metrics = executor.metrics();
    assert_eq!((metrics.cancelled, metrics.panicked), (2, 1));
    drop(executor);
    assert_eq!((guards.dropped(), kept.is_finished()), (9, true));
    kept.cancel();
    drop(kept);
    guards.assert_all_dropped(10);
}

#[test]
#[should_panic(expected = "put it into a box")]
fn a_value_of_a_large_alignment_is_refused() {
    #[repr(align(64))]
    struct Aligned;
    drop(spawn_now_with(Aligned, |_| async {}));
}
