//! `cargo xtask mutants`: changes the source in one place at a time, by the environment of the
//! models, and demands that a model fails.
//!
//! The test that is written down for a change in `docs/orderings.md` is tried first, so that the
//! file stays the same from run to run, and a run that finds nothing new is short. Others follow by
//! how long they take.

mod models;
mod plan;
mod survivors;
mod table;

#[path = "../../../tests/tidy/lex.rs"]
#[allow(dead_code, reason = "shared with tests/tidy, which asks for more")]
pub(crate) mod lex;
#[path = "../../../tests/tidy/source.rs"]
#[allow(dead_code, reason = "shared with tests/tidy, which asks for more")]
pub(crate) mod source;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use super::{
    progress::Progress,
    step::{root, say},
    work::work,
};
use models::{Ended, Test};
use plan::{Change, Mutant, Place};
use survivors::Survivors;

const TABLE: &str = "docs/orderings.md";
const SURVIVORS: &str = "loom-tests/survivors.txt";

/// The request of the user.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Wish {
    pub(crate) check: bool,
    /// Only what is known to be found, and only with the tests that find it; it writes nothing.
    pub(crate) smoke: bool,
    /// A part of the names of the sites.
    pub(crate) filter: Option<String>,
}

/// The result of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// By this test.
    Killed(String),
    Survived,
    /// No test comes there.
    Unreached,
    /// A test did not end, and none fails.
    Endless,
}

pub(crate) type Verdicts = BTreeMap<Mutant, Verdict>;

/// Gives the status to exit with.
pub(crate) fn run(wish: &Wish) -> i32 {
    match mutants(wish) {
        Ok(()) => 0,
        Err(why) => {
            say(&format!("mutants failed: {why}"));
            1
        }
    }
}

fn mutants(wish: &Wish) -> Result<(), String> {
    let file = |name: &str| root().join(name);
    let places = plan::plan(&root()).map_err(|error| format!("cannot read src: {error}"))?;
    let list = fs::read_to_string(file(SURVIVORS)).unwrap_or_default();
    let survivors = Survivors::read(&list).map_err(|error| format!("{SURVIVORS}: {error}"))?;
    let before = fs::read_to_string(file(TABLE)).unwrap_or_default();
    let known = table::read(&before);

    let tests = models::tests(wish.smoke.then(|| killers(&known)).as_ref())?;
    let wanted = wanted(wish, &places, &known);
    let found = found(wanted, &known, &tests)?;
    let (verdicts, found) = merged(&places, known, found);

    let after = table::written(&places, &verdicts, &survivors);
    let mut wrong = complaints(&found, &survivors);
    let all: Vec<_> = places.iter().flat_map(Place::mutants).collect();
    wrong.extend(stale(&survivors, &all, &verdicts));
    if after != before && (wish.check || wish.smoke) {
        wrong.push(format!("{TABLE} is out of date: run `cargo xtask mutants`"));
    } else if after != before {
        fs::write(file(TABLE), after).map_err(|error| format!("cannot write {TABLE}: {error}"))?;
        say(&format!("{TABLE} is written"));
    }
    wrong.iter().for_each(|line| say(line));
    let killed = (found.values()).filter(|one| matches!(one, Verdict::Killed(_)));
    let summary = format!(
        "{} of {} changes run, {} found by a model, {} not found but listed with a reason",
        found.len(),
        all.len(),
        killed.count(),
        listed(&found, &survivors),
    );
    say(&summary);
    match wrong.len() {
        0 => Ok(()),
        n => Err(format!("{n} complaints")),
    }
}

/// The names of the tests that are known to find something.
fn killers(known: &Verdicts) -> BTreeSet<String> {
    let tests = known.values().filter_map(|verdict| match verdict {
        Verdict::Killed(test) => Some(test.clone()),
        _ => None,
    });
    tests.collect()
}

/// Those that are asked for, each with its place.
fn wanted<'a>(wish: &Wish, places: &'a [Place], known: &Verdicts) -> Vec<(&'a Place, Change)> {
    let is_wanted = |mutant: &Mutant| match &wish.filter {
        Some(filter) => mutant.site.contains(filter),
        None => !wish.smoke || matches!(known.get(mutant), Some(Verdict::Killed(_))),
    };
    let all = places.iter();
    let all = all.flat_map(|place| place.mutants().map(move |mutant| (place, mutant)));
    let wanted = all.filter(|(_, mutant)| is_wanted(mutant));
    wanted
        .map(|(place, mutant)| (place, mutant.change))
        .collect()
}

/// Runs the tests against each change.
fn found(
    wanted: Vec<(&Place, Change)>,
    known: &Verdicts,
    tests: &[Test],
) -> Result<Verdicts, String> {
    let progress = Progress::new("changes", wanted.len());
    let found = work(wanted, |(place, change)| {
        let site = place.site.clone();
        let mutant = Mutant { site, change };
        let first = match known.get(&mutant) {
            Some(Verdict::Killed(test)) => Some(&**test),
            _ => None,
        };
        let candidates = candidates(&place.seen_as(change), first, tests);
        let asked = place.asked_as(change);
        let verdict = verdict(&candidates, |test| test.against(&asked));
        let what = verdict.as_ref().map_or_else(Clone::clone, said);
        progress.one(format!("{} {}: {what}", mutant.site, change.name()));
        verdict.map(|verdict| (mutant, verdict))
    });
    found.into_iter().collect()
}

fn said(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Killed(test) => format!("found by {test}"),
        Verdict::Survived => "SURVIVES".to_owned(),
        Verdict::Unreached => "NO MODEL COMES HERE".to_owned(),
        Verdict::Endless => "NO END".to_owned(),
    }
}

/// The tests that come to a place: the one that is known to find the change, then the shortest.
fn candidates<'a>(seen_as: &str, first: Option<&str>, tests: &'a [Test]) -> Vec<&'a Test> {
    let mut own: Vec<_> = tests
        .iter()
        .filter(|test| test.seen.contains(seen_as))
        .collect();
    own.sort_by_key(|test| (Some(&*test.name) != first, test.took));
    own
}

fn verdict(
    candidates: &[&Test],
    mut against: impl FnMut(&Test) -> Result<Ended, String>,
) -> Result<Verdict, String> {
    if candidates.is_empty() {
        return Ok(Verdict::Unreached);
    }
    let mut verdict = Verdict::Survived;
    for test in candidates {
        match against(test)? {
            Ended::Failed => return Ok(Verdict::Killed(test.name.clone())),
            Ended::Endless => verdict = Verdict::Endless,
            Ended::Passed => {}
        }
    }
    Ok(verdict)
}

/// Returns the verdicts on all changes of the source, and those of them that are new.
fn merged(places: &[Place], known: Verdicts, found: Verdicts) -> (Verdicts, Verdicts) {
    let all: BTreeSet<_> = places.iter().flat_map(Place::mutants).collect();
    let mut verdicts = known;
    verdicts.retain(|mutant, _| all.contains(mutant));
    verdicts.extend(found.clone());
    (verdicts, found)
}

/// The changes that were not found and are not listed.
fn complaints(found: &Verdicts, survivors: &Survivors) -> Vec<String> {
    let open = found.iter().filter(|(mutant, verdict)| {
        !matches!(verdict, Verdict::Killed(_)) && survivors.reason(mutant).is_none()
    });
    open.map(|(mutant, verdict)| {
        let (site, change) = (&mutant.site, mutant.change.name());
        let what = match verdict {
            Verdict::Unreached => "no model comes there",
            Verdict::Endless => "a model does not end, and none fails",
            _ => "no model fails",
        };
        format!("{site} {change}: {what}; write one that does, or list it in {SURVIVORS}")
    })
    .collect()
}

fn stale(survivors: &Survivors, all: &[Mutant], verdicts: &Verdicts) -> Vec<String> {
    let stale = survivors.stale(all, verdicts).into_iter();
    stale
        .map(|entry| format!("`{entry}` is listed in {SURVIVORS}, but a model finds it, or it is not there any more"))
        .collect()
}

fn listed(found: &Verdicts, survivors: &Survivors) -> usize {
    let open = found
        .iter()
        .filter(|(_, one)| !matches!(one, Verdict::Killed(_)));
    open.filter(|(mutant, _)| survivors.reason(mutant).is_some())
        .count()
}

#[cfg(test)]
mod tests;
