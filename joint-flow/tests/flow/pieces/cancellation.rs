//! Cancellation: when a future is dropped, by whom, and in which order.

use joint_executor::{time::sleep, yield_now};
use joint_flow::spawn;
use joint_sim::{Builder, Panics};

use crate::prelude::*;

/// Spawns a task that notes its beginning and holds `held` forever, and waits until it is
/// suspended.
async fn suspended<T: Send + 'static>(held: T) -> Task<()> {
    let (began, has_begun) = oneshot::channel();
    let task = spawn(async move {
        let _held = held;
        began.send(()).unwrap();
        never::<()>().await;
    });
    has_begun.await.unwrap();
    task
}

#[test]
fn a_future_that_was_never_polled_is_dropped_at_once() {
    check(|| async {
        let log = Log::new();
        let future = log.on_drop("future");
        let (driver, task) = joint_flow::task::from_future(async move { drop(future) });
        drop(task);
        assert_eq!(log.all(), ["future"]);
        // The driver has nothing left to do.
        driver.await;
        assert_eq!(log.all(), ["future"]);
    });
}

#[test]
fn nested_tasks_are_cancelled_from_the_outside_in_and_siblings_in_order() {
    check(|| async {
        let log = Log::new();
        let (began, has_begun) = oneshot::channel();
        let inner = log.clone();
        let task = spawn(async move {
            let _first_local = inner.on_drop("outer, first local");
            let middle = inner.clone();
            let middle = spawn(async move {
                let _guard = middle.on_drop("middle");
                let inner = suspended(middle.on_drop("inner")).await;
                began.send(()).unwrap();
                inner.await
            });
            let _second_local = inner.on_drop("outer, second local");
            let sibling = suspended(inner.on_drop("sibling")).await;
            // Both tasks are fields of one future, as the branches of a combinator are.
            let mut both = (middle, sibling);
            let first = poll_fn(|cx| std::pin::Pin::new(&mut both.0).poll(cx)).await;
            drop(both);
            first.unwrap().unwrap()
        });
        has_begun.await.unwrap();
        settled().await;
        drop(task);
        let order = [
            "inner",
            "middle",
            "sibling",
            "outer, second local",
            "outer, first local",
        ];
        assert_eq!(log.all(), order);
    });
}

#[test]
fn a_cancellation_reaches_each_task_before_the_tasks_that_it_awaits() {
    check(|| async {
        let log = Log::new();
        let inner = suspended(log.on_drop("inner")).await;
        let (asked, told) = (inner.clone(), log.clone());
        let asks = on_drop(move || told.add(format!("inner finished: {}", asked.is_finished())));
        let outer = suspended((asks, inner)).await;
        drop(outer);
        assert_eq!(log.all(), ["inner finished: false", "inner"]);
    });
}

#[test]
fn destructors_run_once_at_whatever_point_the_task_is_cancelled() {
    check(|| async {
        let log = Log::new();
        let (first, second) = (log.on_drop("first"), log.on_drop("second"));
        let task = spawn(async move {
            let _first = first;
            after(1, ()).await;
            let _second = second;
            after(1, ()).await;
            never::<()>().await;
        });
        after((joint_sim::random() % 6) as usize, ()).await;
        drop(task);
        // The other side may be in the middle of a poll only in a real executor.
        let mut all = log.all();
        all.sort();
        assert_eq!(all, ["first", "second"]);
    });
}

#[test]
fn a_destructor_that_cancels_again_does_nothing() {
    check(|| async {
        let log = Log::new();
        let slot = Arc::new(Mutex::new(None::<Task<()>>));
        let own = slot.clone();
        let cancels_again = on_drop(move || {
            let task = own.lock().unwrap().take().unwrap();
            task.cancel();
            // Its last handle.
            drop(task);
        });
        let task = suspended((cancels_again, log.on_drop("future"))).await;
        *slot.lock().unwrap() = Some(task.clone());
        let waiter = joint_executor::spawn(task.clone());
        yield_now().await;
        task.cancel();
        drop(task);
        assert!(waiter.await.unwrap_err().is_cancelled());
        assert_eq!(log.all(), ["future"]);
    });
}

#[test]
fn a_waiters_waker_that_cancels_does_nothing() {
    check(|| async {
        let log = Log::new();
        let (value, future) = (Arc::new(log.on_drop("value")), log.on_drop("future"));
        let (go, went) = oneshot::channel::<()>();
        let task = spawn(async move {
            let _future = future;
            went.await.unwrap();
            value
        });
        let mut waiter = task.clone();
        let foreign = waker_that(move || task.cancel());
        let mut cx = std::task::Context::from_waker(&foreign);
        // With a small budget, the poll would wake at once.
        budget::refill();
        assert!(std::pin::Pin::new(&mut waiter).poll(&mut cx).is_pending());
        go.send(()).unwrap();
        settled().await;
        assert_eq!(log.all(), ["future"]);
        drop(waiter.await.unwrap());
        assert_eq!(log.all(), ["future", "value"]);
    });
}

#[test]
fn waiters_see_a_cancellation_after_the_destructors_have_run() {
    check(|| async {
        let log = Log::new();
        let task = suspended(log.on_drop("future")).await;
        let (waiter, told) = (task.clone(), log.clone());
        let waiter = joint_executor::spawn(async move {
            let error = waiter.await.unwrap_err();
            told.add(error.to_string());
        });
        yield_now().await;
        task.cancel();
        assert!(task.is_finished());
        assert!(matches!(task.wait().await, Err(TaskError::Cancelled)));
        waiter.await;
        assert_eq!(log.all(), ["future", "the task was cancelled"]);
    });
}

#[test]
fn a_destructor_that_panics_leaves_nothing_behind() {
    check(|| async {
        let log = Log::new();
        let task = suspended((log.on_drop("future"), PanicsInDrop)).await;
        let waiter = joint_executor::spawn(task.clone());
        let panic = catch_unwind(|| task.cancel()).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"destructor"));
        assert!(waiter.await.unwrap_err().is_cancelled());
        assert_eq!(log.all(), ["future"]);
    });
}

#[test]
fn a_panic_reaches_every_waiter() {
    check(|| async {
        let log = Log::new();
        let future = log.on_drop("future");
        let task = spawn(async move {
            let _future = future;
            yield_now().await;
            std::panic::resume_unwind(Box::new("no"))
        });
        for waiter in [task.clone(), task] {
            let waiter: Task<()> = waiter;
            let Err(TaskError::Panicked(payload)) = waiter.await else {
                panic!("not the panic");
            };
            assert_eq!(payload.message(), Some("no"));
            assert!(payload.spawned().file().ends_with("cancellation.rs"));
        }
        assert_eq!(log.all(), ["future"]);
    });
}

#[test]
fn an_uncancellable_task_runs_to_its_end() {
    check(|| async {
        let (sender, receiver) = oneshot::channel();
        let task = uncancellable(async move {
            after(2, ()).await;
            sender.send("end").unwrap();
        });
        task.cancel();
        yield_now().await;
        drop(task);
        assert_eq!(receiver.await, Ok("end"));
        assert_eq!(uncancellable(after(1, 3)).await.unwrap(), 3);
    });
}

#[test]
fn a_task_that_may_be_cancelled_anywhere_leaves_no_handle_behind() {
    check(|| async {
        let log = Log::new();
        let future = log.on_drop("producer");
        let producer = spawn(async move {
            let _future = future;
            after(5, 1).await
        });
        let waiters = [(); 3].map(|()| {
            let producer = producer.clone();
            joint_executor::spawn(joint_sim::may_cancel(async move {
                after(1, ()).await;
                producer.await.unwrap()
            }))
        });
        drop(producer);
        for waiter in waiters {
            let value = waiter.await;
            assert!(value.is_none_or(|value| value == 1));
        }
        settled().await;
        assert_eq!(log.all(), ["producer"]);
    });
}

#[test]
fn the_end_of_an_executor_cancels_its_tasks() {
    check(|| async {
        let log = Log::new();
        let executor = one_worker();
        let (driver, task) = joint_flow::task::from_future(holding::<_, ()>(log.on_drop("future")));
        executor.spawn_detached(driver);
        yield_now().await;
        drop(executor);
        assert!(task.await.unwrap_err().is_cancelled());
        assert_eq!(log.all(), ["future"]);
    });
}

#[test]
fn a_panic_of_a_task_that_nobody_awaits_is_found() {
    async fn panics() {
        yield_now().await;
        panic!("of an actor");
    }
    for panics_that_fail in [Panics::Any, Panics::Unseen] {
        for is_uncancellable in [false, true] {
            let settings = Builder::new(1).panics(panics_that_fail);
            let run = settings.run(async move {
                let task = match is_uncancellable {
                    false => spawn(panics()),
                    true => uncancellable(panics()),
                };
                sleep(Duration::from_secs(1)).await;
                drop(task);
            });
            let report = run.unwrap_err().to_string();
            assert!(report.contains(": of an actor"), "{report}");
        }
    }
}
