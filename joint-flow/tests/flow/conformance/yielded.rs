//! Many waiters of one promise do not all run when it is kept: Flow's `yieldedFuture`.

use std::task::{Context, Waker};

use joint_flow::{Task, promise, task::from_future};

type Waiters = (
    Vec<std::pin::Pin<Box<dyn Future<Output = ()>>>>,
    Vec<Task<()>>,
);

/// Tasks that wait for the promise, and what runs each of them: a turn of a run loop is one poll.
fn waiters(count: usize, future: &promise::Shared<()>) -> Waiters {
    let waiter = |_| {
        let future = future.clone();
        let (driver, task) = from_future(async move { future.await.unwrap() });
        let mut driver = Box::pin(driver) as std::pin::Pin<Box<dyn Future<Output = ()>>>;
        let mut cx = Context::from_waker(Waker::noop());
        assert!(driver.as_mut().poll(&mut cx).is_pending());
        (driver, task)
    };
    (0..count).map(waiter).unzip()
}

fn ready(tasks: &[Task<()>]) -> usize {
    tasks.iter().filter(|task| task.is_finished()).count()
}

/// Sending runs no waiter. Each gets a turn of its own, and ends one task.
#[test]
fn yielded_future_random() {
    joint_sim::check(|| async {
        let (sender, future) = promise::channel();
        let (drivers, tasks) = waiters(25, &future);
        sender.send(());
        assert!(future.is_finished());
        assert_eq!(ready(&tasks), 0);
        let mut drivers = drivers.into_iter();
        let mut cx = Context::from_waker(Waker::noop());
        let mut turns = 0;
        while turns < 25 {
            let batch = joint_sim::random() as usize % 5;
            for mut driver in drivers.by_ref().take(batch) {
                assert!(driver.as_mut().poll(&mut cx).is_ready());
                turns += 1;
                assert_eq!(ready(&tasks), turns);
            }
        }
    });
}
