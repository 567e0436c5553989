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

mod file;
#[path = "../options/mod.rs"]
mod options;
mod run;
mod tree;

use std::fmt::Display;
use std::fs;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use joint_executor::Metrics;

use crate::options::Options;
use crate::run::{Run, Totals};
use crate::tree::{Kind, Node};

const HELP: &str = "\
Hashes a directory tree into one BLAKE3 digest.

Usage: treehash [--workers N] PATH

  --workers N   hash on N threads, 1 to 1024 (default: one per processor)
  -h, --help    print this
  --            what follows is PATH, even if it starts with a dash

Symbolic links are hashed as links, not followed.
Exit status: 0 hashed, 1 some entries were unreadable, 2 failed.
";

const UNREADABLE: u8 = 1;

fn main() -> ExitCode {
    options::run("treehash", HELP, hash)
}

fn hash(mut options: Options) -> Result<ExitCode, String> {
    let workers = options.number("--workers", options::WORKERS)?;
    let path = options.path()?;
    let kind = fs::symlink_metadata(&path)
        .map(|metadata| Kind::of(metadata.file_type()))
        .map_err(|error| format!("{}: {error}", path.display()))?;

    let start = Instant::now();
    let executor = options::executor(workers)?;
    let run = Arc::new(Run::new());
    let root = executor.spawn(tree::node(run.clone(), path, Ok(kind)));
    let node = joint::block_on(root);
    let elapsed = start.elapsed();

    run.finish();
    let report = report(&node, &run.totals, &executor.metrics(), elapsed);
    options::print(&report).map_err(|error| error.to_string())?;
    Ok(match run.totals.unreadable.get() {
        0 => ExitCode::SUCCESS,
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
