//! A check on several threads reports what it would report on one.

use std::sync::Condvar;

use joint_sim::random;

use crate::prelude::*;

/// The report without the names of its files.
fn report(found: &Found) -> String {
    remove_files(found);
    let text = found.to_string();
    let lines = text.lines().filter(|line| !line.contains("joint-sim-"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Runs of different lengths, some of which fail.
async fn rarely_fails() {
    let mut set = JoinSet::new();
    for _ in 0..random() % 6 {
        set.spawn(async {
            for _ in 0..random() % 20 {
                yield_now().await;
            }
            random() % 40
        });
    }
    while let Some(drawn) = set.join_next().await {
        assert_ne!(drawn.unwrap(), 7, "seven");
    }
}

#[test]
fn several_threads_report_the_same_as_one() {
    let mut runs = Vec::new();
    for first in [0, 1_000] {
        let check = Check::new().first_seed(first).shrink_runs(20);
        let serial = check.find(rarely_fails).unwrap_err();
        let expected = report(&serial);
        assert!(expected.contains("several_threads_report_the_same_as_one"));
        for jobs in [0, 2, 5] {
            let found = check.clone().jobs(jobs).find(rarely_fails).unwrap_err();
            assert_eq!(report(&found), expected);
        }
        runs.push(serial.runs());
    }
    assert!(runs.iter().any(|&run| run > 2), "{runs:?}");
}

#[test]
fn of_two_failures_that_of_the_first_run_is_reported() {
    // What the program draws in the runs 8, 9 and 10, which are in one round.
    let drawn = |seed| Builder::new(seed).run(async { random() }).unwrap().output;
    for first in (0..10).map(|n| 100 * n) {
        let [other, early, late] = [8, 9, 10].map(|number| drawn(first + number));
        let (stage, changed) = (Mutex::new(0), Condvar::new());
        let reach = |next: u32| {
            let mut stage = stage.lock().unwrap();
            *stage = next.max(*stage);
            changed.notify_all();
        };
        let wait = |until| {
            let guard = stage.lock().unwrap();
            drop(changed.wait_while(guard, |stage| *stage < until).unwrap());
        };
        // The thread of run 8 makes run 10 as well, and the other one run 9.
        let program = || async {
            match random() {
                drawn if drawn == other => wait(1),
                drawn if drawn == early => {
                    reach(1);
                    wait(2);
                    panic!("early");
                }
                drawn if drawn == late => {
                    reach(2);
                    panic!("late");
                }
                _ => {}
            }
        };
        let check = Check::new().first_seed(first).jobs(2);
        let found = check.find(program).unwrap_err();
        assert_eq!(found.runs(), 10);
        assert!(report(&found).contains("early"));
    }
}

#[test]
fn a_future_stays_on_its_thread() {
    let checked = Check::new().seeds(100).jobs(3).find(|| async {
        let own = Rc::new(5);
        let shared = own.clone();
        yield_now().await;
        assert_eq!(spawn(async { 1 }).await + *shared, 6);
    });
    assert_eq!(checked.unwrap().runs, 100);
}

#[test]
#[should_panic(expected = "a simulation cannot be run inside a simulation")]
fn a_check_on_several_threads_is_refused_inside_a_simulation() {
    sim::run(1, async { Check::new().jobs(2).run(|| async {}) });
}
