//! Timeouts, delays, yields, the clock, and priorities.

use std::{
    cell::Cell,
    future::{Future, pending, poll_fn, ready},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use joint_executor::spawn;
use joint_flow::time::{Priority, TaskBuilder, delay, now, timeout, timeout_at, yield_now};

use crate::common::{Log, after, check, holding, join, one_worker};

const MS: Duration = Duration::from_millis(1);

#[test]
fn an_operation_that_is_ready_at_the_deadline_wins() {
    check(|| async {
        assert_eq!(timeout(Duration::ZERO, ready(1)).await, Ok(1));
        assert_eq!(timeout_at(now(), ready(2)).await, Ok(2));

        // The deadline passes while the operation's task is not polled. Then both are ready.
        let deadline = now() + 5 * MS;
        let mut both = pin!(timeout_at(deadline, async {
            poll_fn(|_| {
                if now() >= deadline {
                    Poll::Ready(3)
                } else {
                    Poll::Pending
                }
            })
            .await
        }));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(both.as_mut().poll(&mut cx).is_pending());
        delay(10 * MS).await;
        assert_eq!(both.poll(&mut cx), Poll::Ready(Ok(3)));
    });
}

#[test]
fn an_operation_that_waits_for_the_deadline_itself_wins() {
    joint_sim::Check::new()
        .faults(joint_sim::Faults::none())
        .run(|| async {
            let deadline = now() + MS;
            let tasks = [0, 1].map(|n| {
                spawn(async move {
                    let operation = async {
                        joint_executor::time::sleep_until(deadline).await;
                        n
                    };
                    assert_eq!(timeout_at(deadline, operation).await, Ok(n));
                })
            });
            join(tasks).await;
        });
}

#[test]
fn a_tie_with_another_task_is_won_by_either() {
    let (wins, losses) = (Cell::new(0), Cell::new(0));
    joint_sim::Check::new()
        .faults(joint_sim::Faults::none())
        .run(|| async {
            let deadline = now() + MS;
            let other = spawn(joint_executor::time::sleep_until(deadline));
            yield_now().await;
            let count = match timeout_at(deadline, other).await {
                Ok(()) => &wins,
                Err(_) => &losses,
            };
            count.set(count.get() + 1);
        });
    assert!(wins.get() > 0 && losses.get() > 0, "{wins:?}, {losses:?}");
}

#[test]
fn a_timeout_expires_or_passes_the_output_on() {
    check(|| async {
        let start = now();
        assert!(timeout(5 * MS, pending::<()>()).await.is_err());
        assert!(now() - start >= 5 * MS);
        // No fault delays anything by an hour.
        let inner = timeout(3_600_000 * MS, after(2, Err::<(), _>("inner"))).await;
        assert_eq!(inner, Ok(Err("inner")));
    });
}

#[test]
fn a_timeout_drops_the_late_operation_before_it_is_ready() {
    check(|| async {
        let log = Log::new();
        let operation = holding::<_, ()>(log.on_drop("operation dropped"));
        let mut late = pin!(timeout(MS, operation));
        let result = poll_fn(|cx| {
            let polled = late.as_mut().poll(cx);
            if polled.is_ready() {
                log.add("ready");
            }
            polled
        });
        assert!(result.await.is_err());
        assert_eq!(log.all(), ["operation dropped", "ready"]);
    });
}

#[test]
fn a_delay_takes_at_least_one_trip_through_the_queue() {
    check(|| async {
        for duration in [Duration::ZERO, Duration::from_nanos(1)] {
            let mut delay = pin!(delay(duration));
            let mut polls = 0;
            poll_fn(|cx| {
                polls += 1;
                delay.as_mut().poll(cx)
            })
            .await;
            assert!(polls >= 2, "{polls}");
        }
        // Nor if its time has passed before it is first polled.
        let mut late = pin!(delay(MS));
        delay(3 * MS).await;
        let mut cx = Context::from_waker(Waker::noop());
        assert!(late.as_mut().poll(&mut cx).is_pending());
        late.await;
    });
}

#[test]
fn others_run_during_a_delay_of_zero() {
    // One worker of an executor has the order. A simulation chooses any.
    let executor = one_worker();
    let log = Log::new();
    let inner = log.clone();
    joint::block_on(executor.spawn(async move {
        let other = spawn({
            let log = inner.clone();
            async move { log.add("other") }
        });
        inner.add("before");
        delay(Duration::ZERO).await;
        inner.add("after");
        other.await;
    }));
    assert_eq!(log.all(), ["before", "other", "after"]);
}

#[test]
fn a_yield_is_one_trip_through_the_queue() {
    check(|| async {
        let mut polls = 0;
        let mut yielded = pin!(yield_now());
        poll_fn(|cx| {
            polls += 1;
            yielded.as_mut().poll(cx)
        })
        .await;
        assert_eq!(polls, 2);
    });
}

#[test]
fn the_clock_reaches_each_delay() {
    check(|| async {
        let tasks: Vec<_> = [3, 1, 0, 7]
            .map(|n| {
                spawn(async move {
                    let start = now();
                    delay(n * MS).await;
                    assert!(now() >= start + n * MS);
                })
            })
            .into();
        join(tasks).await;
    });
}

#[test]
fn urgent_tasks_run_first_and_in_order() {
    let executor = one_worker();
    let log = Log::new();
    let inner = log.clone();
    joint::block_on(executor.spawn(async move {
        let tasks: Vec<_> = [
            ("normal 1", Priority::Normal),
            ("normal 2", Priority::Normal),
            ("high 1", Priority::High),
            ("high 2", Priority::High),
        ]
        .into_iter()
        .map(|(name, priority)| {
            let log = inner.clone();
            TaskBuilder::new()
                .priority(priority)
                .spawn(async move { log.add(name) })
        })
        .collect();
        join(tasks).await;
    }));
    assert_eq!(log.all(), ["high 1", "high 2", "normal 2", "normal 1"]);
}

#[test]
fn urgent_tasks_do_not_starve_the_others() {
    let executor = one_worker();
    joint::block_on(executor.spawn(async {
        let ran = Arc::new(AtomicBool::new(false));
        let urgent = TaskBuilder::new().priority(Priority::High).spawn({
            let ran = ran.clone();
            async move {
                while !ran.load(Relaxed) {
                    yield_now().await;
                }
            }
        });
        spawn(async move { ran.store(true, Relaxed) }).await;
        urgent.await;
    }));
}
