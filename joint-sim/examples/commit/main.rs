//! Two-phase commit with logs on disks: hosts crash, lose their power, and have disks that fail,
//! and no transaction is committed on one host and aborted on another.
//!
//! ```text
//! cargo run --release -p joint-sim --example commit -- [--seeds N] [--bug NAME]
//! ```
//!
//! A coordinator asks two participants to prepare each transaction. One that agrees logs that it
//! does, and is then bound to what the coordinator decides. If both agree, the coordinator logs
//! that the transaction is committed, and tells them. A host that has crashed learns from its log
//! what it has promised, and asks the coordinator for the outcome. What the coordinator does not
//! have in its log is aborted.
//!
//! With `--bug`, a mistake is planted into the log, and the check has to find it.
//!
//! | exit status | means |
//! |---|---|
//! | 0 | all hosts agreed in all runs, or the planted bug was found |
//! | 2 | bad usage, a run failed without a bug, or the bug was not found |

mod log;
mod observer;
mod program;

#[path = "../../../joint-executor/examples/options/mod.rs"]
mod options;

use std::{cell::Cell, fmt, process::ExitCode, rc::Rc, time::Duration};

use joint_executor::{
    chance::{fault, random},
    time::{sleep, timeout},
};
use joint_sim::{Check, Faults, Host};

use crate::{
    observer::Observer,
    options::Options,
    program::{COORDINATOR, PARTICIPANTS, coordinate, participate},
};

const HELP: &str = "\
Runs two-phase commit in a simulation, with many seeds.

Usage: commit [--seeds N] [--bug NAME]

  --seeds N     try the seeds 1 to N, up to 1000000 (default: 1000, to find a bug 10000)
  --bug NAME    plant a bug, and find it:
                  no-sync      a record is written to the log, and not synced
                  trust-cache  what is read from the log counts as synced
  -h, --help    print this

Exit status: 0 all hosts agreed or the bug was found, 2 failed.
";

/// A mistake in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    NoSync,
    TrustCache,
}

impl Bug {
    const ALL: [(&str, Self); 2] = [("no-sync", Self::NoSync), ("trust-cache", Self::TrustCache)];
}

const MOST_SEEDS: u64 = 1_000_000;
const TRANSACTIONS: u32 = 8;
/// The number of moments at which a host may crash, and the longest time between two.
const MOMENTS: u32 = 12;
const BETWEEN: u64 = 400;
/// How long it may take once nothing crashes any more.
const PATIENCE: Duration = Duration::from_secs(600);

const FAULTS: Faults = Faults::none()
    .sites(0.5)
    .disk_errors(0.02)
    .full_disks(0.02)
    .late_wakeups(0.02)
    .late_timers(0.02);

async fn simulate(bug: Option<Bug>, committed: &Cell<usize>) {
    let observer = Rc::new(Observer::new(TRANSACTIONS));
    let hosts = [COORDINATOR, PARTICIPANTS[0], PARTICIPANTS[1]].map(|name| {
        let (host, observer) = (Host::new(name), observer.clone());
        host.run(move || {
            let observer = observer.clone();
            async move {
                // A program whose disk fails ends, and is started again.
                let _failed = match name {
                    COORDINATOR => coordinate(&observer, bug).await,
                    _ => participate(&observer, bug).await,
                };
            }
        });
        host
    });
    for _ in 0..MOMENTS {
        sleep(Duration::from_millis(random() % BETWEEN)).await;
        let host = &hosts[random() as usize % hosts.len()];
        if fault("a host loses its power") {
            host.cut_power();
        } else if fault("a program crashes") {
            host.kill_program();
        }
        start_again(&hosts);
    }
    let ends = async {
        while !observer.is_done() {
            sleep(Duration::from_millis(100)).await;
            start_again(&hosts);
        }
    };
    let ended = timeout(PATIENCE, ends).await;
    assert!(ended.is_ok(), "a participant does not learn an outcome");
    committed.set(committed.get() + observer.committed());
}

/// Starts the hosts that have crashed or whose programs have ended.
fn start_again(hosts: &[Host]) {
    let stopped = hosts.iter().filter(|host| !host.is_running());
    stopped.for_each(Host::restart);
}

fn main() -> ExitCode {
    options::run("commit", HELP, |mut options: Options| {
        let seeds = options.number("--seeds", 1..=MOST_SEEDS)?;
        let bug = options.one_of("--bug", &Bug::ALL)?;
        let seeds = seeds.unwrap_or(if bug.is_some() { 10_000 } else { 1000 });
        options.end()?;

        let check = Check::new().faults(FAULTS).seeds(seeds).first_seed(1);
        let committed = Cell::new(0);
        let print = |line: fmt::Arguments<'_>| {
            let printed = options::print(&format!("{line}\n"));
            printed.map(drop).map_err(|error| error.to_string())
        };
        match (check.find(|| simulate(bug, &committed)), bug) {
            (Ok(_), None) => print(format_args!(
                "{seeds} seeds, and all hosts agreed; {} transactions were committed",
                committed.get()
            )),
            (Err(found), Some(_)) => {
                let report = found.failure().to_string();
                let what = report.lines().next().unwrap_or_default();
                print(format_args!("found in run {}: {what}", found.runs()))
            }
            (Err(found), None) => Err(found.to_string()),
            (Ok(_), Some(_)) => Err(format!("no seed up to {seeds} shows the bug")),
        }
    })
}
