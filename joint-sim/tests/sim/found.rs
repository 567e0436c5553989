//! A simulation finds the planted bugs, and none in the repaired programs.

use std::{panic, sync::Once};

use crate::{
    bugs::{Bug, faulty, timed, timeless},
    prelude::*,
};

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the messages of this thread's panics away, of which some are expected.
fn quietly<R>(f: impl FnOnce() -> R) -> R {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                hook(info);
            }
        }));
    });
    let before = IS_QUIET.replace(true);
    let returned = f();
    IS_QUIET.set(before);
    returned
}

/// All programs. Those with hosts are in `services`.
fn all() -> impl Iterator<Item = Bug> {
    timeless::<Joint>().into_iter().chain(timed())
}

fn fails(bug: &Bug, version: Version, seed: u64, scheduler: Scheduler) -> bool {
    let program = (bug.program)(version);
    let builder = Builder::new(seed).scheduler(scheduler);
    quietly(|| builder.max_steps(10_000).run(program).is_err())
}

#[test]
fn each_planted_bug_is_found_by_some_of_200_seeds_and_missed_by_others() {
    for bug in all() {
        let fails = |seed| fails(&bug, Version::Planted, seed, Scheduler::Random);
        let first = fails(0);
        let differs = (1..200).any(|seed| fails(seed) != first);
        assert!(differs, "{}, {}: {first}", bug.name, bug.what);
    }
}

#[test]
fn the_repaired_programs_have_no_bug() {
    for bug in all() {
        for seed in 0..50 {
            let failed = fails(&bug, Version::Repaired, seed, Scheduler::Random);
            assert!(!failed, "{}, seed {seed}", bug.name);
        }
    }
}

#[test]
fn a_bug_that_needs_a_fault_is_found_with_it_alone() {
    for (bug, with) in faulty() {
        let others = Faults::all().disk_errors(0.0).full_disks(0.0);
        let others = others.socket_errors(0.0);
        let check = |faults| Check::new().faults(faults).canary(0);
        let planted = || (bug.program)(Version::Planted);
        let without = check(with(others.clone(), 0.0)).seeds(50).find(planted);
        assert!(without.is_ok(), "{}: {}", bug.name, without.unwrap_err());
        // Alone, and as likely as in a check that sets nothing.
        let rate = match bug.name {
            name if name.contains("give") || name.contains("once") => 0.01,
            _ => 0.1,
        };
        let found = found(&check(with(Faults::none(), rate)).seeds(5_000), planted);
        println!("| `{}` | {} | {} |", bug.name, bug.what, found.runs());
        assert!(found.shrunk_decisions() <= Some(3), "{found}");
        check(with(others, rate))
            .seeds(50)
            .run(|| (bug.program)(Version::Repaired));
    }
}

/// `cargo test -p joint-sim --test sim found::a_check -- --nocapture` prints the table.
#[test]
fn a_check_finds_each_planted_bug() {
    println!("| program | mistake | runs until found |\n|---|---|---|");
    for bug in all() {
        let check = Check::new().seeds(5_000).shrink_runs(0).canary(0);
        let found = check.find(|| (bug.program)(Version::Planted));
        let found = found.expect_err(bug.name);
        remove_files(&found);
        println!("| `{}` | {} | {} |", bug.name, bug.what, found.runs());
    }
}
