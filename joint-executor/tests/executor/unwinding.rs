//! A future whose poll panics is dropped while that panic unwinds, whatever polls it: a task, a
//! scope, or a local executor.

use crate::prelude::*;

/// Waits for a task that panics.
fn panics_in_time(handle: JoinHandle<()>) -> bool {
    block_on(handle.result()).is_err_and(|error| error.is_panic())
}

#[test]
fn on_end_is_called_after_the_panic_of_a_task_has_unwound() {
    let (in_drop, in_hook) = (Unwound::default(), Unwound::default());
    let hook = in_hook.clone();
    let executor = built(1, |builder| {
        builder.on_end(move |_, _| hook.lock().unwrap().push(thread::panicking()))
    });
    assert!(panics_in_time(executor.spawn(panicking(&in_drop))));
    assert_eq!(*in_drop.lock().unwrap(), [true]);
    assert_eq!(*in_hook.lock().unwrap(), [false]);
}

#[test]
fn a_local_executor_drops_panicking_futures_while_unwinding() {
    let seen = Unwound::default();
    let local = LocalExecutor::new();
    let task = local.spawn(panicking(&seen));
    let error = local.block_on(task.result()).unwrap_err();
    assert!(error.is_panic());
    panics(|| local.block_on(panicking(&seen)));
    panics(|| block_on(local.run(panicking(&seen))));
    assert_eq!(*seen.lock().unwrap(), [true; 3]);
}

#[test]
fn a_scope_drops_panicking_tasks_and_its_body_while_unwinding() {
    let seen = Unwound::default();
    let executor = executor(1);
    let payload = panics(|| {
        executor.scope(|s| {
            s.spawn(panicking(&seen));
        });
    });
    assert_eq!(payload.downcast_ref(), Some(&"in poll"));
    let body = seen.clone();
    let scope =
        executor.spawn(async move { async_scope((), async |_| panicking(&body).await).await });
    assert!(panics_in_time(scope));
    let child = seen.clone();
    let scope = executor.spawn(async move {
        async_scope((), async |s| drop(s.spawn(panicking(&child)))).await;
    });
    assert!(panics_in_time(scope));
    assert_eq!(*seen.lock().unwrap(), [true; 3]);
}

#[test]
fn the_first_panic_of_a_scoped_task_is_its_result() {
    let executor = executor(1);
    executor.scope(|s| {
        let drops = OnDrop(|| panic!("in the future's drop"));
        let error = block_on(s.spawn(Panicking(drops)).result()).unwrap_err();
        assert!(error.to_string().ends_with("panicked: in poll"), "{error}");
    });
}
