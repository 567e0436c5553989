//! Which panics fail a run: each that nobody looks at, and in a check each that the faults have not
//! asked for.

use joint_sim::Verdict;

use crate::prelude::*;

async fn panics() {
    yield_now().await;
    panic!("of a handler");
}

/// Waits for ever, and panics when it is dropped after that has begun.
async fn waits_with_a_bomb() {
    let _bomb = OnDrop(|| panic!("of a handler"));
    pending().await
}

/// Asserts that a check finds the panic, and that its report has the place of the panic.
fn is_found_by<F: Future<Output: Verdict>>(panics: Panics, program: impl Fn() -> F) {
    let check = Check::new().panics(panics).faults(Faults::none());
    let report = found(&check, program).to_string();
    says(&report, "panicked at joint-sim/tests/sim/panics.rs:");
    says(&report, ": of a handler");
}

/// Programs that look at no panic.
const UNSEEN: [(&str, Program); 9] = [
    ("a child of a set", || {
        Box::pin(async {
            let mut set = JoinSet::new();
            set.spawn(panics());
            sleep(SECOND).await;
        })
    }),
    ("a task whose handle is dropped", || {
        Box::pin(async {
            let task = spawn(panics());
            sleep(SECOND).await;
            drop(task);
        })
    }),
    ("a call whose handle is dropped", || {
        Box::pin(async {
            let call = spawn_blocking(|| panic!("of a handler"));
            sleep(SECOND).await;
            drop(call);
        })
    }),
    ("a destructor of a child of a set that is dropped", || {
        Box::pin(async {
            let mut set = JoinSet::new();
            set.spawn(waits_with_a_bomb());
            sleep(SECOND).await;
            drop(set);
            sleep(SECOND).await;
        })
    }),
    ("a child whose error is ignored", || {
        Box::pin(async {
            let mut set = JoinSet::new();
            set.spawn(panics());
            while set.join_next().await.is_some() {}
        })
    }),
    ("a child whose scope looks at no error", || {
        Box::pin(async_scope((), async |scope| {
            let (one, other) = (scope.spawn(panics()), scope.spawn(panics()));
            let _ = (one.result().await, other.result().await);
        }))
    }),
    ("a task of a host", || {
        Box::pin(async {
            let host = Host::new("a");
            host.run(|| async {
                let _task = spawn(panics());
                sleep(SECOND).await;
            });
            sleep(10 * SECOND).await;
        })
    }),
    ("a destructor of a host that is killed", || {
        Box::pin(async {
            let host = Host::new("a");
            host.run(waits_with_a_bomb);
            sleep(SECOND).await;
            host.kill();
        })
    }),
    ("a destructor at the end of the run", || {
        Box::pin(async {
            let _task = spawn(waits_with_a_bomb());
            yield_now().await;
        })
    }),
];

#[test]
fn a_panic_that_nobody_looks_at_is_found() {
    each_row(UNSEEN, |program| {
        for panics in [Panics::Any, Panics::Unseen] {
            is_found_by(panics, program);
        }
    });
}

#[test]
fn the_panic_of_a_host_whose_end_is_ignored_is_found() {
    // `HostEnd` is `must_use`, and what the program does with it cannot be seen.
    is_found_by(Panics::Any, || async {
        let host = Host::new("a");
        host.run(panics);
        let _ = host.ended().await;
    });
}

#[test]
fn a_panic_caught_in_a_poll_fails_only_a_run_with_any() {
    let program = || async {
        let caught = catch_unwind(|| panic!("of a handler"));
        assert!(caught.is_err());
    };
    is_found_by(Panics::Any, program);
    Check::new().panics(Panics::Unseen).seeds(3).run(program);
}

#[test]
fn a_panic_somebody_looks_at_is_no_failure_unless_any_is() {
    let program = || async {
        let task = spawn(panics());
        let payload = task.result().await.unwrap_err().into_panic();
        assert_eq!(payload.downcast_ref(), Some(&"of a handler"));
        let mut set = JoinSet::new();
        set.spawn(panics());
        let error = set.join_next().await.unwrap().unwrap_err();
        says(&error, "of a handler");
        let call = spawn_blocking(|| panic!("of a handler"));
        assert!(format!("{:?}", call.result().await.err()).contains("of a handler"));
        let scope = spawn(async {
            async_scope((), async |scope| scope.spawn(panics()).await).await;
        });
        drop(scope.result().await.unwrap_err().into_panic());
    };
    Check::new().panics(Panics::Unseen).seeds(20).run(program);
    is_found_by(Panics::Any, program);
}

#[test]
fn asking_for_a_panic_is_not_looking_at_it() {
    is_found_by(Panics::Unseen, || async {
        let task = spawn(panics());
        assert!(task.result().await.unwrap_err().is_panic());
    });
}

#[test]
fn a_panic_another_run_caught_is_not_of_this_run() {
    let other = Builder::new(1).panics(Panics::Detached);
    let caught = other.run(async { spawn(panics()).result().await });
    let error = caught.unwrap().output.unwrap_err();
    is_found_by(Panics::Unseen, || async {
        let _unseen = spawn(panics()).result().await;
        assert!(error.to_string().ends_with("of a handler"));
    });
}

#[test]
fn the_panic_of_a_detached_task_fails_each_run() {
    for panics in [Panics::Any, Panics::Unseen, Panics::Detached] {
        let run = Builder::new(1).panics(panics).run(async {
            spawn_detached(self::panics());
            sleep(SECOND).await;
        });
        assert!(run.is_err(), "{panics:?}");
    }
}

#[test]
fn a_panic_the_faults_have_asked_for_is_no_failure() {
    check(|| async {
        spawn_detached(sim::may_panic(yield_now()));
        let _kept = spawn(sim::may_panic(yield_now()));
        let mut set = JoinSet::new();
        set.spawn(sim::may_panic(yield_now()));
        let _ = set.join_next().await;
        let outer = spawn(async { spawn(sim::may_panic(yield_now())).await });
        let _ = outer.result().await;
    });
}

#[test]
fn a_function_that_a_host_takes_along_is_no_panic() {
    check(|| async {
        let host = Host::new("a");
        host.run(|| async {
            spawn_blocking(|| joint::block_on(sleep(3600 * SECOND))).await;
        });
        sleep(SECOND).await;
        host.kill();
        assert_eq!(host.ended().await, HostEnd::Killed);
        let _call = spawn_blocking(|| joint::block_on(pending::<()>()));
        yield_now().await;
    });
}

#[test]
fn another_failure_names_the_panics_that_nobody_has_looked_at() {
    let failure = Builder::new(1).run(async {
        let _task = spawn(panics());
        pending::<()>().await;
    });
    let failure = failure.unwrap_err();
    assert!(failure.is_deadlock());
    let report = failure.to_string();
    let unseen =
        "panics that nobody has looked at:\n  task 1, spawned at joint-sim/tests/sim/panics.rs:";
    says(&report, unseen);
}
