//! Which panics fail a run: each that nobody looks at, and in a check each that the faults have not
//! asked for.

use std::{future::pending, panic::catch_unwind, time::Duration};

use joint_executor::{
    JoinSet, async_scope, spawn, spawn_blocking, spawn_detached, time::sleep, yield_now,
};
use joint_sim::{self as sim, Builder, Check, Faults, Host, HostEnd, Panics, Verdict, check};

use crate::{found, says};

async fn panics() {
    yield_now().await;
    panic!("of a handler");
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("of a handler");
    }
}

/// Asserts that a check finds the panic, and that its report has the place of the panic.
fn is_found<F: Future<Output: Verdict>>(program: impl Fn() -> F) {
    for panics in [Panics::Any, Panics::Unseen] {
        is_found_by(panics, &program);
    }
}

fn is_found_by<F: Future<Output: Verdict>>(panics: Panics, program: impl Fn() -> F) {
    let check = Check::new().panics(panics).faults(Faults::none());
    let report = found(&check, program).to_string();
    let place = "panicked at joint-sim/tests/sim/panics.rs:";
    says(&report, place);
    says(&report, ": of a handler");
}

#[test]
fn of_a_handler_in_a_join_set() {
    is_found(|| async {
        let mut set = JoinSet::new();
        set.spawn(panics());
        sleep(Duration::from_secs(1)).await;
    });
}

#[test]
fn of_a_task_whose_handle_is_kept_and_dropped() {
    is_found(|| async {
        let task = spawn(panics());
        sleep(Duration::from_secs(1)).await;
        drop(task);
    });
}

#[test]
fn of_a_call_whose_handle_is_kept_and_dropped() {
    is_found(|| async {
        let call = spawn_blocking(|| panic!("of a handler"));
        sleep(Duration::from_secs(1)).await;
        drop(call);
    });
}

#[test]
fn of_a_child_of_a_join_set_that_is_dropped() {
    is_found(|| async {
        let mut set = JoinSet::new();
        set.spawn(async {
            let _bomb = Bomb;
            pending::<()>().await;
        });
        sleep(Duration::from_secs(1)).await;
        drop(set);
        sleep(Duration::from_secs(1)).await;
    });
}

#[test]
fn of_a_child_whose_error_is_ignored() {
    is_found(|| async {
        let mut set = JoinSet::new();
        set.spawn(panics());
        while set.join_next().await.is_some() {}
    });
}

#[test]
fn of_a_task_of_a_host() {
    is_found(|| async {
        let host = Host::new("a");
        host.run(|| async {
            let _task = spawn(panics());
            sleep(Duration::from_secs(1)).await;
        });
        sleep(Duration::from_secs(10)).await;
    });
}

#[test]
fn of_a_host_whose_end_is_ignored() {
    // `HostEnd` is `must_use`, and what the program does with it cannot be seen.
    is_found_by(Panics::Any, || async {
        let host = Host::new("a");
        host.run(panics);
        let _ = host.ended().await;
    });
}

#[test]
fn of_a_destructor_when_a_host_is_killed() {
    is_found(|| async {
        let host = Host::new("a");
        host.run(|| async {
            let _bomb = Bomb;
            pending().await
        });
        sleep(Duration::from_secs(1)).await;
        host.kill();
    });
}

#[test]
fn of_a_destructor_at_the_end_of_the_run() {
    is_found(|| async {
        let bomb = Bomb;
        let _task = spawn(async move {
            let _bomb = bomb;
            pending::<()>().await;
        });
        yield_now().await;
    });
}

#[test]
fn of_a_child_whose_scope_looks_at_no_error() {
    is_found(|| async {
        let scope = async_scope((), async |scope| {
            let (one, other) = (scope.spawn(panics()), scope.spawn(panics()));
            let _ = (one.result().await, other.result().await);
        });
        scope.await;
    });
}

#[test]
fn that_is_caught_in_a_poll_fails_only_a_run_with_any() {
    let program = || async {
        let caught = catch_unwind(|| panic!("of a handler"));
        assert!(caught.is_err());
    };
    is_found_by(Panics::Any, program);
    Check::new().panics(Panics::Unseen).seeds(3).run(program);
}

#[test]
fn that_somebody_looks_at_is_no_failure_unless_any_is() {
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
fn that_is_only_asked_for_is_not_looked_at() {
    is_found_by(Panics::Unseen, || async {
        let task = spawn(panics());
        assert!(task.result().await.unwrap_err().is_panic());
    });
}

#[test]
fn that_another_run_has_caught_is_not_of_this_run() {
    let other = Builder::new(1).panics(Panics::Detached);
    let caught = other.run(async { spawn(panics()).result().await });
    let error = caught.unwrap().output.unwrap_err();
    is_found_by(Panics::Unseen, || async {
        let _unseen = spawn(panics()).result().await;
        assert!(error.to_string().ends_with("of a handler"));
    });
}

#[test]
fn of_a_detached_task_fails_each_run() {
    for panics in [Panics::Any, Panics::Unseen, Panics::Detached] {
        let run = Builder::new(1).panics(panics).run(async {
            spawn_detached(self::panics());
            sleep(Duration::from_secs(1)).await;
        });
        assert!(run.is_err(), "{panics:?}");
    }
}

#[test]
fn that_the_faults_have_asked_for_is_no_failure() {
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
            spawn_blocking(|| joint::block_on(sleep(Duration::from_secs(3600)))).await;
        });
        sleep(Duration::from_secs(1)).await;
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
