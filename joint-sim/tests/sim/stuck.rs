//! Runs that can neither go on nor unwind. They end their process with a report.

use std::process::exit;

use joint::oneshot;
use joint_executor::time;

use crate::{common::again, prelude::*};

/// Runs the program of this test in a process of its own, and demands that this says all parts on
/// its standard error, which is returned, before it is aborted. The harness captures the output of
/// that process' tests, as usual.
fn is_stuck(parts: &[&str], program: impl FnOnce()) -> Option<String> {
    const CHILD: &str = "JOINT_TEST_STUCK";
    if env::var_os(CHILD).is_some() {
        // What hangs after all must not hang for ever.
        thread::spawn(|| {
            thread::sleep(Duration::from_secs(60));
            exit(1);
        });
        program();
        return None;
    }
    let test = thread::current().name().map(str::to_owned);
    let test = test.expect("the harness names its threads");
    let child = again().args(["--exact", &test]).env(CHILD, "1").output();
    let child = child.unwrap();
    let printed = String::from_utf8(child.stderr).unwrap();
    // Tests that pass or fail, and one that hangs, exit with one of these.
    let code = child.status.code();
    assert!(![Some(0), Some(1), Some(101)].contains(&code), "{printed}");
    parts.iter().for_each(|part| says(&printed, part));
    Some(printed)
}

#[test]
fn a_wait_that_catches_the_end_of_the_run() {
    is_stuck(
        &["deadlock: nothing can run", "the process is aborted"],
        || {
            sim::run(1, async {
                loop {
                    let _ = catch_unwind(|| block_on(pending::<()>()));
                }
            });
        },
    );
}

#[test]
fn a_function_that_blocks_elsewhere_above_a_poll_that_blocks() {
    is_stuck(
        &[
            "blocked outside of joint's waits for 50ms",
            "the process is aborted",
        ],
        || {
            let settings = Builder::new(1).max_call_time(Duration::from_millis(50));
            let _ = settings.run(async {
                let call = || {
                    let (_sender, receiver) = mpsc::channel::<()>();
                    receiver.recv()
                };
                spawn(async move { block_on(spawn_blocking(call)) }).await
            });
        },
    );
}

/// Settings under which a poll is soon found to be stuck.
const HASTY: Duration = Duration::from_millis(100);

fn hasty(seed: u64) -> Builder {
    Builder::new(seed).max_poll_time(HASTY)
}

#[test]
fn a_poll_that_parks_its_thread() {
    is_stuck(
        &[
            "the simulation with seed 17 is stuck in step 3: a poll of task 1 \"parks\", spawned at ",
            "joint-sim/tests/sim/stuck.rs:",
            "blocked outside of joint's waits for 100ms of real time",
            "`Builder::max_poll_time`",
            "the process is aborted, by thread `stuck::a_poll_that_parks_its_thread`",
        ],
        || {
            let _ = hasty(17).run(async {
                let task = TaskBuilder::new().name("parks");
                yield_now().await;
                task.spawn(async { thread::park() }).await;
            });
        },
    );
}

/// Blocks, also if an earlier wake-up of this thread has left it a token.
fn park_forever() {
    loop {
        thread::park();
    }
}

#[test]
fn a_poll_that_blocks_after_it_has_run_others() {
    is_stuck(&["a poll of task 1 \"outer\""], || {
        let _ = hasty(1).run(async {
            let outer = TaskBuilder::new().name("outer").spawn(async {
                block_on(async {
                    spawn(async {}).await;
                    yield_now().await;
                });
                park_forever();
            });
            outer.await;
        });
    });
}

#[test]
fn a_destructor_that_blocks_at_the_end() {
    is_stuck(&["a destructor at the end of the run blocked"], || {
        let _ = hasty(1).run(async {
            spawn_detached(async {
                let _parks = OnDrop(park_forever);
                let (_sender, receiver) = oneshot::channel::<()>();
                let _ = receiver.await;
            });
            yield_now().await;
            time::sleep(Duration::from_secs(1)).await;
        });
    });
}

#[test]
fn a_check_names_the_command() {
    let program = || {
        Check::new().max_poll_time(HASTY).canary(0).run(|| async {
            if sim::random() % 8 == 7 {
                thread::park();
            }
        });
    };
    let Some(report) = is_stuck(&[], program) else {
        return;
    };
    let (_, replay) = report.split_once("JOINT_SIM_REPLAY=").expect(&report);
    let (replay, rest) = replay.split_once(' ').expect(&report);
    let expected =
        "cargo test -p joint-sim --test sim stuck::a_check_names_the_command -- --exact\n";
    assert!(rest.starts_with(expected));
    let again = Check::new().replay(replay).find(|| async {
        assert!(sim::random() % 8 != 7, "again");
    });
    assert!(again.unwrap_err().to_string().contains("again"));
}

#[test]
fn a_function_that_blocks_elsewhere_is_not_called_again() {
    let calls = Arc::new(AtomicUsize::new(0));
    let check = Check::new().max_call_time(Duration::from_millis(50));
    let found = check.find(|| async {
        let calls = calls.clone();
        let call = move || {
            calls.fetch_add(1, Relaxed);
            loop {
                thread::park();
            }
        };
        spawn_blocking(call).await
    });
    says(found.unwrap_err(), "blocked outside of joint's waits");
    assert_eq!(calls.load(Relaxed), 1);
}
