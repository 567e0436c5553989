//! The types of `joint` and `joint-executor` under `check`: each test asserts a documented promise.
//!
//! `JOINT_SIM_SEEDS=5000 cargo test -p joint-sim --test sim own` runs more seeds.

use std::{
    cell::{Cell, RefCell},
    future::pending,
    pin::pin,
    rc::Rc,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use joint::{JoinError, oneshot};
use joint_executor::{
    JoinSet, LocalExecutor, async_scope, spawn, spawn_local,
    time::{MissedTicks, interval, now, sleep, timeout},
    yield_now,
};
use joint_flow::shared;
use joint_sim::{Check, Faults, Panics, random};

use crate::{Counts, join};

/// The promises below count polls and times, so there are no faults.
fn check<F: Future<Output = ()>>(program: impl Fn() -> F) {
    let check = Check::new().panics(Panics::Detached).seeds(300);
    let check = check.faults(Faults::none());
    check.run(program);
}

fn below(bound: u64) -> u64 {
    random() % bound
}

const fn micros(number: u64) -> Duration {
    Duration::from_micros(number)
}

/// Waits in one of the ways in which a task can.
async fn waits() {
    match below(4) {
        0 => {}
        1 => yield_now().await,
        2 => sleep(micros(below(5))).await,
        _ => {
            yield_now().await;
            yield_now().await;
        }
    }
}

#[test]
fn a_join_set_returns_results_in_the_order_of_the_ends() {
    check(|| async {
        let ended = Arc::new(Mutex::new(Vec::new()));
        let mut set = JoinSet::new();
        for n in 0..8 {
            let ended = ended.clone();
            set.spawn(async move {
                waits().await;
                ended.lock().unwrap().push(n);
                n
            });
            waits().await;
        }
        let mut returned = Vec::new();
        while let Some(n) = set.join_next().await {
            returned.push(n.unwrap());
        }
        assert_eq!(returned, *ended.lock().unwrap());
        assert!(set.is_empty());
    });
}

#[test]
fn a_join_set_loses_no_result_when_its_futures_are_dropped() {
    check(|| async {
        let mut set = JoinSet::new();
        for n in 0..8 {
            set.spawn(async move {
                waits().await;
                assert!(n != 5, "the sixth");
                n
            });
        }
        let (mut sum, mut panics) = (0, 0);
        while !set.is_empty() {
            // A wait of no length polls `join_next` once and drops it.
            match timeout(micros(below(3)), set.join_next()).await {
                Ok(Some(Ok(n))) => sum += n,
                Ok(Some(Err(error))) => panics += usize::from(error.is_panic()),
                Ok(None) => panic!("a result was lost"),
                Err(_) => yield_now().await,
            }
        }
        assert_eq!((sum, panics), (28 - 5, 1));
    });
}

#[test]
fn a_join_set_that_has_shut_down_has_dropped_all_futures() {
    check(|| async {
        let dropped = Arc::new(AtomicUsize::new(0));
        let mut set = JoinSet::new();
        for round in 1..=2 {
            for n in 0..5 {
                let counts = Counts(dropped.clone());
                set.spawn(async move {
                    let _counts = counts;
                    waits().await;
                    if n % 2 == 0 {
                        pending::<()>().await;
                    }
                });
            }
            waits().await;
            // The first poll cancels the tasks, whatever becomes of the future.
            while timeout(micros(below(2)), set.shutdown()).await.is_err() {}
            assert_eq!((set.len(), dropped.load(Relaxed)), (0, 5 * round));
        }
        set.spawn(pending());
        drop(set);
    });
}

#[test]
fn all_waiters_of_a_shared_value_get_it() {
    check(|| async {
        let (sender, value) = shared::channel();
        let gets = Arc::new(AtomicUsize::new(0));
        let is_sent = below(4) != 0;
        let waiters: Vec<_> = (0..6)
            .map(|_| {
                let (value, gets) = (value.clone(), gets.clone());
                spawn(async move {
                    waits().await;
                    // It may stop waiting, and start again.
                    let result = loop {
                        match timeout(micros(below(3)), value.wait()).await {
                            Ok(result) => break result.copied(),
                            Err(_) if below(3) == 0 => return,
                            Err(_) => waits().await,
                        }
                    };
                    assert_eq!(result.is_ok(), is_sent);
                    assert_eq!(value.clone().await, result);
                    assert!(value.is_finished());
                    gets.fetch_add(1, Relaxed);
                })
            })
            .collect();
        spawn(async move {
            waits().await;
            if is_sent {
                sender.send(7);
            }
        })
        .await;
        assert_eq!(value.get().copied(), is_sent.then_some(7));
        join(waiters).await;
        assert!(gets.load(Relaxed) <= 6);
    });
}

#[test]
fn a_waiter_of_a_shared_value_takes_over_from_one_that_stops() {
    check(|| async {
        let (sender, value) = shared::channel();
        let tasks: Vec<_> = (0..4)
            .map(|n| {
                let value = value.clone();
                spawn(async move {
                    if n % 2 == 0 {
                        let _ = timeout(micros(below(4)), value.clone()).await;
                        waits().await;
                    }
                    value.await
                })
            })
            .collect();
        sleep(micros(below(6))).await;
        sender.send("sent");
        for task in tasks {
            assert_eq!(task.await, Ok("sent"));
        }
    });
}

#[test]
fn a_scope_returns_when_all_its_tasks_have_ended() {
    check(|| async {
        let numbers: Vec<_> = (0..6).collect();
        let ended = Arc::new(AtomicUsize::new(0));
        let counted = ended.clone();
        let kept = async_scope((numbers, counted), async |scope| {
            let (numbers, ended) = scope.env();
            let mut kept = 0;
            for number in numbers {
                let handle = scope.spawn(async move {
                    waits().await;
                    // A task starts further tasks.
                    scope.spawn(async {
                        waits().await;
                        ended.fetch_add(1, Relaxed);
                    });
                    *number
                });
                match below(2) {
                    0 => kept += handle.await,
                    // It runs on without its handle.
                    _ => drop(handle),
                }
            }
            kept
        });
        assert!(kept.await <= 15);
        assert_eq!(ended.load(Relaxed), 6);
    });
}

#[test]
fn a_scope_that_is_dropped_cancels_its_tasks() {
    check(|| async {
        let (dropped, env) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counts = Counts(env.clone());
        let inner = dropped.clone();
        let scope = async_scope((counts, inner), async |scope| {
            for _ in 0..5 {
                let counts = Counts(scope.env().1.clone());
                scope.spawn(async move {
                    let _counts = counts;
                    waits().await;
                    pending::<()>().await;
                });
                waits().await;
            }
        });
        let late = timeout(micros(below(20)), scope).await;
        assert!(late.is_err(), "its tasks never end");
        // The tasks end in their next runs, and the environment with the last of them.
        while env.load(Relaxed) == 0 {
            yield_now().await;
        }
        assert!(dropped.load(Relaxed) <= 5);
        sleep(micros(1)).await;
        assert_eq!(Arc::strong_count(&dropped), 1, "a task is left");
    });
}

#[test]
fn a_scope_panics_with_a_panic_that_no_handle_has_returned() {
    check(|| async {
        let ended = Arc::new(AtomicUsize::new(0));
        let counted = ended.clone();
        let scope = spawn(async_scope(counted, async |scope| {
            let seen = scope.spawn(async {
                waits().await;
                panic!("seen");
            });
            scope.spawn(async {
                waits().await;
                panic!("unseen");
            });
            scope.spawn(async move {
                waits().await;
                scope.env().fetch_add(1, Relaxed);
            });
            let seen: Result<(), _> = seen.result().await;
            assert!(seen.is_err());
        }));
        let JoinError::Panicked(payload) = scope.result().await.unwrap_err() else {
            panic!("the scope was not cancelled");
        };
        assert_eq!(payload.message(), Some("unseen"));
        assert_eq!(ended.load(Relaxed), 1, "the other tasks are not cancelled");
    });
}

#[test]
fn a_timeout_ends_at_its_deadline_or_before() {
    check(|| async {
        let tasks: Vec<_> = (0..5)
            .map(|_| {
                spawn(async {
                    waits().await;
                    let (limit, needs) = (micros(below(6)), micros(below(6)));
                    let start = now();
                    let dropped = Arc::new(AtomicUsize::new(0));
                    let counts = Counts(dropped.clone());
                    let mut timeout = pin!(timeout(limit, async move {
                        let _counts = counts;
                        sleep(needs).await;
                    }));
                    let result = timeout.as_mut().await;
                    // What is ready at the deadline is not too late. With a limit of zero there is
                    // one poll, and a sleep of zero takes two.
                    let in_time = needs <= limit && !limit.is_zero();
                    assert_eq!(result.is_ok(), in_time, "{needs:?} {limit:?}");
                    assert_eq!(now() - start, needs.min(limit));
                    assert_eq!(dropped.load(Relaxed), 1, "dropped before the result");
                })
            })
            .collect();
        join(tasks).await;
    });
}

#[test]
fn late_ticks_follow_each_policy_for_missed_ticks() {
    check(|| async {
        const PERIOD: Duration = micros(10);
        let missed = [MissedTicks::Burst, MissedTicks::Delay, MissedTicks::Skip];
        let tasks = missed.map(|missed| {
            spawn(async move {
                let mut ticks = interval(PERIOD).missed_ticks(missed);
                let mut due = ticks.tick().await;
                assert_eq!(due, now());
                let mut next = due + PERIOD;
                for _ in 0..8 {
                    sleep(micros(below(35))).await;
                    // A future that is dropped loses no tick.
                    let tick = loop {
                        match timeout(micros(below(8)), ticks.tick()).await {
                            Ok(tick) => break tick,
                            Err(_) => waits().await,
                        }
                    };
                    assert_eq!(tick, next, "{missed:?}");
                    assert!(tick <= now());
                    (due, next) = (tick, tick + PERIOD);
                    let is_late = now() >= next;
                    match missed {
                        MissedTicks::Delay if is_late => next = now() + PERIOD,
                        MissedTicks::Skip => {
                            while next <= now() {
                                next += PERIOD;
                            }
                        }
                        _ => {}
                    }
                }
                due
            })
        });
        join(tasks).await;
    });
}

#[test]
fn a_local_executor_runs_its_tasks_in_the_order_of_their_wake_ups() {
    check(|| async {
        let runs = async {
            let local = LocalExecutor::new();
            let order = Rc::new(RefCell::new(Vec::new()));
            let tasks: Vec<_> = (0..5)
                .map(|n| {
                    let order = order.clone();
                    local.spawn(async move {
                        for _ in 0..3 {
                            order.borrow_mut().push(n);
                            yield_now().await;
                        }
                    })
                })
                .collect();
            local
                .run(async {
                    join(tasks).await;
                })
                .await;
            let expected: Vec<_> = (0..3).flat_map(|_| 0..5).collect();
            assert_eq!(*order.borrow(), expected);
            assert!(local.is_empty());
        };
        // Whatever else runs meanwhile.
        let noise: Vec<_> = (0..3).map(|_| spawn(waits())).collect();
        runs.await;
        join(noise).await;
    });
}

#[test]
fn a_local_executor_is_woken_by_tasks_elsewhere() {
    check(|| async {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..6).map(|_| oneshot::channel()).unzip();
        let senders: Vec<_> = (0..)
            .zip(senders)
            .map(|(n, sender)| {
                spawn(async move {
                    waits().await;
                    sender.send(n).unwrap();
                })
            })
            .collect();
        let local = LocalExecutor::new();
        let sum = Rc::new(Cell::new(0));
        let tasks: Vec<_> = receivers
            .into_iter()
            .map(|receiver| {
                let sum = sum.clone();
                local.spawn(async move {
                    waits().await;
                    let received = receiver.await.unwrap();
                    sum.set(sum.get() + received);
                })
            })
            .collect();
        let all = async {
            join(tasks).await;
        };
        match below(2) {
            0 => local.run(all).await,
            _ => local.block_on(all),
        }
        assert_eq!(sum.get(), 15);
        join(senders).await;
    });
}

#[test]
fn a_local_executor_that_is_dropped_has_dropped_its_futures() {
    check(|| async {
        let dropped = Arc::new(AtomicUsize::new(0));
        let on_worker = dropped.clone();
        let task = spawn(async move {
            let local = spawn_local(async move {
                let local = LocalExecutor::new();
                let panics = local.spawn(async { panic!("of a task") });
                let tasks: Vec<_> = (0..5)
                    .map(|n| {
                        let counts = Counts(on_worker.clone());
                        local.spawn(async move {
                            let _counts = counts;
                            waits().await;
                            if n > 2 {
                                pending::<()>().await;
                            }
                        })
                    })
                    .collect();
                let _ = timeout(micros(below(6)), local.run(pending::<()>())).await;
                drop(local);
                assert_eq!(on_worker.load(Relaxed), 5);
                for task in tasks {
                    let result = task.result().await;
                    assert!(result.is_ok() || result.unwrap_err().is_cancelled());
                }
                let result: Result<(), _> = panics.result().await;
                result.is_err()
            });
            local.await
        });
        assert!(task.await);
        assert_eq!(dropped.load(Relaxed), 5);
    });
}
