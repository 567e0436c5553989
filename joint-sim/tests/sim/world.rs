//! Programs in a simulation: all that goes through an executor, with virtual time.

use joint::oneshot;
use joint_executor::current_worker;

use crate::prelude::*;

#[test]
fn a_handle_leads_to_the_executor_of_the_simulation() {
    sim::run(1, async {
        let here = Handle::current().id();
        let handle = spawn(async { Handle::current() }).await;
        assert_eq!((handle.id(), handle.spawn(async { 5 }).await), (here, 5));
        let own = executor(1);
        let inner = own.spawn(async { Handle::try_current().map(|handle| handle.id()) });
        assert_eq!(inner.await, Some(own.id()));
        assert_eq!(own.handle().shutdown_timeout(SECOND), Ok(()));
        assert!(own.spawn(async {}).result().await.is_err());
    });
}

/// The order in which ten tasks run that yield twice each.
async fn order() -> Vec<usize> {
    let order = Arc::new(Mutex::new(Vec::new()));
    let tasks = (0..10).map(|n| {
        let order = order.clone();
        spawn(async move {
            for _ in 0..3 {
                order.lock().unwrap().push(n);
                yield_now().await;
            }
        })
    });
    join(tasks.collect::<Vec<_>>()).await;
    Arc::into_inner(order).unwrap().into_inner().unwrap()
}

#[test]
fn round_robin_takes_turns() {
    let outcome = Builder::new(9)
        .scheduler(Scheduler::RoundRobin)
        .run(order());
    let expected: Vec<_> = (0..3).flat_map(|_| 0..10).collect();
    assert_eq!(outcome.unwrap().output, expected);
}

#[test]
fn an_executor_that_the_program_builds_is_simulated() {
    let counts = sim::run(2, async {
        let executor = executor(3);
        let tasks: Vec<_> = (0..9)
            .map(|n| executor.spawn_on(n % 3, async move { current_worker() }))
            .collect();
        let mut workers = Vec::new();
        for task in tasks {
            workers.push(task.await.unwrap());
        }
        assert_eq!(workers, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
        let never = executor.spawn(pending::<()>());
        yield_now().await;
        let metrics = executor.metrics();
        drop(executor);
        assert!(never.result().await.unwrap_err().is_cancelled());
        (metrics.spawned, metrics.finished)
    });
    assert_eq!(counts, (10, 9));
}

/// The world is never idle, so nothing is found by a look that waits for that.
#[test]
fn a_wake_up_by_another_executor_arrives_while_tasks_run() {
    let settings = Builder::new(1).scheduler(Scheduler::RoundRobin);
    let run = settings.max_steps(10_000).run(async {
        let executor = executor(2);
        let mut waits = Vec::new();
        for worker in [None, Some(1)] {
            let (sender, receiver) = oneshot::channel::<u32>();
            let wait = async move { receiver.await.unwrap() };
            let task = match worker {
                None => executor.spawn(wait),
                Some(worker) => executor.spawn_on(worker, wait),
            };
            waits.push((sender, task));
        }
        for _ in 0..100 {
            yield_now().await;
        }
        for (sender, task) in waits {
            sender.send(7).unwrap();
            while !task.is_finished() {
                yield_now().await;
            }
        }
    });
    run.unwrap();
}

#[test]
#[should_panic(expected = "of the program")]
fn a_panic_of_the_main_future_is_passed_on() {
    sim::run(1, async { panic!("of the program") });
}
