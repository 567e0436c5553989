//! A simulation finds the planted bugs, and none in the repaired programs.

use std::{cell::Cell, future::pending, panic, sync::Once, time::Duration};

use joint::oneshot;
use joint_executor::{JoinSet, spawn, spawn_detached, time::sleep, yield_now};
use joint_sim::{Builder, Check, Host, Scheduler};

use crate::remove_files;
use crate::{
    bugs::{Bug, Joint, Version, bugs, leases, networked, timed, timeless, wakeups},
    interleaving::locks,
    swarm::rounds,
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

/// All programs, each with the number of seeds that it is run with repaired. Programs with hosts
/// take longer.
fn all() -> impl Iterator<Item = (Bug, u64)> {
    let local = timeless::<Joint>().into_iter().chain(timed());
    let local = local.map(|bug| (bug, 500));
    local.chain(networked().into_iter().map(|bug| (bug, 100)))
}

fn fails(bug: &Bug, version: Version, seed: u64, scheduler: Scheduler) -> bool {
    let program = (bug.program)(version);
    let builder = Builder::new(seed).scheduler(scheduler);
    quietly(|| builder.max_steps(10_000).run(program).is_err())
}

#[test]
fn each_planted_bug_is_found_by_some_of_200_seeds_and_missed_by_others() {
    for (bug, _) in all() {
        let found = |&seed: &u64| fails(&bug, Version::Planted, seed, Scheduler::Random);
        let found = (0..200).filter(found).count();
        assert!(
            (1..200).contains(&found),
            "{}, {}: {found} of 200",
            bug.name,
            bug.what
        );
    }
}

#[test]
fn the_repaired_programs_have_no_bug() {
    for (bug, seeds) in all() {
        for seed in 0..seeds {
            let failed = fails(&bug, Version::Repaired, seed, Scheduler::Random);
            assert!(!failed, "{}, seed {seed}", bug.name);
        }
    }
}

async fn panics() {
    panic!("of a handler");
}

/// Programs with a bug that a run shows only to whoever judges it well.
#[expect(
    clippy::extra_unused_type_parameters,
    reason = "the list of programs gives each one a runtime"
)]
mod judged {
    use super::*;

    pub(super) async fn unseen_handler<R>(_: Version) {
        let mut set = JoinSet::new();
        set.spawn(panics());
        yield_now().await;
    }

    pub(super) async fn ignored_error<R>(_: Version) {
        let mut set = JoinSet::new();
        set.spawn(panics());
        let _ = set.join_next().await;
    }

    pub(super) async fn ignored_end<R>(_: Version) {
        let host = Host::new("a");
        host.run(panics);
        let _ = host.ended().await;
    }

    pub(super) async fn lost_wakeup<R>(_: Version) {
        let _beats = spawn(async {
            loop {
                sleep(Duration::from_secs(1)).await;
            }
        });
        spawn(pending::<()>()).await;
    }

    pub(super) async fn livelock<R>(_: Version) {
        loop {
            yield_now().await;
        }
    }

    pub(super) async fn unawaited_deadlock<R>(_: Version) {
        let (one, first) = oneshot::channel::<()>();
        let (other, second) = oneshot::channel::<()>();
        spawn_detached(async move { first.await.map(|()| other.send(())) });
        spawn_detached(async move { second.await.map(|()| one.send(())) });
        sleep(Duration::from_secs(1)).await;
    }

    pub(super) async fn free_locks<R>(_: Version) {
        locks(true).await;
    }

    pub(super) async fn long_session<R>(_: Version) {
        rounds().await;
    }
}

fn judged() -> [Bug; 10] {
    bugs! { Joint:
        judged::unseen_handler: "a handler in a set panics, and nobody looks",
        judged::ignored_error: "the error of a child is ignored",
        judged::ignored_end: "a host panics, and its end is ignored",
        judged::lost_wakeup: "a wake-up is lost beside a heartbeat",
        judged::livelock: "a task yields until another one has done something, which it does not",
        judged::unawaited_deadlock: "two tasks wait for each other, and the main future for neither",
        judged::free_locks: "two locks of another crate, which are free, are taken in two orders",
        judged::long_session: "a session breaks in its 800th round, if none times out",
        wakeups::first_waker: "a send keeps the waker of its first poll",
        leases::paused_holder: "a lease is checked before a pause of its holder, and not where the write arrives",
    }
}

/// `cargo test -p joint-sim --test sim found::a_check -- --nocapture` prints the table.
#[test]
fn a_check_finds_each_planted_bug() {
    println!("| program | mistake | runs until found |\n|---|---|---|");
    let all = all().map(|(bug, _)| bug).chain(judged());
    for bug in all {
        let check = Check::new().seeds(5_000).shrink_runs(0).canary(0);
        let check = check.deny_unfinished(bug.name == "unawaited_deadlock");
        let found = check.find(|| (bug.program)(Version::Planted));
        let found = found.expect_err(bug.name);
        remove_files(&found);
        println!("| `{}` | {} | {} |", bug.name, bug.what, found.runs());
    }
}
