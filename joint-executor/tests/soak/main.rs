//! Random programs of the public API, each of which goes through every door beside every other, and
//! a trivial reference of what must become of it. Every task is accounted for, and no thread and no
//! descriptor stays.
//!
//! As a test it takes a fixed number of programs. `cargo xtask soak [MINUTES]` runs it for that
//! long, from another seed each time. Programs run in a child process, which ends when one of them
//! fails or hangs. Then the smallest program that fails in the same way is printed, with the
//! command that runs it.
#![cfg(not(miri))]

#[path = "../../../tests/common/again.rs"]
mod again;
mod doors;
mod hosted;
mod others;
mod owners;
mod prelude;
mod strangers;
mod tree;
#[allow(dead_code, reason = "the unit tests and other programs use the rest")]
#[path = "../../../tests/common/wakes.rs"]
mod wakes;
mod world;

use std::{
    env, panic,
    process::Stdio,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant, SystemTime},
};

use joint::block_on;
use joint_executor::{Executor, time::sleep};

use crate::{doors::perform, tree::text, world::World};

/// How many programs the test runs, from seed 0.
const PROGRAMS: u64 = 300;

/// A program that makes no progress for so long hangs.
const HANG: Duration = Duration::from_secs(20);

/// How often a program runs to see whether it fails. Some fail by chance.
const TRIES: usize = 3;

const PROGRAM: &str = "JOINT_SOAK_PROGRAM";
const FIRST_SEED: &str = "JOINT_SOAK_SEED";
const MINUTES: &str = "JOINT_SOAK_MINUTES";

/// How many programs this process has begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

fn run(nodes: &[tree::Node]) {
    BEGUN.fetch_add(1, Relaxed);
    World::run(|here| perform(nodes, here));
}

/// Ends this process when a program hangs.
fn watch(limit: Duration) {
    thread::spawn(move || {
        loop {
            let before = BEGUN.load(Relaxed);
            thread::sleep(limit);
            if BEGUN.load(Relaxed) == before {
                world::hang();
            }
        }
    });
}

/// How many of a kind this process has: threads (`task`), or descriptors (`fd`).
fn count(kind: &str) -> usize {
    std::fs::read_dir(format!("/proc/self/{kind}")).map_or(0, Iterator::count)
}

/// What a child does: it runs one program some times, or those of seeds.
#[test]
#[ignore = "the other test starts it"]
fn one_child() {
    panic::set_hook(Box::new(|_| {}));
    if let Ok(program) = env::var(PROGRAM) {
        watch(HANG / 4);
        let nodes = tree::parse(&program);
        return (0..TRIES).for_each(|_| run(&nodes));
    }
    watch(HANG);
    let first: u64 = number(FIRST_SEED).expect("a seed");
    let limit = number(MINUTES).map(|minutes: f64| Duration::from_secs_f64(60.0 * minutes));
    // It is never stopped, and is in use from here on.
    block_on(Executor::global().spawn(sleep(Duration::ZERO)));
    // Idle threads for functions that block end after a second.
    let kinds = &["fd", "task"][..1 + usize::from(limit.is_some())];
    let before: Vec<_> = kinds.iter().map(|kind| count(kind)).collect();
    let start = Instant::now();
    for seed in first.. {
        if limit.map_or(seed - first == PROGRAMS, |limit| start.elapsed() >= limit) {
            println!("{} programs", seed - first);
            break;
        }
        println!("seed {seed}");
        run(&tree::program(seed));
    }
    // The system takes a joined thread off its list in its own time; and one that its own task has
    // left ends after it.
    let counts = || kinds.iter().zip(&before);
    while counts().any(|(kind, before)| count(kind) > *before) {
        thread::yield_now();
    }
}

fn number<T: std::str::FromStr>(variable: &str) -> Option<T> {
    env::var(variable).ok().and_then(|value| value.parse().ok())
}

/// Runs a child with a variable of its environment, and returns how it failed, and its last seed.
fn failure(variable: &str, value: &str) -> Option<(String, u64)> {
    let output = again::again()
        .args(["one_child", "--exact", "--ignored", "--nocapture"])
        .env(variable, value)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let lines = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (lines(&output.stdout), lines(&output.stderr));
    let mut seeds = out
        .lines()
        .rev()
        .filter_map(|line| line.split("seed ").nth(1));
    let seed = seeds.next().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    if let Some(count) = out.lines().find(|line| line.ends_with(" programs")) {
        println!("seed {value}, {count}");
    }
    let said = err.lines().find_map(|line| line.strip_prefix("fuzz: "));
    let died = || format!("died: {} {err}", output.status);
    let how = said.map_or_else(died, str::to_owned);
    (!output.status.success()).then_some((how, seed))
}

/// What two failures of the same kind have in common.
fn kind(how: &str) -> &str {
    how.trim_start_matches(['(', '"'])
        .split([':', '"'])
        .next()
        .unwrap()
}

/// Returns the smallest program that still fails in that way.
fn shrink(mut nodes: Vec<tree::Node>, mut how: String) -> (String, String) {
    'smaller: loop {
        for fewer in tree::smaller(&nodes) {
            if let Some((now, _)) = failure(PROGRAM, &text(&fewer))
                && kind(&now) == kind(&how)
            {
                (nodes, how) = (fewer, now);
                continue 'smaller;
            }
        }
        return (text(&nodes), how);
    }
}

#[test]
fn every_door_holds_beside_every_other() {
    let now = || {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.unwrap().as_secs()
    };
    let first = env::var(MINUTES).map_or(0, |_| now());
    let first = number(FIRST_SEED).unwrap_or(first);
    let Some((how, seed)) = failure(FIRST_SEED, &first.to_string()) else {
        return;
    };
    let nodes = tree::program(seed);
    println!("seed {seed}: {how}\n{}", text(&nodes));
    let (program, how) = shrink(nodes, how);
    panic!(
        "seed {seed} fails: {how}\nThis runs it:\n{PROGRAM}='{program}' cargo test -p \
         joint-executor --test soak -- one_child --exact --ignored --nocapture"
    );
}
