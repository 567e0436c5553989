//! The search for a test that finds a change.

use std::{
    collections::BTreeMap,
    iter,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use joint_mutants::place::Change;

use crate::{
    names::Named,
    options::Options,
    page::Page,
    programs::{Ended, Test},
};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    Found(String),
    Survived,
    /// No test failed, and this one did not end in time.
    Endless(String),
}

impl Verdict {
    pub(crate) fn is_survivor(&self) -> bool {
        !matches!(self, Self::Found(_))
    }

    pub(crate) fn said(&self) -> String {
        match self {
            Self::Found(test) => format!("found by {test}"),
            Self::Survived => "no test fails".to_owned(),
            Self::Endless(test) => format!("NO END of {test}"),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The place's name.
    pub(crate) place: String,
    pub(crate) change: Change,
    pub(crate) verdict: Verdict,
    pub(crate) took: Duration,
}

/// A row of changes of one place, each step weaker than the one before.
pub(crate) struct Job<'a> {
    pub(crate) place: &'a Named,
    pub(crate) steps: Vec<Vec<Change>>,
}

impl Job<'_> {
    pub(crate) fn run(
        &self,
        tests: &[Test],
        page: &Page,
        options: &Options,
    ) -> Result<Vec<Row>, String> {
        let Named { place, name } = self.place;
        let candidates = tests.iter().filter(|test| test.reached.contains(place));
        let mut candidates: Vec<_> = candidates.collect();
        steps(&self.steps, |change| {
            let mutant = format!("{place} {change}");
            let first = page.finder(name, &change.to_string());
            candidates.sort_by_key(|test| (Some(&*test.name) != first, test.took));
            let start = Instant::now();
            let runs = candidates.iter().map(|test| {
                let ended = test.against(&mutant, options.timeout);
                (&*test.name, ended)
            });
            let verdict = verdict(runs)?;
            Ok(Row {
                place: name.clone(),
                change,
                verdict,
                took: start.elapsed(),
            })
        })
    }
}

/// Tries each change of a step, and those of the next step if none of them is found.
fn steps(
    steps: &[Vec<Change>],
    mut one: impl FnMut(Change) -> Result<Row, String>,
) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for step in steps {
        let tried = step.iter().map(|&change| one(change));
        let tried = tried.collect::<Result<Vec<_>, _>>()?;
        let is_found = tried.iter().any(|row| !row.verdict.is_survivor());
        rows.extend(tried);
        if is_found {
            break;
        }
    }
    Ok(rows)
}

fn verdict<'a>(
    runs: impl Iterator<Item = (&'a str, Result<Ended, String>)>,
) -> Result<Verdict, String> {
    let mut verdict = Verdict::Survived;
    for (test, ended) in runs {
        match ended? {
            Ended::Failed => return Ok(Verdict::Found(test.to_owned())),
            Ended::Endless => verdict = Verdict::Endless(test.to_owned()),
            Ended::Passed => {}
        }
    }
    Ok(verdict)
}

/// Starts the jobs in their order, `most` at a time, and returns their results in the same order.
pub(crate) fn work<J: Send, R: Send>(
    jobs: Vec<J>,
    most: usize,
    each: impl Fn(J) -> R + Sync,
) -> Vec<R> {
    let left = Mutex::new(jobs.into_iter().enumerate());
    let next = || left.lock().expect("a job is taken without a panic").next();
    let run = || iter::from_fn(next).map(|(n, job)| (n, each(job))).collect();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..most).map(|_| scope.spawn(run)).collect();
        let done = threads.into_iter().map(|thread| {
            let done: Vec<(usize, R)> = thread.join().expect("a job does not panic");
            done
        });
        let done: BTreeMap<_, _> = done.flatten().collect();
        done.into_values().collect()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

    use super::*;

    #[test]
    fn the_first_test_that_fails_ends_the_search() {
        use Ended::{Endless, Failed, Passed};
        let ends = |ends: [Ended; 3]| {
            let mut ran = 0;
            let runs = ["a", "b", "c"].into_iter().zip(ends);
            let verdict = verdict(runs.map(|(name, ended)| {
                ran += 1;
                (name, Ok(ended))
            }));
            (verdict.expect("they can be run"), ran)
        };
        let found = |test: &str| Verdict::Found(test.to_owned());
        assert_eq!(ends([Passed, Failed, Passed]), (found("b"), 2));
        assert_eq!(ends([Endless, Passed, Failed]), (found("c"), 3));
        let endless = Verdict::Endless("b".to_owned());
        assert_eq!(ends([Passed, Endless, Passed]), (endless, 3));
        assert_eq!(ends([Passed, Passed, Passed]), (Verdict::Survived, 3));
        let broken = [("a", Err("broken".to_owned()))];
        assert_eq!(verdict(broken.into_iter()), Err("broken".to_owned()));
    }

    #[test]
    fn weaker_orderings_are_tried_while_none_is_found() {
        let all = [vec![AcqRel], vec![Acquire, Release], vec![Relaxed]];
        let all = all.map(|step| step.into_iter().map(Change::Order).collect::<Vec<_>>());
        let tried = |found| {
            let rows = steps(&all, |change| {
                let verdict = match change == Change::Order(found) {
                    true => Verdict::Found("x".to_owned()),
                    false => Verdict::Survived,
                };
                let (place, took) = (String::new(), Duration::ZERO);
                Ok(Row {
                    place,
                    change,
                    verdict,
                    took,
                })
            });
            rows.expect("they can be run").len()
        };
        assert_eq!((tried(AcqRel), tried(Acquire), tried(Relaxed)), (1, 3, 4));
    }

    #[test]
    fn jobs_are_all_done_and_stay_in_order() {
        let squares = work((0..100).collect(), 3, |n: usize| n * n);
        assert_eq!(squares, (0..100).map(|n| n * n).collect::<Vec<_>>());
        assert!(work(Vec::<()>::new(), 2, |()| ()).is_empty());
    }
}
