//! Hashes a directory tree into one BLAKE3 digest: a task per entry and per chunk of a large file,
//! joined bottom-up.
//!
//! ```text
//! cargo run --release --example treehash -- [--workers N] [--gain] PATH
//! ```
//!
//! The module `tree` defines the digest of a directory and of a link; a file's is the standard
//! BLAKE3 of its content, what `b3sum` prints. Only names, kinds and contents count: owners,
//! permissions and times do not. The digest does not depend on the number of workers.

#[path = "../options/mod.rs"]
mod options;
mod tree;

use std::error::Error;
use std::fmt::Display;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use joint_executor::{Executor, Metrics};
use lexopt::Arg::{Long, Value};

use crate::options::Options;
use crate::tree::{Node, Totals};

const HELP: &str = "\
Hashes a directory tree into one BLAKE3 digest.

Usage: treehash [--workers N] [--gain] PATH

  --workers N   hash on N threads, 1 to 1024 (default: one per processor)
  --gain        then hash again for a second, and say what two workers gain over one
  -h, --help    print this
  -V, --version print the version
  --            what follows is PATH, even if it starts with a dash

Symbolic links are hashed as links, not followed.
Exit status: 0 hashed, 1 some entries were unreadable, 2 failed.
";

const UNREADABLE: u8 = 1;
const SECOND: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    options::run("treehash", HELP, treehash)
}

fn treehash(mut options: Options) -> Result<ExitCode, Box<dyn Error>> {
    let (mut builder, mut says_gain, mut path) = (Executor::builder(), false, None);
    while let Some(word) = options.next()? {
        match word {
            Long("workers") => builder = builder.workers(options.workers()?),
            Long("gain") => says_gain = true,
            Value(word) if path.is_none() => path = Some(PathBuf::from(word)),
            word => return Err(word.unexpected().into()),
        }
    }
    let path = path.ok_or("no PATH (see --help)")?;
    let kind = fs::symlink_metadata(&path)
        .map(|metadata| metadata.file_type())
        .map_err(|error| format!("{}: {error}", path.display()))?;

    let executor = builder.build()?;
    let totals = Arc::default();
    let (node, elapsed) = hash(&executor, &totals, &path, kind);
    let report = report(&node, &totals, &executor.metrics(), elapsed);
    options::print(&report)?;
    if totals.unreadable.get() > 0 {
        return Ok(ExitCode::from(UNREADABLE));
    }
    if says_gain {
        options::print(&gain(&path, kind)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Hashes a tree, and says how long it took.
fn hash(
    executor: &Executor,
    totals: &Arc<Totals>,
    path: &Path,
    kind: FileType,
) -> (Node, Duration) {
    let start = Instant::now();
    let root = executor.spawn(tree::node(totals.clone(), path.to_owned(), Ok(kind)));
    (joint::block_on(root), start.elapsed())
}

/// Hashes a tree on one worker and on two, in turns for a second, and compares the times.
fn gain(path: &Path, kind: FileType) -> io::Result<String> {
    let start = Instant::now();
    let build = |workers| Executor::builder().workers(workers).build();
    let executors = [build(1)?, build(2)?];
    let totals = Arc::default();
    let (mut times, mut rounds) = ([Duration::ZERO; 2], 0.0);
    while rounds == 0.0 || start.elapsed() < SECOND {
        for (executor, time) in executors.iter().zip(&mut times) {
            *time += hash(executor, &totals, path, kind).1;
        }
        rounds += 1.0;
    }
    let [one, two] = times.map(|time| time.as_secs_f64().max(f64::MIN_POSITIVE));
    let gain = one / two;
    let [one, two] = [one, two].map(|seconds| seconds * 1000.0 / rounds);
    Ok(format!(
        "\nTwo workers are {gain:.2} times as fast as one: {two:.2} ms beside {one:.2} ms, \
         the means of {rounds} runs each.\n"
    ))
}

/// One `key value` line each, the values aligned.
fn report(node: &Node, totals: &Totals, metrics: &Metrics, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let mebibytes = totals.bytes.get() as f64 / f64::from(1 << 20);
    let throughput = mebibytes / seconds.max(f64::MIN_POSITIVE);
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
