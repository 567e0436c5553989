//! Programs that misuse a simulation, or reach beyond it.

use std::{future::poll_fn, panic::AssertUnwindSafe};

use joint::{JoinHandle, oneshot};
use joint_sim::Failure;

use crate::{forever, prelude::*};

#[test]
fn panics_of_destructors_stay_in_their_place() {
    fn run<F: Future>(panics: Panics, program: F) -> Result<F::Output, Failure> {
        let run = AssertUnwindSafe(|| Builder::new(1).panics(panics).run(program));
        let ended = catch_unwind(run).expect("the panic is not passed on");
        ended.map(|outcome| outcome.output)
    }
    let panics_at_its_end = async || {
        let _guard = OnDrop(|| panic!("dropped"));
        forever().await;
    };
    let ended = run(Panics::Unseen, async {
        spawn_detached(forever());
        spawn_blocking(|| block_on(pending::<()>())).detach();
        panics_at_its_end().await;
    });
    let failure = ended.unwrap_err();
    assert!(failure.is_deadlock(), "{failure}");
    let ended = run(Panics::Detached, async {
        let kept = spawn(panics_at_its_end());
        sleep(SECOND).await;
        [kept]
    });
    let [kept] = ended.unwrap();
    assert!(block_on(kept.result()).is_err());
    let ended = run(Panics::Unseen, async {
        spawn_detached(panics_at_its_end());
        sleep(SECOND).await;
    });
    says(ended.unwrap_err(), ": dropped");
    // The thread is left as it was.
    assert!(!sim::is_simulated());
    assert_eq!(sim::run(1, async { spawn(async { 1 }).await }), 1);
}

#[test]
fn a_failure_inside_the_last_poll_is_not_lost() {
    for seed in 0..20 {
        let ended = Builder::new(seed).run(async {
            let (sender, receiver) = oneshot::channel();
            spawn_detached(async move {
                let _sender: oneshot::Sender<()> = sender;
                panic!("unseen");
            });
            let _ = block_on(receiver);
        });
        assert!(ended.is_err(), "{seed}");
    }
}

#[test]
fn a_run_is_the_same_inside_of_a_real_executor() {
    let digest = || {
        let outcome = Builder::new(3).run(async {
            let start = now();
            let one = spawn_local(async { 1 }).await;
            let sleeps: Vec<_> = (0..4).map(|n| spawn(sleep(n * SECOND))).collect();
            crate::join(sleeps).await;
            let call = spawn_blocking(move || block_on(spawn(async move { one })));
            assert_eq!(call.await, 1);
            (now() - start).as_secs()
        });
        let outcome = outcome.unwrap();
        (outcome.output, outcome.digest)
    };
    let here = digest();
    assert_eq!(here.0, 3);
    let real = executor(2);
    assert_eq!(block_on(real.spawn(async move { digest() })), here);
    assert_eq!(real.block_on(async { digest() }), here);
    assert_eq!(LocalExecutor::new().block_on(async { digest() }), here);
    // It is still a worker.
    let task = real.spawn(async { spawn(async { 1 }).await });
    assert_eq!(block_on(task), 1);
}

/// Drops an executor in a poll of its own, which waits after that.
fn drop_in_its_task(inner: Executor) {
    let inner = Arc::new(Mutex::new(Some(inner)));
    let own = inner.clone();
    let task = async move {
        drop(own.lock().unwrap().take());
        let start = now();
        block_on(sleep(SECOND));
        assert_eq!(now() - start, SECOND);
    };
    let inner = inner.lock().unwrap();
    inner.as_ref().unwrap().spawn_detached(task);
}

#[test]
fn an_executor_ends_wherever_it_is_dropped() {
    let places: [(_, fn(Executor)); 3] = [
        ("a task of its own", drop_in_its_task),
        ("another world", |inner| {
            let other = thread::spawn(|| sim::run(2, async move { drop(inner) }));
            other.join().unwrap();
        }),
        ("a thread of std", |inner| {
            thread::spawn(move || drop(inner)).join().unwrap();
        }),
    ];
    let real = executor(1);
    each_row(places, |drop_there| {
        let run = || {
            sim::run(1, async {
                let inner = executor(2);
                let task = inner.spawn(forever());
                sleep(SECOND).await;
                drop_there(inner);
                assert!(task.result().await.unwrap_err().is_cancelled());
                sleep(3 * SECOND).await;
            });
        };
        run();
        real.block_on(async { run() });
    });
}

#[test]
fn handles_wakers_and_timers_outlive_the_world() {
    let (handle, waker, timer, executor, sender) = sim::run(1, async {
        let handle = spawn(forever());
        let waker: Arc<Mutex<Option<Waker>>> = Arc::default();
        let slot = waker.clone();
        spawn_detached(poll_fn(move |cx| {
            *slot.lock().unwrap() = Some(cx.waker().clone());
            Poll::<()>::Pending
        }));
        let mut timer = Box::pin(sleep(1000 * SECOND));
        assert!(futures_lite::future::poll_once(&mut timer).await.is_none());
        let (sender, receiver) = oneshot::channel::<u32>();
        spawn_detached(async move { assert!(receiver.await.is_err()) });
        sleep(SECOND).await;
        let waker = waker.lock().unwrap().take().unwrap();
        (handle, waker, timer, executor(2), sender)
    });
    thread::spawn(move || {
        waker.wake_by_ref();
        let _ = sender.send(1);
        assert!(block_on(handle.result()).unwrap_err().is_cancelled());
        assert!(block_on(executor.spawn(async {}).result()).is_err());
        drop(executor);
        // The time of the world is long past outside.
        block_on(timer);
    })
    .join()
    .unwrap();
}

type Use = fn(&Executor);

/// The ways to use an executor.
const USES: [(&str, Use); 5] = [
    ("spawn", |executor| drop(executor.spawn(async {}))),
    ("detached", |executor| executor.spawn_detached(async {})),
    ("on a worker", |executor| {
        drop(executor.spawn_on(0, async {}));
    }),
    ("scope", |executor| {
        executor.scope(|scope| drop(scope.spawn(async {})));
    }),
    ("block_on", |executor| executor.block_on(async {})),
];

#[test]
fn a_real_executor_made_outside_is_refused() {
    let real = executor(1);
    each_row(USES, |using| {
        let failure = Builder::new(1).run(async { using(&real) });
        says(failure.unwrap_err(), "was made outside of the simulation");
    });
    assert_eq!(block_on(real.spawn(async { 1 })), 1);
}

#[test]
fn an_executor_of_a_world_is_refused_elsewhere() {
    sim::run(1, async {
        let inner = executor(1);
        let elsewhere = || {
            each_row(USES, |using| {
                let failure = Builder::new(2).run(async { using(&inner) }).unwrap_err();
                says(&failure, "belongs to a simulation");
                says(&failure, "or to another one");
                // On a thread of std.
                says(panic_text(|| using(&inner)), "belongs to a simulation");
            });
        };
        thread::scope(|scope| scope.spawn(elsewhere).join().unwrap());
        assert_eq!(inner.spawn(async { 1 }).await, 1);
    });
}

#[test]
fn a_world_inside_a_world_is_refused() {
    let refused = "cannot be run inside a simulation";
    let failure = Builder::new(1).run(async { sim::run(2, async {}) });
    says(failure.unwrap_err(), refused);
    let failure = Builder::new(1).run(async { spawn_blocking(|| sim::run(2, async {})).await });
    says(failure.unwrap_err(), refused);
    // A thread of its own may have one.
    let run = || thread::spawn(|| sim::run(2, sleep(SECOND))).join();
    sim::run(1, async move { run().unwrap() });
}

#[test]
fn a_wakeup_by_a_thread_of_std_arrives() {
    for _ in 0..20 {
        sim::run(1, async {
            let (sender, receiver) = oneshot::channel();
            let thread = thread::spawn(move || sender.send(1).unwrap());
            let task = spawn(async move { receiver.await.unwrap() });
            yield_now().await;
            thread.join().unwrap();
            assert_eq!(task.await, 1);
        });
    }
}

fn nest(depth: usize) -> JoinHandle<()> {
    spawn(async move {
        match depth {
            0 => block_on(pending()),
            _ => block_on(nest(depth - 1)),
        }
    })
}

/// Makes a program. What it counts must be dropped.
type Program = fn(&dyn Fn() -> Counts) -> Pin<Box<dyn Future<Output = ()>>>;

const DEADLOCKS: [(&str, Program); 5] = [
    ("waits inside of waits", |_| {
        Box::pin(async { block_on(nest(5)) })
    }),
    ("a local executor", |_| {
        Box::pin(async {
            let local = LocalExecutor::new();
            local.spawn(forever()).detach();
            local.block_on(async { sleep(SECOND).await });
            local.block_on(pending::<()>());
        })
    }),
    ("destructors that wait", |_| {
        Box::pin(async {
            let _guard = OnDrop(|| {
                block_on(spawn(async { 1 }));
            });
            block_on(spawn(async {
                let _guard = OnDrop(|| block_on(sleep(SECOND)));
                block_on(pending::<()>());
            }));
        })
    }),
    ("timers beyond the clock", |_| {
        Box::pin(async {
            let _ = timeout(SECOND, sleep(Duration::MAX)).await;
            for _ in 0..3 {
                sleep(Duration::from_secs(580 * 365 * 86_400)).await;
            }
        })
    }),
    ("sets and scopes", |counts| {
        let [set_counts, scope_counts, env] = [counts(), counts(), counts()];
        Box::pin(async {
            let mut set = JoinSet::new();
            set.spawn(async {
                let _counts = set_counts;
                forever().await;
            });
            let scope = async_scope(env, async |scope| {
                scope.spawn(async {
                    let _counts = scope_counts;
                    forever().await;
                });
                set.join_next().await;
            });
            scope.await;
        })
    }),
];

#[test]
fn a_run_that_deadlocks_drops_all_that_it_has() {
    each_row(DEADLOCKS, |program| {
        let (made, dropped) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        let counts = || {
            made.fetch_add(1, Relaxed);
            Counts(dropped.clone())
        };
        let run = Builder::new(1).workers(8).run(program(&counts));
        let failure = run.unwrap_err();
        assert!(failure.is_deadlock(), "{failure}");
        assert_eq!(dropped.load(Relaxed), made.load(Relaxed));
    });
}

#[test]
fn many_tasks_beneath_a_poll_that_blocks() {
    let sum = sim::run(1, async {
        let tasks: Vec<_> = (0..20_000).map(|_| spawn(async { 1 })).collect();
        block_on(async {
            let mut sum = 0;
            for task in tasks {
                sum += task.await;
            }
            sum
        })
    });
    assert_eq!(sum, 20_000);
}

#[test]
fn time_that_has_run_out_is_a_limit() {
    let failure = Builder::new(1).charge(Duration::MAX).run(async {
        for _ in 0..5 {
            yield_now().await;
        }
        let _ = timeout(SECOND, forever()).await;
    });
    says(failure.unwrap_err(), "of virtual time");
}
