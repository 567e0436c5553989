//! Hooks inside the spawns of a scope.

use super::support::{Watched, stranger};
use crate::prelude::*;

#[test]
fn on_spawn_may_wait_for_another_spawn_of_the_same_scope() {
    let (stranger, watched) = stranger();
    let executor = Executor::builder()
        .workers(2)
        .on_spawn(move |_| stranger.call_anywhere(|| ()))
        .build()
        .unwrap();
    executor.scope(|scope| {
        thread::scope(|threads| {
            threads.spawn(|| _ = scope.spawn(async {}));
            watched.begun();
            scope.spawn(async {});
            let _ = watched.release().send(());
        });
    });
    watched.assert_released();
}

/// An executor whose `on_spawn` hook waits once the flag is set.
fn stopped_in_a_spawn_after(flag: &'static AtomicBool) -> (Executor, Watched) {
    let (stranger, watched) = stranger();
    let builder = Executor::builder().workers(2).on_spawn(move |_| {
        if flag.load(Relaxed) {
            stranger.call_anywhere(|| ());
        }
    });
    (builder.build().unwrap(), watched)
}

#[test]
fn a_child_started_while_its_scope_is_cancelled_is_waited_for() {
    static SECOND: AtomicBool = AtomicBool::new(false);
    let (executor, watched) = stopped_in_a_spawn_after(&SECOND);
    let ended = AtomicUsize::new(0);
    let counts = || OnDrop(|| _ = ended.fetch_add(1, Relaxed));
    let scope = catch_unwind(AssertUnwindSafe(|| {
        executor.scope(|scope| {
            let release = watched.release();
            let cancelled = (counts(), OnDrop(move || _ = release.send(())));
            scope.spawn(async move {
                let _cancelled = cancelled;
                pending::<()>().await;
            });
            let (starts, started) = (counts(), counts());
            scope.spawn(async move {
                let _starts = starts;
                SECOND.store(true, Relaxed);
                scope.spawn(async move {
                    let _started = started;
                    pending::<()>().await;
                });
            });
            watched.begun();
            panic!("the scope is cancelled");
        });
    }));
    assert!(scope.is_err());
    assert_eq!(ended.load(Relaxed), 3);
    watched.assert_released();
}

#[test]
fn a_child_started_while_its_async_scope_drops_is_cancelled() {
    static SECOND: AtomicBool = AtomicBool::new(false);
    let (executor, watched) = stopped_in_a_spawn_after(&SECOND);
    let held = Arc::new(());
    let started = held.clone();
    let mut scope = Box::pin(async_scope((), async |scope| {
        let child = scope.spawn(async move {
            SECOND.store(true, Relaxed);
            scope.spawn(async move {
                let _started = started;
                pending::<()>().await;
            });
        });
        child.await;
    }));
    executor.enter(|| assert!(poll_with(&mut scope, Waker::noop()).is_pending()));
    watched.begun();
    drop(scope);
    watched.release().send(()).unwrap();
    watched.assert_released();
    wait_until(|| Arc::strong_count(&held) == 1);
}
