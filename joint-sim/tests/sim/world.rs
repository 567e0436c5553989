//! Programs in a simulation: all that goes through an executor, with virtual time.

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
#[should_panic(expected = "of the program")]
fn a_panic_of_the_main_future_is_passed_on() {
    sim::run(1, async { panic!("of the program") });
}
