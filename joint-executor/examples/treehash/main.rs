//! Hashes a directory tree into one BLAKE3 digest: a task per entry and per chunk of a large file,
//! joined bottom-up.
//!
//! ```text
//! cargo run --release --example treehash -- [--workers N] PATH
//! ```
//!
//! The module `tree` defines the digest of a directory and of a link; a file's is the standard
//! BLAKE3 of its content, what `b3sum` prints. Only names, kinds and contents count: owners,
//! permissions and times do not. The digest does not depend on the number of workers.
//!
//! An entry that cannot be read is named on standard error and enters its directory's digest as
//! such; the rest is hashed all the same.
//!
//! | exit status | means |
//! |---|---|
//! | 0 | everything was hashed |
//! | 1 | there were unreadable entries |
//! | 2 | there is no digest: bad usage, no such PATH, no threads, no output |

mod args;
mod file;
mod run;
mod tree;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs};

use joint_executor::Executor;
use joint_executor::Metrics;

use crate::args::Args;
use crate::run::{Run, Totals, complain};
use crate::tree::{Kind, Node};

const UNREADABLE: u8 = 1;
const FAILED: u8 = 2;

fn main() -> ExitCode {
    match Args::parse(env::args_os().skip(1)) {
        Ok(Args::Help) => print(args::HELP).unwrap_or_else(failed),
        Ok(Args::Hash { workers, path }) => hash(workers, &path).unwrap_or_else(failed),
        Err(message) => failed(message),
    }
}

fn failed(message: String) -> ExitCode {
    complain(message);
    ExitCode::from(FAILED)
}

fn hash(workers: Option<usize>, path: &Path) -> Result<ExitCode, String> {
    let kind = fs::symlink_metadata(path)
        .map(|metadata| Kind::of(metadata.file_type()))
        .map_err(|error| format!("{}: {error}", path.display()))?;

    let start = Instant::now();
    let mut builder = Executor::builder().thread_name(|worker| format!("treehash-{worker}"));
    if let Some(workers) = workers {
        builder = builder.workers(workers);
    }
    let executor = builder
        .build()
        .map_err(|error| format!("cannot start the workers: {error}"))?;
    let run = Arc::new(Run::new());
    let root = executor.spawn(tree::node(run.clone(), path.to_owned(), Ok(kind)));
    let node = joint::block_on(root);
    let elapsed = start.elapsed();

    run.finish();
    let status = print(&report(&node, &run.totals, &executor.metrics(), elapsed))?;
    Ok(match run.totals.unreadable.get() {
        0 => status,
        _ => ExitCode::from(UNREADABLE),
    })
}

/// One `key value` line each, the values aligned.
fn report(node: &Node, totals: &Totals, metrics: &Metrics, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let throughput = run::mebibytes(totals.bytes.get()) / seconds.max(f64::MIN_POSITIVE);
    let lines: [(&str, &dyn Display); 12] = [
        ("digest", &blake3::Hash::from_bytes(node.digest)),
        ("files", &totals.files.get()),
        ("directories", &totals.directories.get()),
        ("links", &totals.links.get()),
        ("other", &totals.others.get()),
        ("unreadable", &totals.unreadable.get()),
        ("bytes", &totals.bytes.get()),
        ("workers", &metrics.workers.len()),
        ("tasks", &metrics.spawned),
        ("steals", &metrics.steals()),
        ("elapsed", &format_args!("{seconds:.3} s")),
        ("throughput", &format_args!("{throughput:.1} MiB/s")),
    ];
    lines
        .iter()
        .map(|(key, value)| format!("{key:<12}{value}\n"))
        .collect()
}

/// Writes to standard output. A reader that has gone (`treehash PATH | head -1`) has what it
/// wanted and is no failure.
fn print(text: &str) -> Result<ExitCode, String> {
    let mut output = io::stdout().lock();
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("standard output: {error}"))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}
