//! `Executor::block_on`: a thread that is in an executor while it drives a future of its own.

use crate::prelude::*;

/// A worker that is in another executor serves its own meanwhile.
#[cfg(feature = "io")]
#[test]
fn a_worker_that_is_elsewhere_attends_to_its_own_timers() {
    use std::time::Duration;

    ends(|| {
        let (here, there) = (executor(1), executor(1));
        let task = here.spawn(async move {
            let timer = spawn(joint_executor::time::sleep(Duration::from_millis(1)));
            // This worker arms the timer, and has the task that waits queued when it fires.
            joint_executor::yield_now().await;
            let (sender, receiver) = joint::oneshot::channel();
            let waits = async move {
                timer.await;
                sender.send(7).unwrap();
            };
            spawn_detached(waits);
            joint_executor::yield_now().await;
            there.block_on(async move {
                // Armed on the other executor, and served there.
                joint_executor::time::sleep(Duration::from_millis(1)).await;
                spawn(async { 1 }).await
            });
            receiver.await.unwrap()
        });
        assert_eq!(block_on(task), 7);
    });
}

#[test]
fn shutting_down_a_set_drops_its_futures_and_empties_it() {
    let executor = executor(2);
    let guards = Guards::default();
    executor.block_on(async {
        let mut set = JoinSet::new();
        for i in 0..50 {
            let guard = guards.guard();
            set.spawn(async move {
                let _guard = guard;
                match i % 3 {
                    0 => {}
                    1 => panic!("as it should"),
                    _ => pending::<()>().await,
                }
            });
        }
        set.shutdown().await;
        assert!(set.is_empty());
        guards.assert_all_dropped(50);
        // It can be used again.
        set.spawn(async {});
        assert!(set.join_next().await.unwrap().is_ok());
    });
    assert_eq!(executor.metrics().live(), 0);
}
