//! Ways to shut down that do not wait for everything.

use joint::park::Parked;

use crate::prelude::*;

#[test]
fn shutdown_timeout_reports_the_workers_that_are_late() {
    ends(|| {
        for limit in [Duration::ZERO, MILLI] {
            let executor = executor(3);
            let idle = executor.spawn(pending::<()>());
            let busy = Busy::spawn(executor.task().on_worker(1));
            let error = executor.shutdown_timeout(limit).unwrap_err();
            // With no time at all, others may not have arrived yet.
            if limit.is_zero() {
                assert!(error.workers().contains(&1), "{error:?}");
            }
            assert!(error.tasks() >= 1);
            let text = error.to_string();
            assert!(text.contains("not shut down in time"), "{text}");
            // The shutdown goes on by itself.
            assert!(block_on(idle.result()).is_err());
            assert!(busy.release().is_ok());
        }
    });
}

/// A task that shuts its own executor down: its worker is late, and the others are not.
#[test]
fn a_task_that_shuts_its_executor_down_names_its_own_worker() {
    ends(|| {
        for workers in [1, 2, 4] {
            let executor = executor(workers);
            let (give, given) = mpsc::channel::<Executor>();
            let (tell, told) = mpsc::channel();
            executor.spawn_detached(async move {
                let executor = given.recv().unwrap();
                let worker = joint_executor::current_worker().unwrap();
                tell.send((worker, executor.shutdown_timeout(HOUR)))
                    .unwrap();
            });
            give.send(executor).unwrap();
            let (worker, outcome) = told.recv().unwrap();
            assert_eq!(outcome.unwrap_err().workers(), [worker]);
        }
    });
}

/// The workers that have arrived wait for one that has not, and are not blamed.
#[test]
fn shutdown_timeout_names_only_the_worker_that_blocks_others() {
    ends(|| {
        let executor = executor(3);
        let (drop_me, dropped) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        // Dropped by the first worker that arrives. The others are soon there too.
        executor.spawn_detached(async move {
            let _drop_me = drop_me;
            pending::<()>().await;
        });
        executor.task().on_worker(1).spawn_detached(async move {
            begin.send(()).unwrap();
            let _ = dropped.recv();
            let _ = ended.recv();
        });
        begun.recv().unwrap();
        let error = executor
            .shutdown_timeout(Duration::from_secs(1))
            .unwrap_err();
        assert_eq!(error.workers(), [1]);
        drop(end);
    });
}

thread_local! {
    /// Told when a wait of this thread is about to park.
    static PARKS: Cell<Option<mpsc::Sender<&'static str>>> = const { Cell::new(None) };
}

/// Waits as a thread does, and tells of it first.
fn telling(deadline: Option<Instant>, is_due: &mut dyn FnMut() -> bool) -> Parked {
    if let Some(parks) = PARKS.take() {
        parks.send("waits").unwrap();
    }
    host::update(|host| host.wait = None);
    park_until(deadline, is_due)
}

/// A function that the executor's end waits for, as a task or as a call, until it is released.
fn hold(executor: &Executor, is_call: bool) -> mpsc::Sender<()> {
    let (begin, begun) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let waits = move || {
        begin.send(()).unwrap();
        let _ = released.recv();
    };
    match is_call {
        true => block_on(executor.spawn(async move { spawn_blocking(waits).detach() })),
        false => executor.spawn_detached(async move { waits() }),
    }
    begun.recv().unwrap();
    release
}

#[test]
fn each_of_several_callers_waits_until_everything_has_ended() {
    let shut_down: fn(Executor) = |executor| assert_eq!(executor.shutdown_timeout(HOUR), Ok(()));
    for is_call in [false, true] {
        // The drop does not wait for calls.
        let last = if is_call { shut_down } else { drop };
        ends(move || {
            let owner = executor(2);
            let handles = [owner.handle(), owner.handle(), owner.handle()];
            let release = hold(&owner, is_call);
            let (tell, told) = mpsc::channel();
            let mut callers = Vec::new();
            let mut call = |f: Box<dyn FnOnce() + Send>| {
                let tell = tell.clone();
                callers.push(thread::spawn(move || {
                    PARKS.set(Some(tell.clone()));
                    host::update(|host| host.wait = Some(telling));
                    f();
                    tell.send("has returned").unwrap();
                }));
                assert_eq!(told.recv().unwrap(), "waits");
            };
            let [first, second, third] = handles;
            call(Box::new(move || {
                assert_eq!(first.shutdown_timeout(HOUR), Ok(()))
            }));
            call(Box::new(move || {
                assert_eq!(second.shutdown_timeout(Duration::MAX), Ok(()))
            }));
            call(Box::new(move || last(owner)));
            let late = || {
                let error = third.shutdown_timeout(Duration::ZERO).unwrap_err();
                let calls = format!("{} functions of `spawn_blocking`", error.blocking());
                assert!(error.blocking() == 0 || error.to_string().contains(&calls));
                (error.workers().len(), error.blocking())
            };
            // The workers that nothing holds end soon.
            wait_until(|| late() == if is_call { (0, 1) } else { (1, 0) });
            assert_eq!(
                executor(1).shutdown_timeout(HOUR),
                Ok(()),
                "it has no such function"
            );
            drop(release);
            callers
                .into_iter()
                .for_each(|caller| caller.join().unwrap());
            assert_eq!(third.shutdown_timeout(Duration::ZERO), Ok(()));
        });
    }
}

/// Each waits for the other's worker, unless that is excepted.
#[test]
fn two_tasks_shut_down_their_own_executor_at_once() {
    ends(|| {
        let executor = executor(2);
        let both = Arc::new(Barrier::new(2));
        let tasks = [0, 1].map(|worker| {
            let (both, handle) = (both.clone(), executor.handle());
            executor.spawn_on(worker, async move {
                both.wait();
                handle.shutdown_timeout(Duration::MAX).is_err()
            })
        });
        assert_eq!(tasks.map(block_on), [true, true]);
    });
}

#[test]
fn a_blocking_function_that_shuts_down_does_not_wait_for_itself() {
    ends(|| {
        let executor = executor(1);
        let handle = executor.handle();
        let call =
            executor.enter(|| spawn_blocking(move || handle.shutdown_timeout(Duration::MAX)));
        let error = block_on(call).unwrap_err();
        assert_eq!((error.workers(), error.blocking()), (&[][..], 1));
    });
}

#[test]
fn the_thread_of_a_hosted_worker_does_not_wait_for_that() {
    ends(|| {
        let (executor, mut workers) = hosted(2);
        let (runs, own) = (workers.remove(0), workers.remove(0).bind());
        let runs = thread::spawn(|| runs.run());
        let error = executor.shutdown_timeout(Duration::MAX).unwrap_err();
        assert_eq!(error.workers(), [1]);
        drop(own);
        runs.join().unwrap();
        assert_eq!(executor.shutdown_timeout(Duration::MAX), Ok(()));
    });
}
