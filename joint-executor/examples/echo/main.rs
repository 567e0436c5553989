//! A TCP echo server on the loopback interface, and a number of clients that put load on it, all
//! tasks of one executor.
//!
//! ```text
//! cargo run --release --example echo -- \
//!     [--connections N] [--messages N] [--size BYTES] [--workers N]
//! ```

mod load;
mod server;

#[path = "../options/mod.rs"]
mod options;

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures_lite::future::try_zip;
use joint_executor::{Executor, io::TcpListener};
use lexopt::Arg::Long;

use crate::load::Load;
use crate::options::Options;

const HELP: &str = "\
Echoes messages over TCP, between tasks of this program, and says how fast.

Usage: echo [--connections N] [--messages N] [--size BYTES] [--workers N]

  --connections N   clients at once, 1 to 10000 (default: 100)
  --messages N      messages of each client, 1 to 10000000 (default: 1000)
  --size BYTES      of each message, 1 to 16777216 (default: 64)
  --workers N       run on N threads, 1 to 1024 (default: one per processor)
  -h, --help        print this
  -V, --version     print the version

Each connection takes two descriptors.
Exit status: 0 all echoes were what was sent, 2 failed.
";

const MOST_CONNECTIONS: u64 = 10_000;
const MOST_MESSAGES: u64 = 10_000_000;
const MOST_SIZE: u64 = 16 << 20;

fn main() -> ExitCode {
    options::run("echo", HELP, |mut options: Options| {
        let mut load = Load {
            connections: 100,
            messages: 1000,
            size: 64,
        };
        let mut builder = Executor::builder();
        while let Some(word) = options.next()? {
            match word {
                Long("connections") => {
                    load.connections = options.number("--connections", 1..=MOST_CONNECTIONS)?;
                }
                Long("messages") => {
                    load.messages = options.number("--messages", 1..=MOST_MESSAGES)?;
                }
                Long("size") => load.size = options.number("--size", 1..=MOST_SIZE)? as usize,
                Long("workers") => builder = builder.workers(options.workers()?),
                word => return Err(word.unexpected().into()),
            }
        }
        let executor = builder.build()?;
        let (bytes, elapsed) = joint::block_on(executor.spawn(echo(load)))?;
        let report = report(&load, bytes, executor.workers(), elapsed);
        options::print(&report)?;
        Ok(())
    })
}

/// How many bytes the server has echoed, and how long it took.
async fn echo(load: Load) -> io::Result<(u64, Duration)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let start = Instant::now();
    let server = server::serve(listener, load.connections);
    // In one task: if either fails, both end, before the other side can fail because of it.
    let (bytes, ()) = try_zip(server, load::put(load, address)).await?;
    Ok((bytes, start.elapsed()))
}

/// One `key value` line each, the values aligned.
fn report(load: &Load, bytes: u64, workers: usize, elapsed: Duration) -> String {
    let messages = load.connections * load.messages;
    let seconds = elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    let rate = messages as f64 / seconds;
    let lines = [
        ("connections", load.connections.to_string()),
        ("messages", messages.to_string()),
        ("bytes", bytes.to_string()),
        ("workers", workers.to_string()),
        ("elapsed", format!("{seconds:.3} s")),
        ("throughput", format!("{rate:.0} messages/s")),
    ];
    let lines = lines.map(|(key, value)| format!("{key:<13}{value}\n"));
    lines.concat()
}
