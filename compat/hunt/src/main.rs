//! Runs the programs of each crate with ever new seeds. See the README.
#![allow(refining_impl_trait)]

mod async_broadcast;
mod async_lock;
mod async_priority_channel;
mod async_singleflight;
mod broadcast;
mod channel;
mod crossfire;
mod deadpool;
mod flume;
mod futures;
mod futures_intrusive;
mod kanal;
mod lock;
mod maitake_sync;
mod mea;
mod moka;
mod noraft;
mod once;
mod postage;
mod quick_cache;
mod semaphore;
mod thingbuf;
mod tokio;
mod world;

use std::{
    env,
    time::{Duration, Instant},
};

use joint_sim::Check;
use world::Program;

/// The seeds of one batch. The clock is looked at between two batches.
const BATCH: u64 = 64;

fn main() {
    let mut words: Vec<String> = env::args().skip(1).collect();
    let mut number = |name: &str, default: u64| match words.iter().position(|word| word == name) {
        Some(at) => words.drain(at..at + 2).nth(1).unwrap().parse().expect(name),
        None => default,
    };
    let limit = Duration::from_secs(number("--seconds", 10));
    let first = number("--first", 0);
    let all: Vec<&[Program]> = vec![
        async_broadcast::PROGRAMS,
        async_lock::PROGRAMS,
        async_priority_channel::PROGRAMS,
        async_singleflight::PROGRAMS,
        crossfire::PROGRAMS,
        deadpool::PROGRAMS,
        flume::PROGRAMS,
        futures::PROGRAMS,
        futures_intrusive::PROGRAMS,
        kanal::PROGRAMS,
        maitake_sync::PROGRAMS,
        mea::PROGRAMS,
        moka::PROGRAMS,
        noraft::PROGRAMS,
        postage::PROGRAMS,
        quick_cache::PROGRAMS,
        thingbuf::PROGRAMS,
        tokio::PROGRAMS,
    ];
    for program in all.into_iter().flatten() {
        let chosen = words.is_empty() || words.iter().any(|word| program.name.contains(word));
        if chosen {
            hunt(program, first, limit);
        }
    }
}

fn hunt(program: &Program, first: u64, limit: Duration) {
    let start = Instant::now();
    let mut seed = first;
    while start.elapsed() < limit {
        let mut check = Check::new().first_seed(seed).seeds(BATCH);
        if ["async_lock", "moka"]
            .iter()
            .any(|name| program.name.contains(name))
        {
            // The locks of async-lock, which moka uses, look at the real time: no run can be
            // repeated for certain.
            check = check.canary(0);
        }
        if let Err(found) = (program.find)(&check) {
            println!(
                "{}: FOUND after {} runs",
                program.name,
                seed - first + found.runs()
            );
            println!("{found}\n");
            return;
        }
        seed += BATCH;
    }
    println!(
        "{}: {} runs in {:.0?}",
        program.name,
        seed - first,
        start.elapsed()
    );
}
