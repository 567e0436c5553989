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
fn the_driver_of_a_cancelled_future_is_woken_and_ends() {
    let (driver, task) = joint_flow::task::from_future(never::<()>());
    let mut driver = Box::pin(driver);
    let (wakes, waker) = counting();
    assert!(poll_with(&mut driver, &waker).is_pending());
    task.cancel();
    assert_eq!(wakes.count(), 1);
    assert!(poll_with(&mut driver, &waker).is_ready());
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
