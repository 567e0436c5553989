//! Handles: who uses an executor without owning it, and who ends it.

use crate::prelude::*;

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
fn a_function_cancelled_before_it_begins_is_not_waited_for() {
    let executor = executor(1);
    executor.enter(|| {
        for _ in 0..100 {
            drop(spawn_blocking(|| {}));
        }
    });
    assert_eq!(executor.shutdown_timeout(HOUR), Ok(()));
}
