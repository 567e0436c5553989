//! A register on several replicas, of which a minority may fail: written in Flow's vocabulary, and
//! run on real sockets and in a simulation.
//!
//! ```text
//! cargo run --release -p joint-flow --example register
//! cargo run --release -p joint-flow --example register -- --seeds 2000
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
//! are stopped and started again. `simulated` runs it as a service in a simulation, with a host for
//! each replica and client. Replicas crash, and start again with what is on their disks. Links are
//! cut, messages are lost, timers are late, and operations are cancelled. Both check that the
//! history of the operations is linearizable. The simulation makes a run that fails as small as it
//! can.
//!
//! | exit status | means |
//! |---|---|
//! | 0 | all histories are linearizable |
//! | 2 | bad usage, or a run failed |
//!
//! [`quorum`]: joint_flow::quorum
//! [`race`]: joint_flow::race()
//! [`timeout`]: joint_flow::time::timeout
//! [`retry`]: joint_flow::retry::retry
//! [`Collection`]: joint_flow::Collection
//! [`FlowLock`]: joint_flow::lock::FlowLock

mod disk;
mod history;
mod message;
mod program;
mod real;
mod record;
mod simulated;

#[path = "../../../joint-executor/examples/options/mod.rs"]
mod options;

use std::{error::Error, fmt::Display, process::ExitCode};

use joint_executor::Executor;
use lexopt::Arg::Long;

use crate::{options::Options, real::Load, simulated::Search};

const HELP: &str = "\
Reads and writes a register on several replicas, on real sockets or in a simulation.

Usage: register [--operations N] [--replicas N] [--clients N] [--workers N]
       register --seeds N [--operations N]

  --operations N  of each client, 1 to 15 (default: 10)
  --replicas N    on real sockets, 1 to 9 (default: 3)
  --clients N     on real sockets, 1 to 8 (default: 4)
  --workers N     run on N threads, 1 to 1024 (default: one per processor)
  --seeds N       simulate, with the seeds 1 to N, up to 1000000
  -h, --help      print this
  -V, --version   print the version

Exit status: 0 all histories are linearizable, 2 failed.
";

const MOST_SEEDS: u64 = 1_000_000;

fn main() -> ExitCode {
    options::run("register", HELP, |mut options: Options| {
        let mut load = Load {
            replicas: 3,
            clients: 4,
            operations: 10,
        };
        let (mut builder, mut seeds) = (Executor::builder(), None);
        while let Some(word) = options.next()? {
            match word {
                Long("operations") => load.operations = options.number("--operations", 1..=15)?,
                Long("replicas") => load.replicas = options.number("--replicas", 1..=9)?,
                Long("clients") => load.clients = options.number("--clients", 1..=8)?,
                Long("workers") => builder = builder.workers(options.workers()?),
                Long("seeds") => seeds = Some(options.number("--seeds", 1..=MOST_SEEDS)?),
                word => return Err(word.unexpected().into()),
            }
        }
        let report = match seeds {
            None => run(load, &builder.build()?)?,
            Some(seeds) => simulate(seeds, load.operations)?,
        };
        options::print(&report)?;
        Ok(())
    })
}

/// Runs the program on real sockets.
fn run(load: Load, executor: &Executor) -> Result<String, Box<dyn Error>> {
    let (record, stops) = joint::block_on(executor.spawn(real::run(load)))?;
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
    let totals = Search { seeds, operations }.run().map_err(|found| {
        options::complain(found);
        "a run has failed"
    })?;
    Ok(lines(&[
        ("seeds", &seeds),
        ("faults", &totals.faults),
        ("operations", &totals.operations),
        ("unknown", &totals.unknown),
        ("violations", &0),
    ]))
}

/// One `key value` line each, the values aligned.
fn lines(lines: &[(&str, &dyn Display)]) -> String {
    let lines = lines.iter();
    lines
        .map(|(key, value)| format!("{key:<12}{value}\n"))
        .collect()
}
