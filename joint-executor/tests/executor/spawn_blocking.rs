//! Functions that block, on threads of their own.

use crate::prelude::*;

#[test]
fn many_that_wait_for_one_another_all_end() {
    const MANY: usize = 20;
    let barrier = Arc::new(std::sync::Barrier::new(MANY));
    let tasks = [(); MANY].map(|()| {
        let barrier = barrier.clone();
        spawn_blocking(move || barrier.wait().is_leader())
    });
    let leaders = tasks.into_iter().map(block_on).filter(|&leads| leads);
    assert_eq!(leaders.count(), 1);
}

#[test]
fn a_panic_of_a_blocking_function_names_the_call_site() {
    let line = line!() + 1;
    let task = spawn_blocking(|| -> () { panic!("no") });
    let Err(JoinError::Panicked(panic)) = block_on(task.result()) else {
        panic!("it did not panic")
    };
    assert_eq!(panic.message(), Some("no"));
    assert_eq!(
        (panic.spawned().file(), panic.spawned().line()),
        (file!(), line)
    );
    assert_eq!(block_on(spawn_blocking(|| 1)), 1, "the thread goes on");
}

/// A function that has begun, and ends when it is told to.
fn begun_on<T: Send + 'static>(
    spawn: impl FnOnce(Box<dyn FnOnce() -> T + Send>) -> JoinHandle<T>,
) -> (JoinHandle<T>, mpsc::Sender<T>) {
    let (begins, begun) = mpsc::channel();
    let (end, ends) = mpsc::channel();
    let task = spawn(Box::new(move || {
        begins.send(()).unwrap();
        ends.recv().unwrap()
    }));
    begun.recv().unwrap();
    (task, end)
}

#[test]
fn a_running_blocking_function_returns_after_abort_and_drop() {
    let (task, end) = begun_on(spawn_blocking);
    task.abort();
    end.send(3).unwrap();
    assert_eq!(block_on(task.result()).unwrap(), 3);
    let (task, end) = begun_on(spawn_blocking);
    drop(task);
    let (tells, told) = mpsc::channel();
    assert!(end.send(on_drop(move || tells.send(()).unwrap())).is_ok());
    told.recv().unwrap();
}

#[test]
fn cancel_waits_for_one_that_has_begun() {
    let (task, end) = begun_on(spawn_blocking);
    let cancelled = task.cancel();
    end.send(4).unwrap();
    assert_eq!(block_on(cancelled), Some(4));
}

/// Each thread that has run this function says so when it ends.
fn tells_its_end(tells: mpsc::Sender<()>) -> impl FnOnce() + Send + 'static {
    thread_local! {
        static ENDS: RefCell<Option<mpsc::Sender<()>>> = const { RefCell::new(None) };
    }
    move || ENDS.with(|ends| *ends.borrow_mut() = Some(tells))
}

/// Wherever an executor is asked, its shutdown waits for the function, also once it has ended.
#[test]
fn an_executor_runs_a_function_wherever_it_is_asked() {
    let (here, other) = (Arc::new(executor(1)), executor(1));
    let asked = here.clone();
    let ask = move || {
        let (task, end) = begun_on(|function| asked.handle().spawn_blocking(function));
        let late = asked.shutdown_timeout(Duration::ZERO);
        end.send(()).unwrap();
        block_on(task);
        late.err().map(|late| late.blocking())
    };
    let own = ask.clone();
    let in_own_task = block_on(here.spawn(async move { own() }));
    let of_other = ask.clone();
    let rows = [
        in_own_task,
        ask(),
        block_on(other.spawn(async move { of_other() })),
        other.block_on(async { ask() }),
        LocalExecutor::new().block_on(async { ask() }),
        block_on(spawn_blocking(ask.clone())),
        {
            let mut in_drop = None;
            drop(OnDrop(|| in_drop = Some(ask())));
            in_drop.unwrap()
        },
    ];
    assert_eq!(rows, [Some(1); 7]);
    // The workers have ended at the first shutdown.
    assert!(block_on(here.spawn(async {}).result()).is_err());
    let late = here.spawn_blocking(|| 7);
    assert_eq!((block_on(late), here.shutdown_timeout(HOUR)), (7, Ok(())));
}

/// A task's function, and a function's, are those of its executor.
#[test]
fn the_code_of_an_executor_uses_its_threads() {
    let limits = |builder: Builder| builder.max_blocking_threads(1);
    let (one, other) = (built(2, limits), built(2, limits));
    let thread_of = || spawn_blocking(|| thread::current().id());
    let by_task = one.block_on(one.spawn(async move { thread_of().await }));
    assert_eq!(by_task, one.block_on(async { thread_of().await }));
    assert_eq!(by_task, one.enter(|| block_on(thread_of())));
    let set = || async {
        let mut set = JoinSet::new();
        set.spawn_blocking(|| thread::current().id());
        set.join_next().await.unwrap().unwrap()
    };
    assert_eq!(by_task, one.block_on(set()));
    let elsewhere = [
        block_on(thread_of()),
        other.block_on(set()),
        other.block_on(one.spawn_blocking(move || block_on(thread_of()))),
    ];
    assert!(!elsewhere.contains(&by_task));
}

#[test]
fn the_limits_of_an_executor_are_kept() {
    let refused = Executor::builder()
        .max_blocking_threads(0)
        .workers(1)
        .build();
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    assert_contains(refused, "`max_blocking_threads`");
    let hosted = Executor::builder()
        .max_blocking_threads(0)
        .workers(1)
        .build_hosted();
    assert!(hosted.is_err());

    for most in [1, 3, usize::MAX] {
        let executor = built(1, |builder| builder.max_blocking_threads(most));
        let (at_once, longest) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let calls: Vec<_> = (0..20)
            .map(|_| {
                let (at_once, longest) = (at_once.clone(), longest.clone());
                executor.spawn_blocking(move || {
                    longest.fetch_max(at_once.fetch_add(1, Relaxed) + 1, Relaxed);
                    thread::yield_now();
                    at_once.fetch_sub(1, Relaxed);
                })
            })
            .collect();
        calls.into_iter().for_each(block_on);
        assert!(longest.load(Relaxed) <= most);
        // The process's threads are no part of it.
        let (busy, end) = begun_on(|function| executor.spawn_blocking(function));
        assert_eq!(block_on(spawn_blocking(|| 7)), 7);
        end.send(()).unwrap();
        block_on(busy);
    }
}

#[test]
fn threads_live_as_the_builder_says_and_end_with_the_executor() {
    ends(|| {
        for keep in [Duration::ZERO, MILLI, HOUR, Duration::MAX] {
            let executor = built(1, |builder| builder.thread_keep_alive(keep));
            let (tells, ended) = mpsc::channel();
            block_on(executor.spawn_blocking(tells_its_end(tells)));
            match keep < HOUR {
                true => ended.recv().unwrap_err(),
                false => {
                    assert!(
                        ended
                            .try_recv()
                            .is_err_and(|e| e == mpsc::TryRecvError::Empty)
                    );
                    drop(executor);
                    ended.recv().unwrap_err()
                }
            };
        }
    });
}

#[test]
fn a_set_has_local_tasks_and_functions_that_block() {
    let (panics, local) = (|| -> u8 { panic!("no") }, LocalExecutor::new());
    let mut set = JoinSet::new();
    let results = local.block_on(async {
        let rc = Rc::new(1);
        set.spawn_local(async move { *rc });
        set.spawn_blocking(|| 2);
        set.spawn_blocking(panics);
        set.spawn_local(async move { panics() });
        let mut results = Vec::new();
        while let Some(result) = set.join_next().await {
            results.push(result.ok());
        }
        results.sort_unstable();
        results
    });
    assert_eq!(results, [None, None, Some(1), Some(2)]);
    assert!(catch_unwind(AssertUnwindSafe(|| set.spawn_local(async { 3 }).id())).is_err());
    assert!(set.is_empty());
}
