//! A simulation finds the planted bugs, and none in the repaired programs.

use crate::{
    bugs::{Bug, faulty, timed, timeless},
    prelude::*,
};

/// All programs. Those with hosts are in `services`.
fn all() -> impl Iterator<Item = Bug> {
    timeless::<Joint>().into_iter().chain(timed())
}

fn fails(bug: &Bug, version: Version, seed: u64) -> bool {
    let program = (bug.program)(version);
    Builder::new(seed).max_steps(10_000).run(program).is_err()
}

/// `cargo test -p joint-sim --test sim found::each_planted -- --nocapture` prints the table.
#[test]
fn each_planted_bug_is_found_and_no_repaired_program_has_one() {
    println!("| program | mistake | runs until found |\n|---|---|---|");
    for bug in all() {
        let fails = |version, seed| fails(&bug, version, seed);
        let first = fails(Version::Planted, 0);
        let differs = (1..200).any(|seed| fails(Version::Planted, seed) != first);
        assert!(differs, "{}, {}: {first}", bug.name, bug.what);
        for seed in 0..50 {
            assert!(!fails(Version::Repaired, seed), "{}, seed {seed}", bug.name);
        }
        let check = Check::new().seeds(5_000).shrink_runs(0).canary(0);
        let found = found(&check, || (bug.program)(Version::Planted));
        println!("| `{}` | {} | {} |", bug.name, bug.what, found.runs());
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
            "server_that_gives_up" => 0.01,
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
