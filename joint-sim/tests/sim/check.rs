//! `check` finds failures, shrinks them, and replays them; and notices a program that depends on
//! something else than its seed.

use std::{collections::HashMap, fs};

use joint::oneshot;
use joint_sim::{point, random};

use crate::{common::own_process, prelude::*};

/// Loses an update if one of its tasks runs between the two halves of another one. It has tasks
/// and yields that do not matter.
async fn loses_an_update() {
    let count = Arc::new(AtomicU32::new(0));
    let noise: Vec<_> = (0..4)
        .map(|n| {
            spawn(async move {
                for _ in 0..n {
                    yield_now().await;
                }
            })
        })
        .collect();
    let tasks: Vec<_> = (0..3)
        .map(|n| {
            let count = count.clone();
            TaskBuilder::new()
                .name(format!("adds {n}"))
                .spawn(async move {
                    yield_now().await;
                    let seen = count.load(Relaxed);
                    if random() % 2 == 0 {
                        yield_now().await;
                    }
                    count.store(seen + 1, Relaxed);
                })
        })
        .collect();
    join(tasks).await;
    join(noise).await;
    assert!(count.load(Relaxed) == 3, "an update was lost");
}

#[test]
fn a_failure_is_found_shrunk_and_replayed() {
    let found = Check::new().find(loses_an_update).unwrap_err();
    let report = found.to_string();
    says(&report, "an update was lost");
    says(&report, "the main future panicked");
    // The replays of the report fail in the same way, and without shrinking.
    for replay in [found.replay(), found.shrunk_replay().unwrap()] {
        let again = Check::new().replay(replay.clone());
        let again = again.find(loses_an_update).unwrap_err();
        assert_eq!((again.runs(), again.replay()), (1, replay));
        says(&again, "an update was lost");
    }
    let left = found.shrunk_decisions().unwrap();
    assert!(left <= 1, "{report}");
    // The report names this test, and the tasks with names and places.
    let test = "cargo test -p joint-sim --test sim \
        check::a_failure_is_found_shrunk_and_replayed -- --exact";
    says(&report, test);
    says(
        &report,
        "\"adds 1\", spawned at joint-sim/tests/sim/check.rs:",
    );
    remove_files(&found);
}

#[test]
fn the_steps_of_the_shrunk_run_are_written_in_both_formats() {
    let find = |check: Check| {
        let found = check.find(loses_an_update).unwrap_err();
        let report = found.to_string();
        let read = |file: &PathBuf| {
            assert!(report.contains(file.to_str().unwrap()), "{report}");
            fs::read_to_string(file).unwrap()
        };
        let [text, json] = found.files() else {
            panic!("{report}");
        };
        let (text, json) = (read(text), read(json));
        remove_files(&found);
        (found, text, json)
    };
    let (found, text, json) = find(Check::new());
    let steps = "\nall steps, at most the last 20,000 events:\n";
    let (head, list) = text.split_once(steps).unwrap();
    assert!(head.contains("task 6 \"adds 1\", spawned at joint-sim/tests/sim/check.rs:"));
    assert!(list.starts_with("step 0, 0ns: main was woken"), "{list}");
    // The last step is that of the failure.
    assert!(list.trim_end().ends_with("main panicked"), "{list}");
    says(&json, "adds 1");
    // They are those of the shrunk run.
    let (_, again, json_again) = find(Check::new().replay(found.shrunk_replay().unwrap()));
    assert_eq!(again.split_once(steps).unwrap().1, list);
    assert_eq!(json_again, json);
}

#[test]
fn an_error_is_found_shrunk_and_replayed() {
    #[derive(Debug)]
    struct Late;
    let program = || async {
        for _ in 0..3 {
            yield_now().await;
        }
        if random() % 4 == 0 { Err(Late) } else { Ok(()) }
    };
    let first = found(&Check::new(), program);
    let error = ": the main future returned an error: Late\nthe last steps:\n";
    says(&first, error);
    assert_eq!(first.shrunk_decisions(), Some(0), "{first}");
    says(found(&Check::new().replay(first.replay()), program), error);
}

#[test]
fn a_setting_leaves_the_others_as_they_are() {
    let program = || async {
        let start = now();
        sleep(Duration::from_millis(1)).await;
        assert_eq!(now() - start, Duration::from_millis(1), "a timer was late");
    };
    let check = Check::new().shrink_runs(0);
    let late = found(&check.clone().max_time(Duration::from_secs(60)), program);
    says(&late, "a timer was late");
    let check = check.faults(Faults::none()).workers(1);
    let waits = || async {
        loop {
            sleep(Duration::from_secs(600)).await;
        }
    };
    let waits = found(&check, waits);
    says(&waits, "more than 86400s of virtual time");
}

#[test]
fn a_hash_map_with_random_state_is_noticed() {
    let found = found(&Check::new(), || async {
        let map: HashMap<u32, u32> = (0..64).map(|n| (n, n)).collect();
        let worker = TaskBuilder::new().name("sleeps in the order of the map");
        let sleeps = worker.spawn(async move {
            for nanos in map.into_keys() {
                sleep(Duration::from_micros(nanos.into())).await;
            }
        });
        sleeps.await;
    });
    let report = found.to_string();
    says(&report, "is the first that differs");
    let culprit =
        "the last that ran before it: task 1 \"sleeps in the order of the map\", spawned at";
    says(&report, culprit);
    says(&report, "hash maps with random state, real time");
}

#[test]
fn a_failure_that_does_not_repeat_is_reported_as_such() {
    let runs = AtomicU32::new(0);
    let found = found(&Check::new().canary(0), || async {
        assert!(runs.fetch_add(1, Relaxed) != 6, "in the seventh run");
    });
    assert_eq!((found.runs(), found.shrunk_replay()), (7, None));
    let report = found.to_string();
    says(&report, "did not fail in the same way again");
    says(&report, "in the seventh run");
}

#[test]
#[should_panic(expected = "JOINT_SIM_REPLAY=pct:x cannot be read")]
fn a_replay_that_cannot_be_read_is_refused() {
    Check::new().replay("pct:x").run(pending::<()>);
}

#[test]
fn a_panics_message_is_hidden_in_all_runs_but_the_shrunk_one() {
    let program = || check(|| spawn_blocking(|| assert!(random() % 8 != 0, "of a call")));
    let Some(mut command) = own_process(&program) else {
        return program();
    };
    command.env("JOINT_SIM_OUT", std::env::temp_dir());
    let printed = String::from_utf8(command.output().unwrap().stderr).unwrap();
    let messages = printed.matches("thread 'joint-sim-call'").count();
    assert_eq!(messages, 1, "{printed}");
}

#[test]
fn the_environment_replays_a_run() {
    let program = || check(loses_an_update);
    let output = |name: &str, value: &str| {
        let mut command = own_process(&program)?;
        command.env("JOINT_SIM_OUT", std::env::temp_dir());
        let output = command.env(name, value).output().unwrap();
        let report = String::from_utf8(output.stderr).unwrap();
        Some((output.status.success(), report))
    };
    let Some((is_ok, report)) = output("JOINT_SIM_SEED", "5000") else {
        return program();
    };
    assert!(!is_ok);
    let replay = report.split("JOINT_SIM_REPLAY=").nth(1).unwrap();
    let replay = replay.split_whitespace().next().unwrap();
    let (plan, _faults) = replay.split_once('/').unwrap();
    let seed: u64 = plan.rsplit(':').next().unwrap().parse().unwrap();
    assert!(seed >= 5_000, "{report}");
    let (is_ok, report) = output("JOINT_SIM_REPLAY", replay).unwrap();
    assert!(
        !is_ok && report.contains("run 1 of the check failed"),
        "{report}"
    );
    // The panics of the other runs are hidden.
    assert_eq!(report.matches("an update was lost").count(), 2, "{report}");
    assert!(output("JOINT_SIM_SEEDS", "0").unwrap().0);
}

/// Two tasks take two locks in opposite orders.
async fn locks(has_points: bool) {
    let locks = Arc::new([async_lock::Mutex::new(()), async_lock::Mutex::new(())]);
    let both = |first: usize| {
        let locks = locks.clone();
        spawn(async move {
            let _first = locks[first].lock().await;
            if has_points {
                point().await;
            }
            let _second = locks[1 - first].lock().await;
        })
    };
    join([both(0), both(1)]).await;
}

/// As *Limits* in the documentation says.
#[test]
fn free_locks_of_another_crate_are_interleaved_only_at_a_point() {
    let found = found(&Check::new(), || locks(true));
    assert!(found.failure().is_deadlock(), "{found}");
    assert!(Check::new().find(|| locks(false)).is_ok());
}

/// Requests and answers. A session begins anew after a timeout, and breaks in its 800th round.
async fn rounds() {
    let mut in_session = 0;
    for _ in 0..800 {
        let (sender, answer) = oneshot::channel();
        spawn_detached(async move {
            yield_now().await;
            let _ = sender.send(());
        });
        match timeout(SECOND / 20, answer).await {
            Ok(answer) => {
                answer.unwrap();
                in_session += 1;
            }
            Err(_) => in_session = 0,
        }
        assert!(in_session < 800, "the session has no more numbers");
    }
}

#[test]
fn the_ordinary_path_of_a_long_program_is_run_too() {
    for seed in 0..3 {
        assert!(Builder::new(seed).run(rounds()).is_err());
    }
    let check = Check::new().shrink_runs(2);
    assert!(check.clone().swarm(false).seeds(10).find(rounds).is_ok());
    let found = found(&check, rounds);
    says(&found, "no more numbers");
    let again = check.replay(found.replay()).find(rounds);
    assert_eq!(again.unwrap_err().failure().seed(), found.failure().seed());
}
