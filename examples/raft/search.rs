//! Goes through seeds, and makes what it finds as small as it can.

use std::{
    num::NonZero,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use joint::sim;

use crate::{
    cluster::{self, Ended},
    history::LINEARIZABILITY,
    plan::Plan,
    protocol::bug::Bug,
};

/// The sums over all runs.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) runs: u64,
    pub(crate) faults: usize,
    pub(crate) leaders: usize,
    pub(crate) committed: usize,
    pub(crate) operations: usize,
    pub(crate) steps: u64,
    pub(crate) elapsed: Duration,
    /// The sum of the digests of the runs, which is the same on every machine.
    pub(crate) digest: u64,
}

/// A run that violates a property.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) seed: u64,
    pub(crate) plan: Plan,
    pub(crate) ended: Ended,
    pub(crate) violation: String,
}

/// Runs the seeds from 1 on. Returns the first run that violates a property.
///
/// # Errors
/// If a simulation itself fails.
pub(crate) fn search(seeds: u64, bug: Option<Bug>) -> Result<(Totals, Option<Found>), String> {
    let (next, last) = (AtomicU64::new(1), AtomicU64::new(seeds));
    // A simulation runs on one thread, and several of them run at once.
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let parts: Vec<_> = thread::scope(|scope| {
        let start = |_| scope.spawn(|| search_part(&next, &last, bug));
        let threads: Vec<_> = (0..threads).map(start).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|part| part.expect("a search does not panic"))
            .collect()
    });
    let (mut totals, mut first) = (Totals::default(), None::<Found>);
    for part in parts {
        let (part, found) = part?;
        totals.add(&part);
        let is_first = |found: &Found| first.as_ref().is_none_or(|first| found.seed < first.seed);
        first = found.filter(is_first).or(first);
    }
    Ok((totals, first))
}

/// One thread's part of a search.
fn search_part(
    next: &AtomicU64,
    last: &AtomicU64,
    bug: Option<Bug>,
) -> Result<(Totals, Option<Found>), String> {
    let mut totals = Totals::default();
    loop {
        // ORDERING: Relaxed, here and below. The numbers publish nothing, and the threads are
        // joined.
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed > last.load(Ordering::Relaxed) {
            return Ok((totals, None));
        }
        let plan = sim::run(seed, async { Plan::draw() });
        match run(seed, plan, bug)? {
            Ok((plan, ended)) => totals.count(&plan, &ended),
            Err(found) => {
                // Earlier seeds that are being tried may violate something too.
                last.fetch_min(seed, Ordering::Relaxed);
                return Ok((totals, Some(found)));
            }
        }
    }
}

/// Runs a plan. It may violate a property, which is an error inside of the result.
fn run(seed: u64, plan: Plan, bug: Option<Bug>) -> Result<Result<(Plan, Ended), Found>, String> {
    let mut ended = cluster::run(seed, &plan, bug)?;
    Ok(match ended.violation.take() {
        None => Ok((plan, ended)),
        Some(violation) => Err(Found {
            seed,
            plan,
            ended,
            violation,
        }),
    })
}

impl Totals {
    fn count(&mut self, plan: &Plan, ended: &Ended) {
        self.add(&Self {
            runs: 1,
            faults: plan.faults.len(),
            leaders: ended.summary.leaders,
            committed: ended.summary.committed,
            operations: ended.summary.operations,
            steps: ended.steps,
            elapsed: ended.elapsed,
            digest: ended.digest,
        });
    }

    fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.faults += other.faults;
        self.leaders += other.leaders;
        self.committed += other.committed;
        self.operations += other.operations;
        self.steps += other.steps;
        self.elapsed += other.elapsed;
        self.digest = self.digest.wrapping_add(other.digest);
    }
}

/// The seeds with which a smaller plan is tried. A smaller plan makes fewer choices, so the same
/// seed does not lead to the same run.
const TRIES: u64 = 30;

impl Found {
    /// Looks for a smaller plan that violates the same property, until none of those that are a
    /// little smaller does. Returns the shortest of its runs.
    pub(crate) fn shrink(mut self, bug: Option<Bug>) -> Result<Self, String> {
        'smaller: loop {
            let plan = self.plan.clone();
            for smaller in plan.smaller() {
                if let Some(found) = self.first(&smaller, bug)? {
                    self = found;
                    continue 'smaller;
                }
            }
            return self.shortest(bug);
        }
    }

    /// The first run of this plan that violates the same property.
    fn first(&self, plan: &Plan, bug: Option<Bug>) -> Result<Option<Self>, String> {
        for seed in self.seeds() {
            if let Err(found) = run(seed, plan.clone(), bug)? {
                if found.property() == self.property() {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    fn shortest(mut self, bug: Option<Bug>) -> Result<Self, String> {
        for seed in self.seeds() {
            if let Err(found) = run(seed, self.plan.clone(), bug)? {
                let is_shorter = found.ended.summary.story.len() < self.ended.summary.story.len();
                if is_shorter && found.property() == self.property() {
                    self = found;
                }
            }
        }
        Ok(self)
    }

    fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        self.seed..self.seed + TRIES
    }

    /// Whether the clients have seen what they should not have.
    pub(crate) fn is_of_clients(&self) -> bool {
        self.property() == LINEARIZABILITY
    }

    /// The name of the property that is violated.
    fn property(&self) -> &str {
        let end = self.violation.find(':');
        &self.violation[..end.unwrap_or(self.violation.len())]
    }
}
