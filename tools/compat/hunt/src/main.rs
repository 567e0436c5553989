//! Runs the programs of each crate with ever new seeds. See the README.
#![expect(
    refining_impl_trait,
    reason = "an `async fn` of an adapter promises more than the trait"
)]

mod async_broadcast;
mod async_channel;
mod async_lock;
mod async_priority_channel;
mod async_singleflight;
mod async_speed_limit;
mod barrage;
mod broadcast;
mod channel;
mod crossfire;
mod deadpool;
mod flume;
mod futures;
mod futures_intrusive;
mod governor;
mod h2;
mod kanal;
mod limiter;
mod lock;
mod loole;
mod maitake_sync;
mod mea;
mod moka;
mod noraft;
mod once;
mod postage;
mod quick_cache;
mod saa;
mod semaphore;
mod stream;
mod tachyonix;
mod thingbuf;
mod tokio;
mod world;
mod yamux;

use std::{
    env,
    process::ExitCode,
    time::{Duration, Instant},
};

use joint_sim::{Check, Faults};
use world::Program;

/// Delays are at most 134 ms, so that `world::settle` outlasts them.
const FAULTS: Faults = Faults::all().longest_delay(Duration::from_nanos(1 << 27));

/// The seeds of one batch. The clock is looked at between two batches.
const BATCH: u64 = 64;

/// The programs that fail because of bugs in `docs/found.md`.
const KNOWN: [&str; 13] = [
    "hunt::async_lock exclusion::<RwLock<()>>",
    "hunt::async_lock exclusion::<Upgraded>",
    "hunt::barrage same_for_all::<Bounded>",
    "hunt::flume delivery::<Bounded>",
    "hunt::futures_intrusive cancelled_head::<Fair<Semaphore>>",
    "hunt::futures_intrusive cancelled_head::<Unfair<Semaphore>>",
    "hunt::h2 echo::<true>",
    "hunt::kanal abandoned::<Bounded>",
    "hunt::kanal delivery::<Bounded>",
    "hunt::noraft cluster::<false>",
    "hunt::noraft cluster::<true>",
    "hunt::thingbuf delivery::<Bounded>",
    "hunt::yamux echo::<0>",
];

/// Crates that read the real time, so their runs cannot be repeated for certain: the locks of
/// async-lock, which moka uses, and yamux, which measures round trips.
const REAL_TIME: [&str; 3] = ["async_lock", "moka", "yamux"];

/// Fails if a program finds a bug that is not known.
fn main() -> ExitCode {
    let mut words: Vec<String> = env::args().skip(1).collect();
    let mut number = |name: &str, default: u64| match words.iter().position(|word| word == name) {
        Some(at) => words.drain(at..at + 2).nth(1).unwrap().parse().expect(name),
        None => default,
    };
    let limit = Duration::from_secs(number("--seconds", 10));
    let first = number("--first", 0);
    let all: Vec<&[Program]> = vec![
        async_broadcast::PROGRAMS,
        async_channel::PROGRAMS,
        async_lock::PROGRAMS,
        async_priority_channel::PROGRAMS,
        async_singleflight::PROGRAMS,
        async_speed_limit::PROGRAMS,
        barrage::PROGRAMS,
        crossfire::PROGRAMS,
        deadpool::PROGRAMS,
        flume::PROGRAMS,
        futures::PROGRAMS,
        futures_intrusive::PROGRAMS,
        governor::PROGRAMS,
        h2::PROGRAMS,
        kanal::PROGRAMS,
        loole::PROGRAMS,
        maitake_sync::PROGRAMS,
        mea::PROGRAMS,
        moka::PROGRAMS,
        noraft::PROGRAMS,
        postage::PROGRAMS,
        quick_cache::PROGRAMS,
        saa::PROGRAMS,
        tachyonix::PROGRAMS,
        thingbuf::PROGRAMS,
        tokio::PROGRAMS,
        yamux::PROGRAMS,
    ];
    let is_chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let mut is_new = false;
    for program in all.into_iter().flatten() {
        if is_chosen(program.name) {
            let finds = hunt(program, first, limit);
            is_new |= finds && !KNOWN.contains(&program.name);
        }
    }
    ExitCode::from(u8::from(is_new))
}

/// Returns whether a run has failed.
fn hunt(program: &Program, first: u64, limit: Duration) -> bool {
    let Program { name, find } = program;
    let start = Instant::now();
    for seed in (first..).step_by(BATCH as usize) {
        let mut check = Check::new().faults(FAULTS).first_seed(seed).seeds(BATCH);
        if REAL_TIME.iter().any(|word| name.contains(word)) {
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
