//! Tasks and collections on real workers, where a poll, an end and a cancellation can meet. The
//! simulation runs one poll at a time, and the models are small.

use std::sync::atomic::Ordering;

use joint_executor::yield_now;
use joint_flow::spawn;

use crate::prelude::*;

fn on_workers<F: Future<Output = ()> + Send + 'static>(program: F) {
    let executor = Executor::builder().workers(4).build().unwrap();
    joint::block_on(executor.spawn(program));
}

#[test]
fn each_future_is_dropped_once() {
    const TASKS: usize = 4000;
    let dropped = Arc::new(AtomicUsize::new(0));
    let count = dropped.clone();
    on_workers(async move {
        let waiters: Vec<_> = (0..TASKS)
            .map(|n| {
                let held = counted(&count);
                let task = spawn(async move {
                    let _held = held;
                    for _ in 0..n % 5 {
                        yield_now().await;
                    }
                    if n % 7 == 0 {
                        never::<()>().await;
                    }
                    n
                });
                let other = task.clone();
                joint_executor::spawn(async move {
                    for _ in 0..n % 3 {
                        yield_now().await;
                    }
                    match n % 4 {
                        0 => other.cancel(),
                        1 => drop(other),
                        _ if n % 7 != 0 => assert_eq!(other.await.unwrap(), n),
                        _ => {}
                    }
                })
                .detach();
                joint_executor::spawn(async move {
                    // One that can end is awaited. It may be cancelled, by a handle.
                    if n % 7 != 0 {
                        assert!(task.await.is_ok_and(|value| value == n) || n % 4 == 0);
                    }
                })
            })
            .collect();
        for waiter in waiters {
            waiter.await;
        }
    });
    assert_eq!(dropped.load(Ordering::Relaxed), TASKS);
}
