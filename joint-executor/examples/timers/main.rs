//! A task that awaits one timer again and again: each await rearms it.
//!
//! ```text
//! cargo run --example timers -- [--workers N] [--period MS] [TIMES]
//! ```

#[path = "../options/mod.rs"]
mod options;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use joint_executor::{Executor, time::Timer};
use lexopt::Arg::{Long, Value};

use crate::options::Options;

const HELP: &str = "\
Awaits a timer so many times, and prints a line each time that it expires.

Usage: timers [--workers N] [--period MS] [TIMES]

  --workers N   run on N threads, 1 to 1024 (default: one per processor)
  --period MS   the timer expires after so many milliseconds, 0 to 3600000 (default: 100)
  TIMES         how often, 0 to 1000000 (default: 5)
  -h, --help    print this
  -V, --version print the version

Exit status: 0 done, 2 failed.
";

const MOST_PERIOD: u64 = 3_600_000;
const MOST_TIMES: u64 = 1_000_000;

fn main() -> ExitCode {
    options::run("timers", HELP, |mut options: Options| {
        let (mut builder, mut period, mut times) = (Executor::builder(), 100, None);
        while let Some(word) = options.next()? {
            match word {
                Long("workers") => builder = builder.workers(options.workers()?),
                Long("period") => period = options.number("--period", 0..=MOST_PERIOD)?,
                Value(word) if times.is_none() => {
                    times = Some(options::number("TIMES", &word, 0..=MOST_TIMES)?);
                }
                word => return Err(word.unexpected().into()),
            }
        }
        let expiries = expiries(times.unwrap_or(5), Duration::from_millis(period));
        Ok(joint::block_on(builder.build()?.spawn(expiries))?)
    })
}

async fn expiries(times: u64, period: Duration) -> io::Result<()> {
    let mut timer = Timer::new(period);
    for n in 1..=times {
        (&mut timer).await;
        if !options::print(&format!("timer expired {n} of {times}\n"))? {
            break;
        }
    }
    Ok(())
}
