//! Models of fork-join (`joint-executor/src/fork_join`): an owner joins while one or two thieves
//! try to steal the jobs that it forks.
//!
//! Both closures look at values that the model watches. If a job is run before it has reached the
//! thief, or twice, or if a result is read before it has reached the owner, that is a race or a
//! wrong count. If the owner leaves a frame too early, that is a race with the owner's last access
//! to it. rayon had to fix this last bug more than once (its issues 929, 934 and 1011): the thread
//! that finished a job touched the latch again, in a frame that its owner had already left.

use std::sync::atomic::AtomicUsize;

use crate::prelude::*;

/// Not an atomic of the model, so it makes no edges.
#[derive(Default)]
struct Count(AtomicUsize);

impl Count {
    fn bump(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    #[track_caller]
    fn assert(&self, expected: usize) {
        assert_eq!(self.0.load(Ordering::Relaxed), expected);
    }
}

fn start_thief(forks: &Arc<Forks>) -> Thread<()> {
    start(forks, |forks| _ = forks.steal(|run| run()))
}

fn join_two(forks: &Forks, drops: &Drops, runs: &Count) -> (Value, Value) {
    let input = drops.value();
    // SAFETY: only the owner calls this.
    let (a, b) = unsafe {
        forks.join(
            || drops.value(),
            move || {
                input.look();
                runs.bump();
                drops.value()
            },
        )
    };
    a.look();
    b.look();
    (a, b)
}

#[test]
fn each_side_of_a_join_runs_once_on_either_thread() {
    model(|| {
        let (forks, drops) = (Arc::new(Forks::new(2)), Drops::default());
        let runs = Count::default();
        let thief = start_thief(&forks);
        drop(join_two(&forks, &drops, &runs));
        thief.join().unwrap();
        runs.assert(1);
        drops.assert_all_of(3);
        assert!(!forks.has_jobs());
    });
}

/// Two joins in a row use the same place of the list.
#[test]
fn a_late_thief_steals_the_next_job_in_the_slot_or_none() {
    model_bounded(3, || {
        let (forks, drops) = (Arc::new(Forks::new(1)), Drops::default());
        let runs = Count::default();
        let thief = start_thief(&forks);
        drop(join_two(&forks, &drops, &runs));
        drop(join_two(&forks, &drops, &runs));
        thief.join().unwrap();
        runs.assert(2);
        drops.assert_all_of(6);
    });
}

/// A join inside `a`: the thief can take the outer job on the strength of what it reads of the
/// inner job's push or pop.
#[test]
fn the_oldest_job_is_stolen_while_newer_ones_come_and_go() {
    model_bounded(3, || {
        let (forks, drops) = (Arc::new(Forks::new(2)), Drops::default());
        let runs = Count::default();
        let thief = start_thief(&forks);
        let input = drops.value();
        let (forks, drops, runs) = (&*forks, &drops, &runs);
        // SAFETY: only the owner calls this.
        let (a, b) = unsafe {
            forks.join(
                || join_two(forks, drops, runs),
                move || {
                    input.look();
                    runs.bump();
                    drops.value()
                },
            )
        };
        a.0.look();
        b.look();
        drop((a, b));
        thief.join().unwrap();
        runs.assert(2);
        drops.assert_all_of(5);
    });
}

#[test]
fn a_job_that_is_given_back_is_run_by_its_owner() {
    model(|| {
        let (forks, drops) = (Arc::new(Forks::new(1)), Drops::default());
        let runs = Count::default();
        let thief = start(&forks, |forks| _ = forks.steal(|_| ()));
        drop(join_two(&forks, &drops, &runs));
        thief.join().unwrap();
        runs.assert(1);
        drops.assert_all_of(3);
    });
}

/// A panic that the panic hook does not report.
fn quiet_panic() {
    resume_unwind(Box::new("on purpose"));
}

#[test]
fn a_panic_waits_for_the_other_side() {
    model(|| {
        let (forks, runs) = (Arc::new(Forks::new(1)), Count::default());
        let thief = start(&forks, |forks| usize::from(forks.steal(|run| run())));
        let here = Mark::named("here");
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: only the owner calls this.
            unsafe {
                forks.join(quiet_panic, || {
                    here.write();
                    runs.bump();
                })
            }
        }));
        // The other side has ended, so this is no race.
        here.write();
        assert!(outcome.is_err());
        runs.assert(thief.join().unwrap());
        assert!(!forks.has_jobs());
    });
}

#[test]
fn a_panic_of_the_other_side_is_the_owners() {
    model(|| {
        let (forks, result) = (Arc::new(Forks::new(1)), Arc::new(()));
        let thief = start_thief(&forks);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: only the owner calls this.
            unsafe { forks.join(|| result.clone(), quiet_panic) }
        }));
        assert!(outcome.is_err());
        thief.join().unwrap();
        assert_eq!(Arc::strong_count(&result), 1);
    });
}

fn stopped_thief(steps: &[&str]) {
    stopping("executor::ring", steps, |stop| {
        let (forks, drops) = (Arc::new(Forks::new(2)), Drops::default());
        let runs = Count::default();
        let stealing = forks.clone();
        let thief = stop.start(move || _ = stealing.steal(|run| run()));
        let other = start_thief(&forks);
        drop(join_two(&forks, &drops, &runs));
        other.join().unwrap();
        thief.join();
        runs.assert(1);
        drops.assert_all_of(3);
    });
}

#[test]
fn nobody_waits_for_a_thief_that_has_no_job_yet() {
    stopped_thief(&[
        "thief_head",
        "thief_tail",
        "thief_slots",
        "thief_slot",
        "take",
    ]);
}
