//! Several workers, and bounds.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize as Counter, Ordering::Relaxed as Plainly},
    },
    time::Duration,
};

use joint_check::{
    model::{Builder, Count},
    sync::{
        Condvar, Mutex,
        atomic::{AtomicUsize, Ordering::*},
    },
    thread,
};

use crate::{ends_with, failure_of, once, panic_of};

/// Three threads that exchange on one word: as many executions as it has orders.
fn orders(steps: usize) -> impl Fn() + Clone + Send + Sync + 'static {
    move || {
        let word = Arc::new(AtomicUsize::new(0));
        let all = [1, 100, 10_000].map(|number| {
            let word = word.clone();
            thread::spawn(move || {
                for _ in 0..steps {
                    word.fetch_add(number, AcqRel);
                }
            })
        });
        all.into_iter().for_each(|one| one.join().unwrap());
    }
}

/// A lock and a condition variable, with executions that stay blocked.
fn handoff() {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let wait = |least: usize| {
        let shared = shared.clone();
        thread::spawn(move || {
            let guard = shared.0.lock().unwrap();
            drop(shared.1.wait_while(guard, |count| *count < least).unwrap());
        })
    };
    let waiters = [wait(1), wait(2)];
    for _ in 0..2 {
        *shared.0.lock().unwrap() += 1;
        shared.1.notify_all();
    }
    waiters.into_iter().for_each(|one| one.join().unwrap());
}

fn bounded(change: impl FnOnce(&mut Builder), f: impl Fn() + Send + Sync + 'static) -> Count {
    let mut builder = once();
    change(&mut builder);
    ends_with(&builder, f).1
}

/// loom has one worker (#359 of its issues).
#[test]
fn four_workers_count_what_one_counts() {
    for steps in [1, 2] {
        let alone = bounded(|_| (), orders(steps));
        let together = bounded(|builder| builder.workers = 4, orders(steps));
        assert_eq!(alone, together);
        assert_eq!(alone.complete, [6, 90][steps - 1]);
    }
    let alone = bounded(|_| (), handoff);
    let together = bounded(|builder| builder.workers = 4, handoff);
    assert_eq!(alone, together);
    assert!(alone.complete > 10, "{alone:?}");
}

/// Several workers find several failures. That which one worker comes to is reported.
#[test]
fn four_workers_report_the_failure_of_one() {
    let failure = |workers: usize| {
        let mut builder = Builder::new();
        builder.workers = workers;
        failure_of(&builder, || {
            let word = Arc::new(AtomicUsize::new(0));
            let all = [1, 3, 9].map(|number| {
                let word = word.clone();
                thread::spawn(move || word.fetch_add(number, AcqRel) * word.load(Acquire))
            });
            let found = all.map(|one| one.join().unwrap());
            assert!(found[0] == 0 || found[1] + found[2] < 9, "{found:?}");
        })
    };
    let alone = failure(1);
    for _ in 0..20 {
        assert_eq!(failure(4), alone);
    }
}

#[test]
fn a_failure_of_one_worker_ends_all() {
    let runs = Arc::new(Counter::new(0));
    let counted = runs.clone();
    let mut builder = Builder::new();
    builder.workers = 4;
    let panic = panic_of(|| {
        builder.check(move || {
            counted.fetch_add(1, Plainly);
            orders(3)();
            assert!(counted.load(Plainly) < 100, "enough");
        });
    });
    assert_eq!(panic, "enough");
    // There are 1,680. The others end where one worker would not have come to.
    assert!(runs.load(Plainly) < 1_600);
}

#[test]
fn a_bound_on_executions_or_time_ends_and_says_so() {
    let found = bounded(|builder| builder.max_permutations = Some(7), orders(2));
    assert_eq!((found.complete, found.is_cut), (7, true));
    let all = bounded(|builder| builder.max_permutations = Some(90), orders(2));
    assert_eq!((all.complete, all.is_cut), (90, false));
}

/// The first execution is blocked.
fn waits() {
    let flag = Arc::new(AtomicUsize::new(0));
    let theirs = flag.clone();
    let other = thread::spawn(move || theirs.store(1, Release));
    while flag.load(Acquire) == 0 {
        thread::yield_now();
    }
    other.join().unwrap();
}

/// Otherwise a model that asks for one execution, as tests for loom do, would have asserted
/// nothing.
#[test]
fn a_bound_on_executions_counts_those_that_end() {
    for workers in [1, 4] {
        let within = |most, model: fn()| {
            let change = |builder: &mut Builder| {
                (builder.workers, builder.max_permutations) = (workers, Some(most));
            };
            bounded(change, model)
        };
        let first = within(1, waits);
        assert_eq!((first.complete, first.is_cut), (1, true));
        assert!(first.blocked > 0, "{first:?}");
        assert_eq!(within(7, handoff).complete, 7);
    }
}

/// A model none of whose executions ends has asserted nothing.
#[test]
fn a_bound_that_leaves_out_every_end_fails_and_is_named() {
    let says = |change: fn(&mut Builder), part: &str| {
        let text = panic_of(|| _ = bounded(change, waits));
        assert!(
            text.starts_with("no execution ends") && text.contains(part),
            "{text}"
        );
    };
    says(
        |it| it.max_duration = Some(Duration::ZERO),
        "`max_duration` of 0ns",
    );
    says(
        |it| it.max_permutations = Some(0),
        "`max_permutations` of 0: 0 are blocked",
    );
    says(
        |it| (it.deviations, it.max_permutations) = (Some(0), Some(1)),
        "`JOINT_CHECK_DEVIATIONS` of 0: 1 are blocked",
    );
    assert!(bounded(|_| (), waits).complete > 0);
}

/// Each further deviation adds executions, until they are all.
#[test]
fn a_bound_on_deviations_leaves_out_less_and_less() {
    let found = (0..).map(|most| bounded(|builder| builder.deviations = Some(most), orders(2)));
    let mut complete = Vec::new();
    for bounded in found {
        complete.push(bounded.complete);
        if !bounded.is_cut {
            break;
        }
    }
    assert!(complete.is_sorted() && complete.len() > 3, "{complete:?}");
    assert_eq!((complete[0], complete.last()), (1, Some(&90)));
}

/// A thread that waits continues as soon as it can, which is no deviation.
#[test]
fn executions_whose_waits_end_are_among_the_first() {
    let found = |most| bounded(|builder| builder.deviations = most, handoff);
    let complete = [0, 1, 2, 3].map(|most| found(Some(most)).complete);
    assert_eq!((complete, found(None).complete), ([1, 6, 18, 35], 51));
}
