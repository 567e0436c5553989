//! The output for the only handle, and tasks that keep to their thread.

use std::io;

use joint_executor::yield_now;
use joint_flow::{Collection, spawn};
use joint_sim::may_panic;

use crate::prelude::*;

/// Not `Clone`.
#[derive(Debug, PartialEq)]
struct Whole(u32);

#[test]
fn the_only_handle_gets_the_output_itself() {
    check(|| async {
        assert_eq!(
            spawn(after(1, Whole(7))).into_output().await.unwrap(),
            Whole(7)
        );
        assert_eq!(
            uncancellable(async { Whole(8) })
                .into_output()
                .await
                .unwrap(),
            Whole(8)
        );
        let read = spawn(async { io::Result::<u32>::Err(io::ErrorKind::NotFound.into()) });
        let error = read.into_output().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);

        // A handle that was there before does not count.
        let task = spawn(async { Whole(9) });
        let other = task.clone();
        assert_eq!(other.wait().await.unwrap().0, 9);
        drop(other);
        assert_eq!(task.into_output().await.unwrap(), Whole(9));
    });
}

#[test]
fn an_output_is_dropped_once_wherever_its_taker_is_cancelled() {
    check(|| async {
        let value = Arc::new(());
        let part = value.clone();
        let task = spawn(async move {
            yield_now().await;
            part
        });
        let taken = may_cancel(task.into_output()).await;
        if let Some(taken) = &taken {
            assert!(Arc::ptr_eq(taken.as_ref().unwrap(), &value));
        }
        drop(taken);
        // A cancelled task may still be in its last poll.
        while Arc::strong_count(&value) != 1 {
            joint_executor::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    });
}

#[test]
fn an_output_that_several_could_read_is_not_given_away() {
    for task in [spawn(async { Whole(1) }), uncancellable(async { Whole(1) })] {
        let other = task.clone();
        let payload = std::panic::catch_unwind(AssertUnwindSafe(|| drop(task.into_output())));
        let message = *payload.unwrap_err().downcast::<&str>().unwrap();
        assert!(message.contains("drop the others before"), "{message}");
        assert_eq!(joint::block_on(other.into_output()).unwrap(), Whole(1));
    }
}

#[test]
fn a_local_task_is_dropped_at_home_with_its_last_handle() {
    let local = LocalExecutor::new();
    let log = Log::new();
    local.block_on(async {
        let part = (log.on_drop("future"), Rc::new(()));
        let here = std::thread::current().id();
        let task = spawn_local(async move {
            let _part = part;
            never::<()>().await;
            assert_eq!(std::thread::current().id(), here);
        });
        yield_now().await;
        let other = task.clone();
        drop(task);
        yield_now().await;
        assert!(log.all().is_empty(), "there is another handle");
        std::thread::spawn(move || {
            other.cancel();
            assert!(joint::block_on(other).unwrap_err().is_cancelled());
        });
        while log.all().is_empty() {
            yield_now().await;
        }
    });
    assert_eq!(log.all(), ["future"]);
}

#[test]
fn waiters_learn_of_the_end_of_a_local_executor() {
    let local = LocalExecutor::new();
    let [task] = local.block_on(async { [spawn_local(never::<()>())] });
    drop(local);
    assert!(joint::block_on(task).unwrap_err().is_cancelled());
}

#[test]
fn waiters_learn_how_a_local_task_has_ended_anywhere() {
    check(|| async {
        let log = Log::new();
        let part = log.on_drop("future");
        let task = spawn_local(may_panic(async move {
            let _part = part;
            yield_now().await;
            yield_now().await;
        }));
        let waiter = task.clone();
        may_cancel(task).await;
        let _ = waiter.await;
        assert_eq!(log.all(), ["future"]);
    });
}

#[test]
fn a_local_child_ends_in_all_ways_that_others_do() {
    check(|| async {
        let log = Log::new();
        let parts = Collection::new();
        let (part, shared) = (log.on_drop("child"), Rc::new(()));
        parts.adder().add_local(async move {
            let _part = (part, shared);
            never().await
        });
        parts.adder().add_local(async { Err("no") });
        assert_eq!(parts.await, Err("no"));
        while log.all().is_empty() {
            joint_executor::time::sleep(std::time::Duration::from_millis(1)).await;
        }

        let parts = Collection::<()>::until_empty();
        let shared = Rc::new(());
        parts.adder().add_local(async move {
            drop(shared);
            Ok(())
        });
        assert_eq!(parts.await, Ok(()));

        let parts = Collection::<()>::new();
        let adder = parts.adder();
        adder.add_local(async { panic!("broken") });
        let ended = spawn(parts).await;
        assert!(ended.unwrap_err().to_string().contains("broken"));
        adder.add_local(async { unreachable!("the collection is gone") });
    });
}
