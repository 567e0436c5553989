//! Programs that misuse a simulation, or reach beyond it.

use std::{
    error::Error,
    future::{pending, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Poll, Waker},
    thread,
    time::Duration,
};

use joint::{JoinHandle, block_on, oneshot};
use joint_executor::{
    Executor, JoinSet, LocalExecutor, async_scope, spawn, spawn_blocking, spawn_detached,
    spawn_local,
    time::{now, sleep, timeout},
    yield_now,
};
use joint_sim::{self as sim, Builder, Panics};

use crate::common::OnDrop;

const SECOND: Duration = Duration::from_secs(1);

/// Waits for ever. A waker of the task exists meanwhile, or the task would end.
async fn forever() {
    let (_sender, receiver) = oneshot::channel::<()>();
    let _ = receiver.await;
}

#[test]
fn a_destructor_that_sleeps_after_the_end_ends() {
    let dropped = Arc::new(AtomicUsize::new(0));
    sim::run(1, async {
        let dropped = dropped.clone();
        spawn_detached(async move {
            let _guard = OnDrop(|| {
                dropped.fetch_add(1, Relaxed);
                block_on(sleep(SECOND));
            });
            forever().await;
        });
        yield_now().await;
        sleep(SECOND).await;
    });
    assert_eq!(dropped.load(Relaxed), 1);
}

#[test]
fn a_panic_in_the_drop_of_the_main_future_leaves_the_thread_usable() {
    let ended = catch_unwind(|| {
        Builder::new(1).run(async {
            let _guard = OnDrop(|| panic!("dropped"));
            spawn_detached(async {
                let _guard = OnDrop(|| ());
                forever().await;
            });
            spawn_blocking(|| block_on(pending::<()>())).detach();
            forever().await;
        })
    });
    let failure = ended.expect("the panic is not passed on").unwrap_err();
    assert!(failure.is_deadlock(), "{failure}");
    assert!(!sim::is_simulated());
    assert_eq!(sim::run(1, async { spawn(async { 1 }).await }), 1);
}

#[test]
fn a_failure_inside_the_last_poll_is_not_lost() {
    let mut failures = 0;
    for seed in 0..20 {
        let ended = Builder::new(seed).run(async {
            let (sender, receiver) = oneshot::channel();
            spawn_detached(async move {
                let _sender: oneshot::Sender<()> = sender;
                panic!("unseen");
            });
            let _ = block_on(receiver);
        });
        failures += usize::from(ended.is_err());
    }
    assert_eq!(failures, 20);
}

#[test]
fn a_scope_of_another_executor_in_a_run_that_fails() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let failure = Builder::new(1).run(async {
        let counts = dropped.clone();
        let other = Executor::builder().workers(1).build().unwrap();
        other.scope(|scope| {
            let borrowed = &counts;
            scope.spawn(async move {
                let _guard = OnDrop(|| {
                    borrowed.fetch_add(1, Relaxed);
                });
                forever().await;
            });
        });
    });
    assert!(failure.unwrap_err().is_deadlock());
    assert_eq!(dropped.load(Relaxed), 1);
}

#[test]
fn a_run_inside_a_local_executor_has_its_own_tasks() {
    let local = LocalExecutor::new();
    let sum = local.block_on(async {
        sim::run(1, async {
            let one = spawn_local(async { 1 }).await;
            let mut set = JoinSet::new();
            set.spawn(async { 2 });
            let two = set.join_next().await.unwrap().unwrap();
            sleep(SECOND).await;
            one + two + spawn(async { 4 }).await
        })
    });
    assert_eq!(sum, 7);
}

#[test]
fn a_run_on_a_worker_of_a_real_executor() {
    let executor = Executor::builder().workers(2).build().unwrap();
    let digest = || {
        let outcome = Builder::new(3).run(async {
            let start = now();
            let one = spawn_local(async { 1 }).await;
            let sleeps: Vec<_> = (0..4).map(|n| spawn(sleep(n * SECOND))).collect();
            for sleep in sleeps {
                sleep.await;
            }
            assert_eq!(
                spawn_blocking(move || block_on(spawn(async move { one }))).await,
                1
            );
            (now() - start).as_secs()
        });
        let outcome = outcome.unwrap();
        (outcome.output, outcome.digest)
    };
    let here = digest();
    assert_eq!(here.0, 3);
    assert_eq!(block_on(executor.spawn(async move { digest() })), here);
    let entered = executor.block_on(async { digest() });
    assert_eq!(entered, here);
    // It is still a worker.
    assert_eq!(
        block_on(executor.spawn(async { spawn(async { 1 }).await })),
        1
    );
}

#[test]
fn a_run_entered_from_a_real_executor_shuts_an_executor_down() {
    let executor = Executor::builder().workers(1).build().unwrap();
    executor.block_on(async {
        sim::run(1, async {
            let inner = Executor::builder().workers(1).build().unwrap();
            let inner = Arc::new(Mutex::new(Some(inner)));
            let own = inner.clone();
            let task = inner_spawn(&inner, async move {
                drop(own.lock().unwrap().take());
                let start = now();
                block_on(sleep(SECOND));
                assert_eq!(now() - start, SECOND);
            });
            sleep(3 * SECOND).await;
            drop(task);
        });
    });
}

fn inner_spawn(
    inner: &Arc<Mutex<Option<Executor>>>,
    task: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<()> {
    inner.lock().unwrap().as_ref().unwrap().spawn(task)
}

#[test]
fn an_executor_dropped_in_its_own_task_ends() {
    let dropped = Arc::new(AtomicUsize::new(0));
    sim::run(1, async {
        let inner = Executor::builder().workers(2).build().unwrap();
        let counts = dropped.clone();
        let other = inner.spawn(async move {
            let _guard = OnDrop(|| {
                counts.fetch_add(1, Relaxed);
            });
            forever().await;
        });
        yield_now().await;
        let inner = Arc::new(Mutex::new(Some(inner)));
        let own = inner.clone();
        let task = inner_spawn(&inner, async move { drop(own.lock().unwrap().take()) });
        task.await;
        assert!(other.result().await.unwrap_err().is_cancelled());
    });
    assert_eq!(dropped.load(Relaxed), 1);
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
        poll_fn(|cx| {
            assert!(timer.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        let executor = Executor::builder().workers(2).build().unwrap();
        let (sender, receiver) = oneshot::channel::<u32>();
        spawn_detached(async move { assert!(receiver.await.is_err()) });
        sleep(SECOND).await;
        let waker = waker.lock().unwrap().take().unwrap();
        (handle, waker, timer, executor, sender)
    });
    thread::spawn(move || {
        waker.wake_by_ref();
        let _ = sender.send(1);
        assert!(block_on(handle.result()).unwrap_err().is_cancelled());
        assert!(block_on(executor.spawn(async {}).result()).is_err());
        drop(executor);
        assert!(block_on(timeout(Duration::from_millis(1), timer)).is_err());
    })
    .join()
    .unwrap();
}

#[test]
fn a_real_executor_made_outside_is_refused() {
    let real = Executor::builder().workers(1).build().unwrap();
    let real = &real;
    let failure = Builder::new(1).run(async { real.spawn(async { 1 }).await });
    let report = failure.unwrap_err().to_string();
    assert!(
        report.contains("was made outside of the simulation"),
        "{report}"
    );
    let failure = Builder::new(1).run(async { real.spawn_detached(async {}) });
    let report = failure.unwrap_err().to_string();
    assert!(
        report.contains("was made outside of the simulation"),
        "{report}"
    );
    let failure = Builder::new(1).run(async { real.scope(|scope| drop(scope.spawn(async {}))) });
    let report = failure.unwrap_err().to_string();
    assert!(
        report.contains("was made outside of the simulation"),
        "{report}"
    );
    let failure = Builder::new(1).run(async { real.spawn_on(0, async { 1 }).await });
    let report = failure.unwrap_err().to_string();
    assert!(
        report.contains("was made outside of the simulation"),
        "{report}"
    );
    let failure = Builder::new(1).run(async { real.block_on(async { spawn(async { 1 }).await }) });
    let report = failure.unwrap_err().to_string();
    assert!(
        report.contains("was made outside of the simulation"),
        "{report}"
    );
    assert_eq!(block_on(real.spawn(async { 1 })), 1);
}

#[test]
fn a_wait_for_something_outside_says_so() {
    let real = Executor::builder().workers(1).build().unwrap();
    let task = real.spawn(forever());
    let failure = Builder::new(1).run(task).unwrap_err();
    assert!(failure.is_deadlock());
    let report = failure.to_string();
    assert!(
        report.contains("does not wait for what is outside"),
        "{report}"
    );
}

#[test]
fn a_thread_of_std_that_uses_an_executor_of_the_world_is_refused() {
    let outcome = Builder::new(1).run(async {
        let inner = Arc::new(Executor::builder().workers(1).build().unwrap());
        let own = inner.clone();
        let spawned = thread::spawn(move || {
            let task = own.spawn(async { 1 });
            drop(own);
            task
        });
        let message = match spawned.join() {
            Ok(_) => "no panic".to_owned(),
            Err(payload) => payload
                .downcast_ref::<String>()
                .cloned()
                .unwrap_or_else(|| payload.downcast_ref::<&str>().unwrap().to_string()),
        };
        yield_now().await;
        spawn(async {}).await;
        message
    });
    let message = outcome.unwrap().output;
    assert!(message.contains("belongs to a simulation"), "{message}");
}

#[test]
fn an_executor_of_another_world_is_refused() {
    sim::run(1, async {
        let inner = Arc::new(Executor::builder().workers(1).build().unwrap());
        let other = inner.clone();
        let other = thread::spawn(move || {
            let uses: [fn(&Executor); 4] = [
                |other| drop(other.spawn(async {})),
                |other| other.spawn_detached(async {}),
                |other| other.scope(|scope| drop(scope.spawn(async {}))),
                |other| other.block_on(async {}),
            ];
            for using in uses {
                let other = other.clone();
                let failure = Builder::new(2)
                    .run(async move { using(&other) })
                    .unwrap_err();
                let report = failure.to_string();
                assert!(report.contains("belongs to a simulation"), "{report}");
                assert!(report.contains("or to another one"), "{report}");
            }
        });
        other.join().unwrap();
        assert_eq!(inner.spawn(async { 1 }).await, 1);
    });
}

#[test]
fn an_executor_dropped_in_another_world_ends() {
    sim::run(1, async {
        let inner = Executor::builder().workers(1).build().unwrap();
        let task = inner.spawn(forever());
        sleep(SECOND).await;
        let other = thread::spawn(|| sim::run(2, async move { drop(inner) }));
        other.join().unwrap();
        assert!(task.result().await.unwrap_err().is_cancelled());
    });
}

#[test]
fn an_executor_dropped_on_a_thread_of_std_ends() {
    sim::run(1, async {
        let inner = Executor::builder().workers(1).build().unwrap();
        let task = inner.spawn(forever());
        sleep(SECOND).await;
        thread::spawn(move || drop(inner)).join().unwrap();
        assert!(task.result().await.unwrap_err().is_cancelled());
    });
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

#[test]
fn a_destructor_that_waits_in_a_run_that_fails() {
    let failure = Builder::new(1).run(async {
        let _guard = OnDrop(|| {
            block_on(spawn(async { 1 }));
        });
        let inner = spawn(async {
            let _guard = OnDrop(|| {
                block_on(sleep(SECOND));
            });
            block_on(pending::<()>());
        });
        block_on(inner);
    });
    assert!(failure.unwrap_err().is_deadlock());
}

#[test]
fn nested_waits_fail_together() {
    let failure = Builder::new(1).workers(8).run(async {
        fn nest(depth: usize) -> JoinHandle<()> {
            spawn(async move {
                match depth {
                    0 => block_on(pending()),
                    _ => block_on(nest(depth - 1)),
                }
            })
        }
        block_on(nest(5));
    });
    assert!(failure.unwrap_err().is_deadlock());
    let failure = Builder::new(1).workers(8).run(async {
        block_on(spawn(async {
            block_on(spawn(async { panic!("inmost") }));
        }));
    });
    let report = failure.unwrap_err().to_string();
    assert!(report.contains("inmost"), "{report}");
}

#[test]
fn many_tasks_and_equal_deadlines() {
    let woken = sim::run(1, async {
        let order = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..20_000)
            .map(|n| {
                let order = order.clone();
                spawn(async move {
                    sleep(SECOND * (n % 3)).await;
                    order.fetch_add(1, Relaxed)
                })
            })
            .collect();
        let mut last = 0;
        for task in tasks {
            last = last.max(task.await);
        }
        last
    });
    assert_eq!(woken, 19_999);
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
fn timers_beyond_the_clock() {
    let failure = Builder::new(1).run(async {
        let _ = timeout(SECOND, sleep(Duration::MAX)).await;
        let far = Duration::from_secs(580 * 365 * 86_400);
        sleep(far).await;
        sleep(far).await;
        sleep(far).await;
    });
    let failure = failure.unwrap_err();
    assert!(failure.is_deadlock(), "{failure}");
}

#[test]
fn time_that_has_run_out_is_a_limit() {
    let failure = Builder::new(1).charge(Duration::MAX).run(async {
        for _ in 0..5 {
            yield_now().await;
        }
        let _ = timeout(SECOND, forever()).await;
    });
    let report = failure.unwrap_err().to_string();
    assert!(report.contains("of virtual time"), "{report}");
}

#[test]
fn a_local_executor_inside_fails_with_its_run() {
    let failure = Builder::new(1).run(async {
        let local = LocalExecutor::new();
        local.spawn(forever()).detach();
        local.block_on(async { sleep(SECOND).await });
        local.block_on(pending::<()>());
    });
    assert!(failure.unwrap_err().is_deadlock());
}

#[test]
fn sets_and_scopes_are_dropped_with_their_run() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let failure = Builder::new(1).run(async {
        let counts = || {
            let counts = dropped.clone();
            OnDrop(move || {
                counts.fetch_add(1, Relaxed);
            })
        };
        let mut set = JoinSet::new();
        for _ in 0..3 {
            let counts = counts();
            set.spawn(async move {
                let _counts = counts;
                forever().await;
            });
        }
        async_scope(counts(), async |scope| {
            let counts = counts();
            scope.spawn(async move {
                let _counts = counts;
                forever().await;
            });
            set.join_next().await;
        })
        .await;
    });
    assert!(failure.unwrap_err().is_deadlock());
    assert_eq!(dropped.load(Relaxed), 5);
}

#[test]
fn a_world_inside_a_world_is_refused() {
    let failure = Builder::new(1).run(async { sim::run(2, async {}) });
    let report = failure.unwrap_err().to_string();
    assert!(
        report.contains("cannot be run inside a simulation"),
        "{report}"
    );
    let failure = Builder::new(1).run(async { spawn_blocking(|| sim::run(2, async {})).await });
    let report = failure.unwrap_err().to_string();
    assert!(
        report.contains("cannot be run inside a simulation"),
        "{report}"
    );
    // A thread of its own may have one.
    let run = || thread::spawn(|| sim::run(2, sleep(SECOND))).join();
    sim::run(1, async move { run().unwrap() });
}

#[test]
fn panics_of_hooks_and_destructors_stay_in_their_place() {
    let panics_at_its_end = async || {
        let _guard = OnDrop(|| panic!("dropped"));
        forever().await;
    };
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let settings = Builder::new(1).panics(Panics::Detached);
        settings.run(async {
            let kept = spawn(panics_at_its_end());
            sleep(SECOND).await;
            [kept]
        })
    }));
    let [kept] = ended.expect("not passed on").unwrap().output;
    assert!(block_on(kept.result()).is_err());
    let ended = catch_unwind(AssertUnwindSafe(|| {
        Builder::new(1).run(async {
            spawn_detached(panics_at_its_end());
            sleep(SECOND).await;
        })
    }));
    let failure = ended.expect("not passed on").unwrap_err();
    assert!(failure.to_string().contains(": dropped"), "{failure}");
}

#[test]
fn failures_pass_through_a_question_mark() -> Result<(), Box<dyn Error + Send + Sync>> {
    let outcome = Builder::new(1).run(async { 1 })?;
    assert_eq!(outcome.output, 1);
    sim::Check::new().seeds(3).find(|| async {})?;
    let failure = Builder::new(1).run(async { panic!("of the program") });
    let failure: Box<dyn Error + Send + Sync> =
        failure.map(|_: sim::Outcome<()>| ()).unwrap_err().into();
    assert!(failure.to_string().contains("of the program"));
    Ok(())
}
