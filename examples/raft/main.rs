//! Raft on simulated hosts: elections and a replicated log under crashes, partitions and a network
//! that loses messages, for thousands of seeds.
//!
//! ```text
//! cargo run --release --features sim --example raft -- [--seeds N] [--bug NAME] [--time]
//! ```
//!
//! `protocol` is Raft as its paper describes it, without I/O. A `server` carries messages, time and
//! its disk to it. Each server and client is a host of the simulation. A `plan`, which the seed
//! decides, says how many servers there are and what is done to them. An `observer` checks the
//! properties of figure 3 of the paper after each step of a server, and a `history` whether there
//! is an order of the clients' operations that explains what they have seen. In the end there are
//! no more faults, and all clients have to be served.
//!
//! With `--bug`, a mistake is planted into the protocol. The search ends with the first seed that
//! shows it, looks for a plan that is as small as possible and shows it too, and draws that run.
//!
//! | exit status | means |
//! |---|---|
//! | 0 | all properties held, or the planted bug was found |
//! | 2 | bad usage, a property was violated without a bug, or the bug was not found |

mod chance;
mod client;
mod cluster;
mod disk;
mod history;
mod link;
mod observer;
mod picture;
mod plan;
mod protocol;
mod search;
mod server;

#[path = "../options/mod.rs"]
mod options;

use std::{fmt::Display, process::ExitCode, time::Instant};

use crate::{
    options::Options,
    protocol::bug::Bug,
    search::{Found, Totals, search},
};

const HELP: &str = "\
Runs a cluster of Raft servers in a simulation, with many seeds.

Usage: raft [--seeds N] [--bug NAME] [--time]

  --seeds N     try the seeds 1 to N, up to 1000000 (default: 1000)
  --bug NAME    plant a bug, and find it:
                  forget-vote          a vote is not written to the disk (figure 2)
                  vote-for-anyone      the candidate's log does not matter (section 5.4.1)
                  commit-earlier-term  a majority is enough to commit (section 5.4.2, figure 8)
                  truncate             an old message shortens the log (section 5.3)
                  stale-read           a leader reads without asking others (section 8)
                  apply-twice          a repeated request is applied again (section 8)
  --time        say on standard error how long it took
  -h, --help    print this

Exit status: 0 all properties held or the bug was found, 2 failed.
";

const MOST_SEEDS: u64 = 1_000_000;

fn main() -> ExitCode {
    options::run("raft", HELP, |mut options: Options| {
        let seeds = options.number("--seeds", 1..=MOST_SEEDS)?.unwrap_or(1000);
        let bug = options.one_of("--bug", &Bug::ALL)?;
        let time = options.switch("--time");
        options.end()?;

        let start = Instant::now();
        let (totals, found) = search(seeds, bug)?;
        let elapsed = start.elapsed().as_secs_f64();
        if time {
            let rate = totals.runs as f64 / elapsed;
            options::complain(format_args!("{elapsed:.1} s, {rate:.0} seeds/s"));
        }
        let text = match (found, bug) {
            (None, None) => report(&totals),
            (Some(found), Some(_)) => report_found(found, bug)?,
            (
                Some(Found {
                    seed, violation, ..
                }),
                None,
            ) => {
                return Err(format!("seed {seed}: {violation}"));
            }
            (None, Some(_)) => return Err(format!("no seed up to {seeds} shows the bug")),
        };
        options::print(&text).map_err(|error| error.to_string())?;
        Ok(())
    })
}

/// One `key value` line each, the values aligned.
fn lines(lines: &[(&str, &dyn Display)]) -> String {
    let lines = lines.iter();
    lines
        .map(|(key, value)| format!("{key:<12}{value}\n"))
        .collect()
}

fn report(totals: &Totals) -> String {
    lines(&[
        ("seeds", &totals.runs),
        ("faults", &totals.faults),
        ("leaders", &totals.leaders),
        ("committed", &totals.committed),
        ("operations", &totals.operations),
        ("steps", &totals.steps),
        (
            "time",
            &format_args!("{:.0} s", totals.elapsed.as_secs_f64()),
        ),
        ("digest", &format_args!("{:016x}", totals.digest)),
        ("violations", &0),
    ])
}

fn report_found(found: Found, bug: Option<Bug>) -> Result<String, String> {
    let first = report_one(&found);
    let small = found.shrink(bug)?;
    let picture = picture::draw(
        &small.plan,
        &small.ended.summary.story,
        small.is_of_clients(),
    );
    let small = report_one(&small);
    Ok(format!(
        "{first}\nas small as possible:\n{small}\n{picture}"
    ))
}

fn report_one(found: &Found) -> String {
    lines(&[
        ("seed", &found.seed),
        ("plan", &found.plan),
        ("faults", &found.plan.faults.len()),
        ("violation", &found.violation),
    ])
}
