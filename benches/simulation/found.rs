//! How many runs each checker needs until it finds a planted bug.

#[cfg(unix)]
use std::{fs::File, io};

use joint_benches::{
    options::Options,
    report::{Figure, Report},
    table::median,
};
use joint_sim::{Builder, Failure, Scheduler};

use super::bugs::{Bug, Joint, Version, timeless};

/// A program that takes more polls than this goes on forever, which none of the bugs does.
pub(crate) const MOST_STEPS: usize = 10_000;

/// How many runs there are at most.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// How often a checker that depends on chance starts anew.
    starts: u64,
    /// The runs of one start.
    pub(crate) runs: u64,
}

/// A way to check programs.
pub(crate) struct Checker {
    /// joint or the peer, and the way.
    name: &'static str,
    needed: Needed,
}

/// Returns the number of the run that finds the bug, from a start, which decides what is left to
/// chance. `None`: no run finds it.
pub(crate) type Needed = fn(&Bug, Version, start: u64, Limits) -> Option<u64>;

const fn checker(name: &'static str, needed: Needed) -> Checker {
    Checker { name, needed }
}

const OWN: [Checker; 2] = [
    checker("joint random", |bug, version, start, limits| {
        by_seeds(bug, version, &Scheduler::Random, start, limits)
    }),
    checker("joint PCT 2", |bug, version, start, limits| {
        by_seeds(bug, version, &Scheduler::Pct { depth: 2 }, start, limits)
    }),
];

#[cfg(joint_peers)]
const PEERS: [Checker; 2] = [
    checker("shuttle random", super::shuttle::random),
    checker("shuttle PCT 2", super::shuttle::pct),
];
#[cfg(not(joint_peers))]
const PEERS: [Checker; 0] = [];

fn checkers() -> Vec<Checker> {
    OWN.into_iter().chain(PEERS).collect()
}

/// Whether a run has failed as a bug makes it fail, and not by its limit of steps.
fn is_found(failure: Failure) -> bool {
    failure.is_deadlock() || failure.into_panic().is_ok()
}

fn settings(seed: u64) -> Builder {
    Builder::new(seed).max_steps(MOST_STEPS as u64)
}

fn by_seeds(
    bug: &Bug,
    version: Version,
    scheduler: &Scheduler,
    start: u64,
    limits: Limits,
) -> Option<u64> {
    // The steps of a run that does not fail, which come first to a user.
    let steps = |seed| settings(seed).run((bug.program)(version)).ok();
    let steps = (0..).find_map(steps).map_or(0, |outcome| outcome.steps);
    (1..=limits.runs).find(|run| {
        let settings = settings(start * limits.runs + run).expected_steps(steps);
        let settings = settings.scheduler(scheduler.clone());
        let ended = settings.run((bug.program)(version));
        ended.is_err_and(is_found)
    })
}

/// Calls `f` without the messages of the panics that it provokes.
#[cfg(unix)]
fn quietly<R>(f: impl FnOnce() -> R) -> R {
    let kept = rustix::io::dup(io::stderr()).expect("a standard error");
    let nowhere = File::options().write(true).open("/dev/null");
    let nowhere = nowhere.expect("a file for what nobody reads");
    rustix::stdio::dup2_stderr(nowhere).expect("a standard error");
    let returned = f();
    rustix::stdio::dup2_stderr(kept).expect("a standard error");
    returned
}

#[cfg(not(unix))]
fn quietly<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// The median over the starts, or NaN if most starts find nothing.
fn typical(checker: &Checker, bug: &Bug, limits: Limits) -> f64 {
    let needed = |start| (checker.needed)(bug, Version::Planted, start, limits);
    let all = (0..limits.starts).map(needed);
    let typical = median(all.map(|runs| runs.map_or(f64::INFINITY, |runs| runs as f64)));
    if typical.is_finite() {
        typical
    } else {
        f64::NAN
    }
}

/// Each of joint's ways is compared with itself, and each of a peer's with the same of joint's.
fn figures(bug: &Bug, checkers: &[Checker], limits: Limits) -> Vec<Figure> {
    let typical = checkers.iter().map(|checker| typical(checker, bug, limits));
    let typical: Vec<_> = typical.collect();
    let figure = |(at, checker): (usize, &Checker)| {
        // Where joint does not find the bug, the ratio is 0.
        let own = typical[at % OWN.len()];
        let own = if own.is_nan() { f64::INFINITY } else { own };
        Figure::new(checker.name, typical[at], typical[at] / own)
    };
    checkers.iter().enumerate().map(figure).collect()
}

/// Prints the table.
///
/// # Panics
///
/// If a checker finds a bug in a repaired program.
pub(crate) fn print(options: &Options, report: &mut Report) {
    let title = "runs until a planted bug is found";
    let limits = options.of(
        Limits {
            starts: 100,
            runs: 2_000,
        },
        Limits {
            starts: 1,
            runs: 20,
        },
    );
    let checkers = checkers();
    let mut has_head = false;
    for bug in timeless::<Joint>() {
        let row = bug.name.replace('_', " ");
        if !options.wants(title, &row) {
            continue;
        }
        let few = Limits {
            runs: limits.runs / 20,
            ..limits
        };
        let is_wrong = |checker: &&Checker| {
            let found = (checker.needed)(&bug, Version::Repaired, 0, few);
            found.is_some()
        };
        let wrong = quietly(|| checkers.iter().find(is_wrong));
        if let Some(checker) = wrong {
            panic!(
                "{} fails the repaired program of: {}",
                checker.name, bug.what
            );
        }
        let figures = quietly(|| figures(&bug, &checkers, limits));
        if !std::mem::replace(&mut has_head, true) {
            println!("\nEach way of a peer is compared with the same way of joint:");
            report.head(title, checkers.iter().map(|checker| checker.name));
        }
        report.row(title, &row, "runs", &figures);
    }
}
