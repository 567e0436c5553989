//! Checks that go on for a time, and vary the runs that did something new.

use std::fs;

use joint_sim::fault;

use crate::prelude::*;

/// Longer than any of these checks takes, unless it finds nothing.
const NIGHT: Duration = Duration::from_secs(300);

/// Fails if each of these faults happens, which can only happen after the one before.
async fn faults_in_a_row(names: &[&str]) {
    for name in names {
        for _ in 0..3 {
            yield_now().await;
        }
        if !fault(name) {
            return;
        }
    }
    panic!("everything went wrong");
}

const SIX: [&str; 6] = ["write", "repair", "restore", "reset", "restart", "page"];

fn find(check: &Check, names: &'static [&str]) -> Box<Found> {
    found(check, || faults_in_a_row(names))
}

#[test]
fn a_fault_within_a_fault_is_found_in_fewer_runs_than_by_seeds() {
    let check = Check::new().shrink_runs(20);
    let found = find(&check.clone().real_time(NIGHT), &SIX);
    // One of 16^6 seeds is expected to find it.
    let seeds = check.seeds(found.runs());
    seeds.run(|| faults_in_a_row(&SIX));
    // The run can be repeated, although it varies another one.
    let replay = found.replay();
    assert!(
        replay.starts_with("branch:") || replay.starts_with("list:"),
        "{replay}"
    );
    let again = find(&Check::new().replay(&replay), &SIX);
    says(again, "everything went wrong");
}

#[test]
fn a_corpus_leads_the_next_night_to_where_the_last_one_ended() {
    let folder = folder("corpus");
    let check = Check::new().real_time(NIGHT).corpus(&folder);
    let first = find(&check, &SIX[..3]);
    let file = folder.join("night--a_corpus_leads_the_next_night_to_where_the_last_one_ended.txt");
    let text = fs::read_to_string(&file).unwrap();
    let plans = text.lines().count() as u64;
    let plan = first.replay();
    assert!(text.contains(plan.split('@').next().unwrap()), "{text}");
    assert!(plans < first.runs(), "{text}");
    // Another seed, so only the corpus leads there. It grows by what is new.
    let second = find(&check.clone().first_seed(1_000_000), &SIX[..3]);
    assert!(second.runs() <= plans, "{} {plans}", second.runs());
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    // Its last line was cut when the process ended.
    fs::write(&file, "random:7\nlist:3:o1").unwrap();
    let short = check.real_time(Duration::from_millis(20));
    short.run(|| async { yield_now().await });
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("random:7\nlist:3:o1\n"), "{text}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_program_without_a_failure_is_run_until_the_time_is_over() {
    let check = Check::new().real_time(Duration::from_millis(20));
    let checked = check.find(|| async { yield_now().await });
    assert!(checked.unwrap().runs > 0);
    let none = Check::new().real_time(Duration::ZERO).find(|| async {});
    assert_eq!(none.unwrap().runs, 0);
}

#[test]
fn a_check_that_passes_prints_harmless_panics_and_its_coverage() {
    let for_a_second = |command: &mut Command| _ = command.env("JOINT_SIM_TIME", "1s");
    let printed = in_process(for_a_second, || {
        Check::new().panics(Panics::Unseen).run(|| async {
            let task = spawn(async {
                assert!(!fault("disk"), "the disk is full");
            });
            let _ended = task.result().await.map_err(|error| error.into_panic());
        });
    });
    let Some(printed) = printed else { return };
    let quiet = printed
        .lines()
        .filter(|line| line.contains("the disk is full"));
    let quiet: Vec<_> = quiet.collect();
    assert_eq!(quiet.len(), 1, "{printed}");
    assert!(
        quiet[0].starts_with("no failure of the check: "),
        "{printed}"
    );
    says(&printed, "the fault \"disk\" fired ");
}
