//! The choice of tests and what comes of it, on a small set made up here.

use std::time::Duration;

use super::{plan::places, source::Source, *};

const TEXT: &str = "fn f() {
    // ORDERING: done. With `look`.
    a.swap(1, order!(done: AcqRel));
    // ORDERING: look. With `done`.
    a.load(order!(look: Acquire));
}";

fn made_up() -> Vec<Place> {
    places(&Source::new("src/a.rs", TEXT))
}

fn test(name: &str, seconds: u64, seen: &[&str]) -> Test {
    let seen = seen.iter().map(|&place| place.to_owned());
    Test::made_up(name, Duration::from_secs(seconds), seen.collect())
}

fn mutant(site: &str, change: Change) -> Mutant {
    let site = site.to_owned();
    Mutant { site, change }
}

fn killed(test: &str) -> Verdict {
    Verdict::Killed(test.to_owned())
}

fn names<'a>(tests: &[&'a Test]) -> Vec<&'a str> {
    tests.iter().map(|test| &*test.name).collect()
}

#[test]
fn candidates_start_with_the_known_test_then_the_shortest() {
    let tests = [
        test("m::long", 3, &["a::done"]),
        test("m::other", 0, &["a::look"]),
        test("m::short", 1, &["a::done"]),
        test("m::middle", 2, &["a::done", "a::look"]),
    ];
    let chosen = |first| candidates("a::done", first, &tests);
    assert_eq!(names(&chosen(None)), ["m::short", "m::middle", "m::long"]);
    let with_first = chosen(Some("m::long"));
    assert_eq!(names(&with_first), ["m::long", "m::short", "m::middle"]);
    // Known, but it does not come there any more.
    assert_eq!(chosen(Some("m::other")).len(), 3);
}

#[test]
fn the_first_test_that_fails_ends_it() {
    let tests = ["a", "b", "c"].map(|name| test(name, 0, &[]));
    let tests: Vec<_> = tests.iter().collect();
    let ends = |ends: [Ended; 3]| {
        let mut ran = 0;
        let verdict = verdict(&tests, |_| {
            ran += 1;
            Ok(ends[ran - 1])
        });
        (verdict.expect("they can be run"), ran)
    };
    use Ended::{Endless, Failed, Passed};
    assert_eq!(ends([Passed, Failed, Passed]), (killed("b"), 2));
    assert_eq!(ends([Endless, Passed, Failed]), (killed("c"), 3));
    assert_eq!(ends([Passed, Endless, Passed]), (Verdict::Endless, 3));
    assert_eq!(ends([Passed, Passed, Passed]), (Verdict::Survived, 3));
    let none = verdict(&[], |_| unreachable!("there is none"));
    assert_eq!(none, Ok(Verdict::Unreached));
    assert!(verdict(&tests, |_| Err("broken".to_owned())).is_err());
}

#[test]
fn a_filter_and_a_smoke_run_choose() {
    let places = made_up();
    let known = Verdicts::from([
        (mutant("a::done", Change::Acquire), killed("m::x")),
        (mutant("a::done", Change::Release), killed("m::y")),
        (mutant("a::look", Change::Relaxed), Verdict::Survived),
    ]);
    let chosen = |wish| {
        let chosen = wanted(&wish, &places, &known).into_iter();
        chosen
            .map(|(place, change)| format!("{} {}", place.site, change.name()))
            .collect::<Vec<_>>()
    };
    assert_eq!(chosen(Wish::default()).len(), 4);
    let filter = Some("loo".to_owned());
    let filtered = chosen(Wish {
        filter,
        ..Wish::default()
    });
    assert_eq!(filtered, ["a::look relaxed"]);
    let smoke = chosen(Wish {
        smoke: true,
        ..Wish::default()
    });
    assert_eq!(smoke, ["a::done acquire", "a::done release"]);
    let names = ["m::x", "m::y"].map(str::to_owned);
    assert_eq!(killers(&known), BTreeSet::from(names));
}

#[test]
fn merging_drops_removed_sites_and_replaces_old_verdicts() {
    let known = Verdicts::from([
        (mutant("a::gone", Change::Acquire), killed("m::x")),
        (mutant("a::done", Change::Acquire), killed("m::x")),
        (mutant("a::done", Change::Release), killed("m::x")),
    ]);
    let found = Verdicts::from([(mutant("a::done", Change::Release), Verdict::Survived)]);
    let (all, new) = merged(&made_up(), known, found.clone());
    assert_eq!(new, found);
    assert_eq!(all.len(), 2);
    assert_eq!(all[&mutant("a::done", Change::Release)], Verdict::Survived);
}

#[test]
fn a_survivor_is_wrong_unless_it_is_listed_and_a_listed_one_that_is_killed_is_too() {
    let list = "a::done acquire: None can.\na::look relaxed: None can.";
    let list = Survivors::read(list).expect("a list");
    let found = Verdicts::from([
        (mutant("a::done", Change::Acquire), Verdict::Survived),
        (mutant("a::done", Change::Release), Verdict::Survived),
        (mutant("a::done", Change::InTwo), Verdict::Unreached),
        (mutant("a::look", Change::Relaxed), killed("m::x")),
    ]);
    let wrong = complaints(&found, &list);
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(wrong[0].starts_with("a::done release: no model fails"));
    assert!(wrong[1].starts_with("a::done in_two: no model comes there"));
    assert_eq!(listed(&found, &list), 1);
    let all: Vec<_> = made_up().iter().flat_map(Place::mutants).collect();
    let stale = stale(&list, &all, &found);
    assert_eq!(stale.len(), 1, "{stale:?}");
    assert!(stale[0].starts_with("`a::look relaxed` is listed"));
}

#[test]
fn jobs_are_all_done_and_stay_in_order() {
    let squares = work((0..100).collect(), |n: usize| n * n);
    assert_eq!(squares, (0..100).map(|n| n * n).collect::<Vec<_>>());
    assert!(work(Vec::<()>::new(), |()| ()).is_empty());
}
