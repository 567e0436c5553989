//! Runs a small build of an imaginary library, and writes what the workers did as a file for
//! <https://ui.perfetto.dev>. Prints how long the tasks were ready before they ran.
//!
//! `cargo run --release --example trace -- target/trace.json`

use std::{
    fs::File,
    hint::black_box,
    io::{self, BufWriter},
    path::PathBuf,
    process::ExitCode,
    thread,
};

use joint::{block_on, oneshot};
use joint_executor::{Executor, Priority, TaskBuilder, yield_now};
use lexopt::Arg::Value;

#[path = "../options/mod.rs"]
mod options;
mod recorder;

use recorder::Recorder;

const HELP: &str = "\
Runs a small build, and writes what the workers did, for https://ui.perfetto.dev.

Usage: trace [FILE]

  FILE           is written (default: trace.json)
  -h, --help     print this
  -V, --version  print the version
";

/// Keeps a processor busy.
fn work(rounds: u64) -> u64 {
    let step = |hash: u64, i: u64| (hash ^ i).wrapping_mul(0x100_0000_01b3);
    (0..black_box(rounds * 2_000)).fold(0xcbf2_9ce4_8422_2325, step)
}

/// One source file, which is parsed, and then checked and compiled at once.
async fn file(size: u64) -> u64 {
    let parsed = TaskBuilder::new()
        .name("parse")
        .spawn(async move { work(20 * size) });
    let parsed = parsed.await;
    let checked = TaskBuilder::new().name("check").spawn(async move {
        let mut sum = parsed;
        for _ in 0..3 {
            sum ^= work(20 * size);
            yield_now().await;
        }
        sum
    });
    let compiled = TaskBuilder::new()
        .name("compile")
        .spawn(async move { work(90 * size) });
    checked.await ^ compiled.await
}

/// The whole library. Worker 0 reports it at the end.
async fn build() -> u64 {
    let (done, is_done) = oneshot::channel();
    let report = TaskBuilder::new()
        .name("report")
        .on_worker(0)
        .spawn(async move {
            let files: usize = is_done.await.unwrap_or(0);
            work(15);
            files
        });
    let files = (0..12u64).map(|i| TaskBuilder::new().name("file").spawn(file(1 + i % 4)));
    let files: Vec<_> = files.collect();
    let count = files.len();
    let mut sum = 0;
    for file in files {
        sum ^= file.await;
    }
    let link = TaskBuilder::new().name("link").priority(Priority::High);
    sum ^= link.spawn(async { work(150) }).await;
    // If this was cancelled, nothing waits for the answer.
    let _ = done.send(count);
    report.await;
    sum
}

fn run(file: PathBuf) -> io::Result<()> {
    let workers = thread::available_parallelism()
        .map_or(1, usize::from)
        .clamp(2, 6);
    let (builder, recorder) = Recorder::record(Executor::builder(), workers);
    let executor = builder.build()?;
    black_box(block_on(executor.task().name("build").spawn(build())));
    // No hook is called after that.
    drop(executor);
    recorder.write_to(BufWriter::new(File::create(&file)?))?;
    println!("{}", recorder.delays());
    println!("{}: open it in https://ui.perfetto.dev", file.display());
    Ok(())
}

fn main() -> ExitCode {
    options::run("trace", HELP, |mut options| {
        let mut file = None;
        while let Some(word) = options.next()? {
            match word {
                Value(word) if file.is_none() => file = Some(PathBuf::from(word)),
                word => return Err(word.unexpected().into()),
            }
        }
        Ok(run(file.unwrap_or_else(|| "trace.json".into()))?)
    })
}
