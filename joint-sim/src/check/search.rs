//! The runs of a check, in rounds, on one thread or on several.
//!
//! A plan may depend on the runs before it, because the scheduler must know how long they are. So
//! that all runs of a round can be made at once, and in any order, it depends on earlier rounds
//! only. Each round is as long as all before it, up to a limit.

use std::{
    collections::BTreeSet,
    eprintln, mem,
    ops::Range,
    panic::resume_unwind,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

use super::{
    super::{
        failure::{Failure, Kind},
        reached::Counts,
        trace::Trace,
        world::quiet,
    },
    Check, Checked, Found, Run, named,
    night::Night,
    plan::Plan,
    test_name,
};

/// A run that is to be reported, and what was kept if it differs from another one.
type Bad = (Found, Option<Trace>);

/// The steps of the longest of some runs, or the first that is to be reported.
pub(super) type Made = Result<u64, Box<Bad>>;

/// The number of runs at the beginning that are all made twice.
const EARLY: u64 = 4;

const LONGEST_ROUND: u64 = 1 << 10;

/// Makes the runs with these numbers, which are expected to take this many steps.
pub(super) type Round<'a> = &'a dyn Fn(Range<u64>, u64) -> Made;

impl Check {
    pub(super) fn search(&self, run: Run<'_>, round: Round<'_>) -> Result<Checked, Box<Found>> {
        let (mut next, mut longest) = (0, 0);
        let usual = self.settings.expected_steps;
        let night = self.night.as_deref();
        let is_over = || night.is_some_and(Night::is_over);
        while next < self.seeds && !is_over() {
            let most = next.clamp(1, LONGEST_ROUND);
            let end = self.seeds.min(next + most);
            match round(next..end, if longest == 0 { usual } else { longest }) {
                Ok(steps) => longest = longest.max(steps),
                Err(bad) => {
                    let (found, kept) = *bad;
                    return Err(Box::new(match kept {
                        Some(kept) => found.with_trace(kept),
                        None => self.found(found, run),
                    }));
                }
            }
            next = end;
        }
        let reached = mem::take(&mut *self.reached());
        let is_missing = |what: &&String| !reached.contains_key(what.as_str());
        let missing: Vec<_> = self.wants.iter().filter(is_missing).cloned().collect();
        if !missing.is_empty() {
            let failure = Failure::new(self.first, Kind::NeverReached(missing), 0, 0, [].into());
            let plan = Plan::nth(0, self.first, usual);
            return Err(Box::new(Found::new(plan, next, failure)));
        }
        Ok(Checked {
            runs: night.map_or(self.seeds, Night::runs),
            reached: named(reached),
        })
    }

    fn reached(&self) -> MutexGuard<'_, Counts> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one run, or two that must not differ. Returns the number of its steps.
    pub(super) fn make(&self, number: u64, expected: u64, run: Run<'_>) -> Made {
        let mut plan = Plan::nth(number, self.first.wrapping_add(number), expected);
        if self.swarm {
            plan = plan.swarming();
        }
        // What does not depend on the seed alone is often seen at once.
        let is_early = number < EARLY.min(self.canary);
        let is_canary = self.canary != 0 && (is_early || number % self.canary == 0);
        if let Some(night) = &self.night {
            match night.plan(plan) {
                Some(own) => plan = own,
                None => return Ok(0),
            }
        }
        let keeps = is_canary || self.night.is_some();
        let keeping = keeps.then(|| self.keeping());
        let settings = keeping.as_ref().unwrap_or(&self.settings);
        let one = run(&plan, settings);
        if !one.kept.reached.is_empty() {
            let mut all = self.reached();
            for (what, times) in &one.kept.reached {
                *all.entry(what.clone()).or_default() += times;
            }
        }
        if let Some(night) = &self.night {
            night.learn(&plan, &one.kept);
        }
        // A run that is stuck takes long, and leaks.
        let is_stuck = one.ended.as_ref().is_err_and(Failure::is_stuck);
        let again = (is_canary && !is_stuck).then(|| run(&plan, settings));
        let difference = again.and_then(|again| one.kept.trace.difference(&again.kept.trace));
        let (failure, kept) = match (difference.map(Kind::Differs), one.ended) {
            (None, Ok(())) => return Ok(passed(one.panics, one.steps)),
            (None, Err(failure)) => (failure, None),
            (Some(kind), _) => {
                let failure = Failure::new(plan.seed, kind, one.steps, 0, [].into());
                (failure, Some(one.kept.trace))
            }
        };
        Err(Box::new((Found::new(plan, number + 1, failure), kept)))
    }
}

/// Prints the panics of a run that has passed, unless they were printed before. Returns the number
/// of its steps.
fn passed(panics: Vec<String>, steps: u64) -> u64 {
    /// The lines that were printed, up to a number.
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if !panics.is_empty() {
        let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
        for panic in panics {
            if told.len() < MOST_TOLD && told.insert(panic.clone()) {
                eprintln!("no failure of the check: {panic}");
            }
        }
    }
    steps
}

const MOST_TOLD: usize = 100;

/// Makes runs one after the other, up to the first that is to be reported.
pub(super) fn in_turn(mut next: impl FnMut() -> Option<u64>, make: impl Fn(u64) -> Made) -> Made {
    let mut longest = 0;
    while let Some(number) = next() {
        longest = longest.max(make(number)?);
    }
    Ok(longest)
}

/// Makes runs on this many threads. If some are to be reported, the first one by its number is.
pub(super) fn at_once(
    jobs: usize,
    numbers: Range<u64>,
    make: &(impl Fn(u64) -> Made + Sync),
) -> Made {
    let left = &Mutex::new(numbers);
    let lock = || left.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        let _quiet = quiet(true);
        // All smaller numbers are taken. So the first failure is found, whatever thread finds it.
        in_turn(|| lock().next(), make).inspect_err(|_| lock().end = 0)
    };
    thread::scope(|scope| {
        // A name is that of the test, which a report tells.
        let thread = || match test_name() {
            Some(name) => thread::Builder::new().name(name),
            None => thread::Builder::new(),
        };
        // If the system has no more threads, there are fewer.
        let others = (1..jobs).map_while(|_| thread().spawn_scoped(scope, work).ok());
        let others: Vec<_> = others.collect();
        let own = work();
        let others = others.into_iter();
        let all = others.map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        // The first failure, or the most steps.
        let rank = |made: &Made| match made {
            Ok(steps) => (false, *steps),
            Err(bad) => (true, u64::MAX - bad.0.runs()),
        };
        all.chain([own]).max_by_key(rank).unwrap_or(Ok(0))
    })
}
