//! Handles: who uses an executor without owning it, and who ends it.

use crate::prelude::*;

/// No test waits that long.
const FOR_LONG: Duration = Duration::from_secs(3600);

fn check<T: Send + Sync + Clone + Unpin + 'static>(value: &T) -> T {
    value.clone()
}

#[test]
fn a_handle_is_used_as_the_executor_is() {
    let executor = executor(2);
    let handle = check(&executor.handle());
    let thread = thread::spawn(move || {
        let on_worker = handle.spawn_on(1, async { joint_executor::current_worker() });
        assert_eq!(handle.block_on(on_worker), Some(1));
        let mut set = JoinSet::new();
        set.spawn_on(&handle, async { 1 });
        handle.block_on(set.join_all())
    });
    assert_eq!(thread.join().unwrap(), [1]);
    assert_eq!(executor.metrics().spawned, 2);
}

#[test]
fn a_handle_does_not_keep_the_executor_running() {
    let first = executor(1);
    let handle = first.handle();
    drop(handle.clone());
    assert_eq!(block_on(first.spawn(async { 1 })), 1);
    drop(first);
    let late = handle.spawn(async { 2 });
    assert!(block_on(late.result()).unwrap_err().is_cancelled());
    // The global executor serves a timer, whose task is not woken again and again until then.
    let (mut polls, mut sleep) = (0, pin!(sleep(Duration::from_millis(20))));
    handle.block_on(poll_fn(|cx| {
        polls += 1;
        sleep.as_mut().poll(cx)
    }));
    assert_eq!(polls, 2);
}

#[test]
fn the_current_executor_is_that_of_the_task_or_of_block_on() {
    let [outer, inner] = [executor(1), executor(1)];
    let id = || {
        (
            Handle::current().id(),
            Handle::try_current().map(|handle| handle.id()),
        )
    };
    let of = |executor: &joint_executor::Executor| (executor.id(), Some(executor.id()));
    assert_eq!(id(), (Executor::global().id(), None));
    assert_eq!(block_on(outer.spawn(async move { id() })), of(&outer));
    outer.block_on(async { assert_eq!(id(), of(&outer)) });
    outer.enter(|| assert_eq!(id(), of(&outer)));
    let nested = outer.block_on(async { inner.block_on(async { id() }) });
    assert_eq!(nested, of(&inner));
    let global = block_on(spawn(async move { id() }));
    assert_eq!(global, of(Executor::global()));
}

#[test]
fn an_executor_is_shut_down_through_an_arc_or_a_handle() {
    let shared = Arc::new(executor(2));
    let task = shared.spawn(std::future::pending::<()>());
    let other = shared.clone();
    thread::spawn(move || other.shutdown_timeout(FOR_LONG))
        .join()
        .unwrap()
        .unwrap();
    assert!(block_on(task.result()).unwrap_err().is_cancelled());
    assert_eq!(shared.shutdown_timeout(FOR_LONG), Ok(()), "once more");

    let executor = executor(2);
    let handle = block_on(executor.spawn(async { Handle::current() }));
    assert_eq!(handle.shutdown_timeout(FOR_LONG), Ok(()));
    assert!(block_on(executor.spawn(async {}).result()).is_err());
    handle.shutdown_background();
}

#[test]
fn a_function_cancelled_before_it_begins_is_not_waited_for() {
    let executor = executor(1);
    executor.enter(|| {
        for _ in 0..100 {
            drop(spawn_blocking(|| {}));
        }
    });
    assert_eq!(executor.shutdown_timeout(FOR_LONG), Ok(()));
}
