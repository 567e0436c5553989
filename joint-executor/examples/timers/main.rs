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

use joint_executor::time::Timer;

use crate::options::Options;

const HELP: &str = "\
Awaits a timer so many times, and prints a line each time that it expires.

Usage: timers [--workers N] [--period MS] [TIMES]

  --workers N   run on N threads, 1 to 1024 (default: one per processor)
  --period MS   the timer expires after so many milliseconds, 0 to 3600000 (default: 100)
  TIMES         how often, 0 to 1000000 (default: 5)
  -h, --help    print this

Exit status: 0 done, 2 failed.
";

const MOST_PERIOD: u64 = 3_600_000;
const MOST_TIMES: u64 = 1_000_000;

fn main() -> ExitCode {
    options::run("timers", HELP, |mut options: Options| {
        let workers = options.number("--workers", options::WORKERS)?;
        let period = options.number("--period", 0..=MOST_PERIOD)?.unwrap_or(100);
        let times = options.argument("TIMES", 0..=MOST_TIMES)?.unwrap_or(5);
        options.end()?;
        let executor = options::executor(workers)?;
        let expiries = expiries(times, Duration::from_millis(period));
        joint::block_on(executor.spawn(expiries)).map_err(|error| error.to_string())
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
