//! Hooks and hosts inside the spawns of a scope, and hosts at the end of a call.

use joint::task::{Id, TaskEnd};

use super::support::{Watched, stranger};
use crate::prelude::*;

#[test]
fn on_spawn_may_wait_for_another_spawn_of_the_same_scope() {
    let (stranger, watched) = stranger();
    let executor = built(2, |builder| {
        builder.on_spawn(move |_| stranger.call_anywhere(|| ()))
    });
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
    let on_spawn = move |_: &TaskInfo<'_>| {
        if flag.load(Relaxed) {
            stranger.call_anywhere(|| ());
        }
    };
    (built(2, |builder| builder.on_spawn(on_spawn)), watched)
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

/// Panics if its executor is used elsewhere more than once, and at the end of a blocking function.
#[derive(Default)]
pub(crate) struct Refuses {
    executor: OnceLock<Arc<Executor>>,
    used: AtomicUsize,
}

impl Host for Refuses {
    fn executor(&self) -> Arc<Executor> {
        self.executor.get().unwrap().clone()
    }

    fn build(&self, _: Builder) -> io::Result<Executor> {
        Err(io::Error::other("this host builds nothing"))
    }

    fn call_blocking(&self, call: Runnable) {
        call.run();
    }

    fn call_ended(&self, _: Id, _: TaskEnd) {
        panic!("the end is refused");
    }

    fn used_elsewhere(&self, _: ExecutorId) {
        assert_eq!(self.used.fetch_add(1, Relaxed), 0, "refused");
    }
}

#[test]
fn a_scope_passes_on_that_its_host_refuses_a_child() {
    let host = Arc::new(Refuses::default());
    let (executor, worker) = bound_with(|builder| builder.host(host));
    let mut dropped = false;
    executor.scope(|scope| {
        let child = OnDrop(|| dropped = true);
        let spawned = catch_unwind(AssertUnwindSafe(|| scope.spawn(async move { drop(child) })));
        assert!(spawned.is_err());
    });
    assert!(dropped);
    worker.end();
}

#[test]
fn a_panic_of_a_hosts_call_ended_does_not_end_the_process() {
    let host = Arc::new(Refuses::default());
    let (executor, _worker) = bound();
    assert!(host.executor.set(Arc::new(executor)).is_ok());
    let entered = hosted::enter(host);
    let call = spawn_blocking(|| 5);
    assert_eq!(block_on(call), 5);
    drop(entered);
}
