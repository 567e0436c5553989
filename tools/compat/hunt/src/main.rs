//! Runs the programs of each crate with ever new seeds. See the README.
#![expect(
    refining_impl_trait,
    reason = "an `async fn` of an adapter promises more than the trait"
)]

mod broadcast;
mod channel;
mod h2;
mod limiter;
mod lock;
mod noraft;
mod once;
#[path = "../../../../joint-executor/examples/options/mod.rs"]
mod options;
mod semaphore;
mod stream;
mod wakeups;
mod world;
mod yamux;

use std::{
    error::Error,
    process::ExitCode,
    time::{Duration, Instant},
};

use joint_sim::{Check, Faults};
use lexopt::{
    Arg::{Long, Value},
    ValueExt,
};
use options::Options;
use world::Program;

/// Delays are at most 134 ms, so that `world::settle` outlasts them.
const FAULTS: Faults = Faults::all().longest_delay(Duration::from_nanos(1 << 27));

/// The seeds of one batch. The clock is looked at between two batches.
const BATCH: u64 = 64;

/// The programs that fail because of bugs in `docs/found.md`.
const KNOWN: [&str; 13] = [
    "abandoned Kanal",
    "cancelled_head Fair<futures_intrusive::sync::Semaphore>",
    "cancelled_head Unfair<futures_intrusive::sync::Semaphore>",
    "delivery Flume",
    "delivery Kanal",
    "delivery Thingbuf",
    "exclusion AsyncLockUpgraded",
    "exclusion async_lock::RwLock<()>",
    "hunt::h2 echo::<true>",
    "hunt::noraft cluster::<false>",
    "hunt::noraft cluster::<true>",
    "hunt::yamux echo::<0>",
    "same_for_all Barrage",
];

/// Crates that read the real time, so their runs cannot be repeated for certain: the locks of
/// async-lock, which moka uses, and yamux, which measures round trips.
const REAL_TIME: [&str; 3] = ["async_lock", "moka", "yamux"];

const HELP: &str = "\
Runs programs on published crates in the simulation, each until it finds a bug or its time is over.

Usage: hunt [--seconds N] [--first SEED] [WORD...]

  --seconds N    for each program (default: 10)
  --first SEED   of the seeds (default: 0)
  WORD           run only the programs whose names contain one of the words
  -h, --help     print this
  -V, --version  print the version

Exit status: 0 no new bug, 1 a new bug, 2 failed.
";

fn main() -> ExitCode {
    options::run("hunt", HELP, run)
}

/// Fails if a program finds a bug that is not known.
fn run(mut options: Options) -> Result<ExitCode, Box<dyn Error>> {
    let (mut seconds, mut first, mut words) = (10, 0, Vec::new());
    while let Some(word) = options.next()? {
        match word {
            Long("seconds") => seconds = options.number("--seconds", 0..=u64::MAX)?,
            Long("first") => first = options.number("--first", 0..=u64::MAX)?,
            Value(word) => words.push(word.string()?),
            word => return Err(word.unexpected().into()),
        }
    }
    let limit = Duration::from_secs(seconds);
    let all = [
        broadcast::PROGRAMS,
        channel::PROGRAMS,
        h2::PROGRAMS,
        limiter::PROGRAMS,
        lock::PROGRAMS,
        noraft::PROGRAMS,
        once::PROGRAMS,
        semaphore::PROGRAMS,
        wakeups::PROGRAMS,
        yamux::PROGRAMS,
    ];
    let is_chosen = |name| words.is_empty() || words.iter().any(|word| has_word(name, word));
    let mut is_new = false;
    for program in all.into_iter().flatten() {
        if is_chosen(program.name) {
            let finds = hunt(program, first, limit);
            is_new |= finds && !KNOWN.contains(&program.name);
        }
    }
    Ok(ExitCode::from(u8::from(is_new)))
}

/// Whether a program's name has a word, in either spelling of a crate: `async_lock` or `AsyncLock`.
fn has_word(name: &str, word: &str) -> bool {
    let plain = |text: &str| text.replace(['_', '-'], "").to_lowercase();
    plain(name).contains(&plain(word))
}

/// Returns whether a run has failed.
fn hunt(program: &Program, first: u64, limit: Duration) -> bool {
    let Program { name, find } = program;
    let start = Instant::now();
    for seed in (first..).step_by(BATCH as usize) {
        let mut check = Check::new().faults(FAULTS).first_seed(seed).seeds(BATCH);
        if REAL_TIME.iter().any(|word| has_word(name, word)) {
            check = check.canary(0);
        }
        if let Err(found) = find(&check) {
            println!("{name}: FOUND after {} runs", seed - first + found.runs());
            println!("{found}\n");
            return true;
        }
        if start.elapsed() >= limit {
            let runs = seed + BATCH - first;
            println!("{name}: {runs} runs in {:.0?}", start.elapsed());
            return false;
        }
    }
    unreachable!("there are enough seeds");
}
