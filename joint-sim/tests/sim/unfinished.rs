//! Programs that do not stop, and tasks that have not ended when the main future has.

use std::{fs, future::poll_fn, sync::atomic::AtomicU64};

use joint::oneshot;

use crate::prelude::*;

#[test]
fn a_lost_wake_up_beside_a_heartbeat_names_its_task() {
    let program = || async {
        let beats = async {
            loop {
                sleep(4 * SECOND).await;
            }
        };
        TaskBuilder::new().name("heartbeat").spawn(beats).detach();
        let consumer = TaskBuilder::new().name("consumer").spawn(async {
            sleep(SECOND).await;
            let mut is_new = true;
            // Its waker is dropped.
            let wait = poll_fn(|_| match std::mem::take(&mut is_new) {
                true => Poll::Pending,
                false => Poll::Ready(()),
            });
            waiting_for("the queue", wait).await;
        });
        consumer.await;
    };
    let faults = joint_sim::Faults::none();
    let check = Check::new().faults(faults).shrink_runs(0).canary(0);
    let found = check.find(program).expect_err("a lost wake-up");
    let files = found.files().iter();
    let size: u64 = files.map(|file| fs::metadata(file).unwrap().len()).sum();
    remove_files(&found);
    assert_eq!(found.runs(), 1);
    let report = found.to_string();
    says(
        &report,
        "\"consumer\", spawned at joint-sim/tests/sim/unfinished.rs:",
    );
    says(
        &report,
        ", waits since 1s for the queue, at joint-sim/tests/sim/",
    );
    assert!(report.lines().count() < 60, "{report}");
    // Each of the last 20,000 events is in both files.
    assert!(size < 10_000_000, "{size} bytes");
}

#[test]
fn a_run_that_does_not_stop_is_shrunk_to_what_led_to_it() {
    let calls = AtomicU64::new(0);
    let program = || {
        calls.fetch_add(1, Relaxed);
        async {
            let beats = async {
                loop {
                    sleep(60 * SECOND).await;
                }
            };
            spawn_detached(beats);
            let is_set = Arc::new(AtomicBool::new(false));
            let sets = is_set.clone();
            spawn_detached(async move {
                sleep(SECOND).await;
                sets.store(true, Relaxed);
            });
            // Long enough unless the other one is late.
            sleep(2 * SECOND).await;
            if !is_set.load(Relaxed) {
                waiting_for("the flag", pending::<()>()).await;
            }
        }
    };
    let found = found(&Check::new().canary(0), program);
    let report = found.to_string();
    let stuck = "of virtual time\nthe main future waits since 2s for the flag, at joint-sim/tests/";
    says(&report, stuck);
    assert!(found.shrunk_decisions() <= Some(4), "{report}");
    let replay = found.shrunk_replay().unwrap();
    assert!(replay.split('@').next().unwrap().len() < 120, "{report}");
    let shrinking = calls.into_inner() - found.runs() - 2;
    let told = format!("are left after {shrinking} runs\n");
    assert!(report.contains(&told), "{told}{report}");
}

#[test]
fn a_livelock_takes_too_many_steps() {
    let program = || async {
        loop {
            yield_now().await;
        }
    };
    let found = found(&Check::new().shrink_runs(0).canary(0), program);
    let report = found.to_string();
    says(&report, "it took more than 100000 steps\n");
    let (_, last) = report.split_once("the last steps:\n").expect(&report);
    assert!(last.lines().count() < 20, "{report}");
}

#[test]
fn a_report_names_oneshots_and_the_children_of_sets() {
    let program = || async {
        let (_sender, receiver) = oneshot::channel::<u32>();
        let mut set = JoinSet::new();
        set.spawn(receiver);
        spawn(async move { set.join_next().await }).await;
    };
    let report = found(&Check::new(), program).to_string();
    let named = [
        "the main future waits since 0ns for task 2 to end\n",
        "waits since 0ns for a joint::oneshot::receiver::Receiver<u32>;",
        "waits since 0ns for task 1 to end;",
    ];
    for named in named {
        says(&report, named);
    }
}

#[test]
fn a_ready_task_tells_who_woke_it_and_when_it_was_polled() {
    let run = Builder::new(1).deny_unfinished(true).run(async {
        let _stuck = spawn(pending::<()>());
        sleep(SECOND).await;
        // The handle is dropped, which cancels the task.
    });
    let report = run.unwrap_err().to_string();
    let expected = ", was woken by main, and not polled since 0ns; it ran last in step 2,";
    says(&report, expected);
}

#[test]
fn what_has_ended_is_not_unfinished() {
    let check = Check::new().seeds(50).deny_unfinished(true);
    check.run(|| async {
        let host = Host::new("a");
        host.run(|| sleep(SECOND));
        let _ = host.ended().await;
        spawn(yield_now()).await;
    });
}
