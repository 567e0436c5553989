//! A register on several replicas, of which a minority may fail: written in Flow's vocabulary, and
//! run on real sockets and in a simulation.
//!
//! ```text
//! cargo run --release -p joint-flow --example register
//! cargo run --release -p joint-flow --example register -- --seeds 2000
//! cargo run --release -p joint-flow --example register -- --bug no-write-back
//! ```
//!
//! `program` is the register: its `replica`s, its `client`s, and a `workload`. A phase of an
//! operation is a [`quorum`] of requests. A query asks a majority first, and the others when one of
//! the first has failed or is slow, which is a [`race`]. Each try of a phase has a [`timeout`], and
//! [`retry`] begins the next one. What is not needed any more is dropped, and its connection is
//! closed with it. A replica is a [`Collection`] of connections, and a [`FlowLock`] orders the
//! writes to its disk.
//!
//! The program is the same everywhere. `real` runs it on the system's sockets, with replicas that
//! are stopped and started again. `simulated` runs it in a simulation, with a host for each replica
//! and client. Hosts crash, and replicas start again with what is on their disks. Links are cut and
//! clogged, timers are late, and operations are cancelled. Both check that the history of the
//! operations is linearizable.
//!
//! With `--bug`, a mistake is planted. The simulation looks for a seed that shows it, first with
//! one operation of each client, then with two, and so on. It makes the run that it finds as small
//! as it can, and draws its history.
//!
//! | exit status | means |
//! |---|---|
//! | 0 | all histories are linearizable, or the planted bug was found |
//! | 2 | bad usage, a run failed without a bug, or the bug was not found |
//!
//! [`quorum`]: joint_flow::quorum
//! [`race`]: joint_flow::race()
//! [`timeout`]: joint_flow::time::timeout
//! [`retry`]: joint_flow::retry::retry
//! [`Collection`]: joint_flow::Collection
//! [`FlowLock`]: joint_flow::lock::FlowLock

mod bug;
mod disk;
mod message;
mod program;
mod real;
mod record;
mod simulated;

#[path = "../../../joint-sim/examples/history/mod.rs"]
mod history;
#[path = "../../../joint-executor/examples/options/mod.rs"]
mod options;

use std::{fmt::Display, process::ExitCode, time::Instant};

use crate::{
    bug::Bug,
    options::Options,
    real::Load,
    simulated::{Failed, Search},
};

const HELP: &str = "\
Reads and writes a register on several replicas, on real sockets or in a simulation.

Usage: register [--operations N] [--replicas N] [--clients N] [--workers N]
       register --seeds N [--operations N] [--bug NAME] [--time]

  --operations N  of each client, 1 to 15 (default: 10)
  --replicas N    on real sockets, 1 to 9 (default: 3)
  --clients N     on real sockets, 1 to 8 (default: 4)
  --workers N     run on N threads, 1 to 1024 (default: one per processor)
  --seeds N       simulate, with the seeds 1 to N, up to 1000000 (default with --bug: 2000)
  --bug NAME      plant a bug, and find it in the simulation:
                    no-write-back  a read returns what may be on a minority only
  --time          say on standard error how long the simulation took
  -h, --help      print this

Exit status: 0 all histories are linearizable or the bug was found, 2 failed.
";

const MOST_SEEDS: u64 = 1_000_000;
const SEEDS_FOR_A_BUG: u64 = 2000;
const OPERATIONS: u64 = 10;

fn main() -> ExitCode {
    options::run("register", HELP, |mut options: Options| {
        let operations = options.number("--operations", 1..=15)?;
        let load = Load {
            replicas: options.number("--replicas", 1..=9)?.unwrap_or(3),
            clients: options.number("--clients", 1..=8)?.unwrap_or(4),
            operations: operations.unwrap_or(OPERATIONS),
        };
        let workers = options.number("--workers", options::WORKERS)?;
        let seeds = options.number("--seeds", 1..=MOST_SEEDS)?;
        let bug = options.one_of("--bug", &Bug::ALL)?;
        let time = options.switch("--time");
        options.end()?;
        let start = Instant::now();
        let report = match (seeds, bug) {
            (None, None) => run(load, workers)?,
            (Some(seeds), None) => simulate(seeds, load.operations)?,
            (_, Some(bug)) => find(bug, seeds.unwrap_or(SEEDS_FOR_A_BUG), operations)?,
        };
        if time {
            options::complain(format_args!("{:.1} s", start.elapsed().as_secs_f64()));
        }
        options::print(&report).map_err(|error| error.to_string())?;
        Ok(())
    })
}

/// Runs the program on real sockets.
fn run(load: Load, workers: Option<u64>) -> Result<String, String> {
    let executor = options::executor(workers)?;
    let ended = joint::block_on(executor.spawn(real::run(load)));
    let (record, stops) = ended.map_err(|error| error.to_string())?;
    let (called, returned) = record.counts();
    Ok(lines(&[
        ("replicas", &load.replicas),
        ("clients", &load.clients),
        ("stops", &stops),
        ("operations", &called),
        ("unknown", &(called - returned)),
        ("violations", &0),
    ]))
}

/// Runs the program in the simulation, where it must not fail.
fn simulate(seeds: u64, operations: u64) -> Result<String, String> {
    let search = Search {
        seeds,
        operations,
        bug: None,
    };
    let (totals, failed) = search.run();
    if let Some(failed) = failed {
        options::complain(report(&failed));
        return Err("a run has failed".to_owned());
    }
    Ok(lines(&[
        ("seeds", &seeds),
        ("faults", &totals.faults),
        ("operations", &totals.operations),
        ("unknown", &totals.unknown),
        ("violations", &0),
    ]))
}

/// Finds a bug in the simulation, with as few operations as possible if their number is not given.
fn find(bug: Bug, seeds: u64, operations: Option<u64>) -> Result<String, String> {
    let mut sizes = operations.map_or(1..=OPERATIONS, |operations| operations..=operations);
    let failed = sizes.find_map(|operations| {
        let search = Search {
            seeds,
            operations,
            bug: Some(bug),
        };
        Some((operations, search.run().1?))
    });
    let Some((operations, failed)) = failed else {
        return Err(format!("no seed up to {seeds} shows the bug"));
    };
    let name = Bug::ALL.iter().find(|(_, known)| *known == bug);
    let name = name.map_or("", |(name, _)| name);
    Ok(format!(
        "{}{}",
        lines(&[(
            "program",
            &format_args!("register --bug {name} --operations {operations}"),
        )]),
        report(&failed)
    ))
}

/// The failure, the history of the shrunk run, and how to replay it.
fn report(Failed { found, record }: &Failed) -> String {
    let history = record.check().err().map(|(violation, picture)| {
        let violation = lines(&[("violation", &violation)]);
        format!("{violation}\n{picture}\n")
    });
    let seed = lines(&[("seed", &found.failure().seed())]);
    format!("{seed}{}{found}", history.unwrap_or_default())
}

/// One `key value` line each, the values aligned.
fn lines(lines: &[(&str, &dyn Display)]) -> String {
    let lines = lines.iter();
    lines
        .map(|(key, value)| format!("{key:<12}{value}\n"))
        .collect()
}
