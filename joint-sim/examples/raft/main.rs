//! Raft on simulated hosts: elections and a replicated log under crashes, partitions and a network
//! that loses messages, for thousands of seeds.
//!
//! ```text
//! cargo run --release -p joint-sim --example raft -- \
//!     [--seeds N] [--bug NAME] [--shrink N]
//! ```
//!
//! `protocol` is Raft as its paper describes it, without I/O. A `server` carries messages, time and
//! its disk to it. Each server and client is a host of the simulation. `chaos` crashes the servers
//! and cuts the network, and `setup` makes the cluster larger and its network worse. Each of these
//! is a fault site, so `sim::Check` decides which happen, and takes away what a failure does not
//! need. An `observer` checks the properties of figure 3 of the paper after each step of a server,
//! and a `history`, after each operation of a client, whether there is an order of the operations
//! that explains what the clients have seen. In the end there are no more faults, and all clients
//! have to be served.
//!
//! With `--bug`, a mistake is planted into the protocol. The check ends with the first seed that
//! shows it and shrinks that run. The shrunk run is drawn.
//!
//! | exit status | means |
//! |---|---|
//! | 0 | all properties held, or the planted bug was found |
//! | 2 | bad usage, a property was violated without a bug, or the bug was not found |

mod chance;
mod chaos;
mod client;
mod cluster;
mod disk;
mod link;
mod observer;
mod picture;
mod protocol;
mod server;
mod setup;

#[path = "../history/mod.rs"]
mod history;
#[path = "../../../joint-executor/examples/options/mod.rs"]
mod options;

use std::{cell::RefCell, fmt::Display, process::ExitCode};

use joint_sim::{Check, Checked, Faults, Found};
use lexopt::Arg::Long;

use crate::{observer::Summary, options::Options, protocol::bug::Bug};

const HELP: &str = "\
Runs a cluster of Raft servers in a simulation, with many seeds.

Usage: raft [--seeds N] [--bug NAME] [--shrink N]

  --seeds N     try the seeds 1 to N, up to 1000000 (default: 1000, to find a bug 10000)
  --bug NAME    plant a bug, and find it:
                  forget-vote          a vote is not written to the disk (figure 2)
                  vote-for-anyone      the candidate's log does not matter (section 5.4.1)
                  commit-earlier-term  a majority is enough to commit (section 5.4.2, figure 8)
                  truncate             an old message shortens the log (section 5.3)
                  stale-read           a leader reads without asking others (section 8)
                  apply-twice          a repeated request is applied again (section 8)
  --shrink N    shrink the run that shows the bug by up to N runs (default: 1000)
  -h, --help    print this
  -V, --version print the version

Exit status: 0 all properties held or the bug was found, 2 failed.
";

const MOST_SEEDS: u64 = 1_000_000;
const MOST_SHRINK_RUNS: u64 = 1_000_000;

/// More steps than any run takes that makes progress.
const MOST_STEPS: u64 = 1_000_000;

/// Each site is active in half of the runs, and fires every other time there. Delays are rarer than
/// in [`Faults::all`], because with more of them the servers would hold elections all the time.
const FAULTS: Faults = Faults::none()
    .sites(0.5)
    .late_timers(0.02)
    .late_wakeups(0.02)
    .spurious_polls(0.02)
    .extra_yields(0.02);

fn main() -> ExitCode {
    options::run("raft", HELP, |mut options: Options| {
        let (mut seeds, mut bug, mut shrink_runs) = (None, None, 1000);
        while let Some(word) = options.next()? {
            match word {
                Long("seeds") => seeds = Some(options.number("--seeds", 1..=MOST_SEEDS)?),
                Long("bug") => {
                    let name = options.text()?;
                    let known = Bug::ALL.into_iter().find(|(known, _)| *known == name);
                    let unknown = || format!("--bug does not take {name} (see --help)");
                    bug = Some(known.ok_or_else(unknown)?.1);
                }
                Long("shrink") => {
                    shrink_runs = options.number("--shrink", 0..=MOST_SHRINK_RUNS)? as u32;
                }
                word => return Err(word.unexpected().into()),
            }
        }
        let seeds = seeds.unwrap_or(if bug.is_some() { 10_000 } else { 1000 });

        let check = Check::new().max_steps(MOST_STEPS).faults(FAULTS);
        let check = check.seeds(seeds).first_seed(1);
        let check = check.shrink_runs(shrink_runs);
        let observed = RefCell::default();
        let found = check.find(|| cluster::run(bug, &observed));
        let observed = observed.take();
        let text = match (found, bug) {
            (Ok(checked), None) => report(checked, &observed),
            (Err(found), Some(_)) => report_found(&found, &check, bug),
            (Err(found), None) => return Err(found.into()),
            (Ok(_), Some(_)) => {
                return Err(format!("no seed up to {seeds} shows the bug").into());
            }
        };
        options::print(&text)?;
        Ok(())
    })
}

/// One `key value` line each, the values aligned.
fn lines(lines: &[(&str, &dyn Display)]) -> String {
    let lines = lines.iter();
    lines
        .map(|(key, value)| format!("{key:<14}{value}\n"))
        .collect()
}

fn report(checked: Checked, observed: &Summary) -> String {
    lines(&[
        ("seeds", &checked.runs),
        // The check makes some of the runs twice.
        ("runs", &observed.runs),
        ("faults", &observed.faults),
        ("leaders", &observed.leaders),
        ("committed", &observed.committed),
        ("operations", &observed.operations),
        (
            "time",
            &format_args!("{:.0} s", observed.elapsed.as_secs_f64()),
        ),
        ("violations", &0),
    ])
}

fn report_found(found: &Found, check: &Check, bug: Option<Bug>) -> String {
    // Makes the run again, to see what was observed.
    let run = |replay: &str| {
        let observed = RefCell::<Summary>::default();
        let again = check.clone().replay(replay);
        let again = again.find(|| cluster::run(bug, &observed));
        again.expect_err("the same run fails again");
        let observed = observed.take();
        let violation = observed.violation.as_ref();
        let lines = lines(&[
            ("faults", &observed.faults),
            ("violation", violation.expect("the run has failed by it")),
            ("replay", &replay),
        ]);
        (lines, picture::draw(&observed))
    };
    let (first, picture) = run(&found.replay());
    let first = format!("{}{first}", lines(&[("found in run", &found.runs())]));
    match (found.shrunk_replay(), found.shrunk_decisions()) {
        (Some(replay), Some(decisions)) => {
            let (shrunk, picture) = run(&replay);
            let decisions = lines(&[("decisions", &decisions)]);
            format!("{first}\nshrunk:\n{decisions}{shrunk}\n{picture}")
        }
        _ => format!("{first}\n{picture}"),
    }
}
