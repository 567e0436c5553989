//! Fizz buzz by three tasks that wait for the outside world.
//!
//! ```text
//! cargo run --example fizz_buzz -- [--workers N] [--period MS] [--interval] [--memory] [--count]
//! ```
//!
//! Two writers write packets of 5 bytes forever, each into a pipe of its own. Every third packet is
//! the 4 bytes `Fizz`, or every fifth is `Buzz`. At each tick of a clock the consumer takes one
//! packet from each pipe. It prints those of 4 bytes, or the number of the line if there is none.
//! If ticks are late, it catches up.
//!
//! On Linux the pipes are packet pipes and the clock is a `timerfd`, which are descriptors of the
//! system. Each can be replaced by something that needs no descriptor, as on other systems: a queue
//! in memory, and `joint_executor::time::interval`.
//!
//! # Suspensions
//! On one worker the tasks are suspended 60 times, 20 times each, if no tick is late. The consumer
//! is suspended before each line. A writer is suspended when it has filled its pipe, and then once
//! for each packet that is taken, for which it writes another. The last packet is an exception: the
//! consumer ends while it owns the writers' handles, and so cancels the writers before they are
//! resumed. If several ticks are taken at once, each but the first saves each task one suspension.

mod clock;
mod memory;
mod packets;

#[path = "../options/mod.rs"]
mod options;

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use joint_executor::Executor;
use lexopt::Arg::Long;

use crate::clock::Clock;
use crate::options::Options;
use crate::packets::{Reader, Writer};

const HELP: &str = "\
Prints the first 20 lines of fizz buzz: three tasks, two pipes and a clock.

Usage: fizz_buzz [--workers N] [--period MS] [--interval] [--memory] [--count]

  --workers N   run on N threads, 1 to 1024 (default: one per processor)
  --period MS   a line every so many milliseconds, 1 to 60000 (default: 100)
  --interval    the clock is joint_executor::time::interval, not a timerfd (always so except on Linux)
  --memory      the pipes are queues in memory, not packet pipes (always so except on Linux)
  --count       say on standard error how often the tasks were suspended
  -h, --help    print this
  -V, --version print the version

Exit status: 0 done, 2 failed.
";

const LINES: u64 = 20;
const MOST_PERIOD: u64 = 60_000;

/// A packet that is not a word, as its length shows.
const OTHER: &[u8] = b"-----";

#[derive(Clone, Copy, Debug)]
struct Settings {
    period: Duration,
    interval: bool,
    memory: bool,
}

/// How often each task was suspended.
#[derive(Debug, Default)]
struct Suspensions {
    consumer: Counter,
    fizz: Counter,
    buzz: Counter,
}

type Counter = Arc<AtomicU64>;

fn main() -> ExitCode {
    options::run("fizz_buzz", HELP, |mut options: Options| {
        let mut settings = Settings {
            period: Duration::from_millis(100),
            interval: false,
            memory: false,
        };
        let (mut builder, mut count) = (Executor::builder(), false);
        while let Some(word) = options.next()? {
            match word {
                Long("workers") => builder = builder.workers(options.workers()?),
                Long("period") => {
                    let period = options.number("--period", 1..=MOST_PERIOD)?;
                    settings.period = Duration::from_millis(period);
                }
                Long("interval") => settings.interval = true,
                Long("memory") => settings.memory = true,
                Long("count") => count = true,
                word => return Err(word.unexpected().into()),
            }
        }
        let executor = builder.build()?;
        let suspensions = Arc::<Suspensions>::default();
        let consumer = fizz_buzz(settings, suspensions.clone());
        let consumer = executor.spawn(counted(consumer, suspensions.consumer.clone()));
        let late = joint::block_on(consumer)?;
        if count {
            options::complain(suspensions.report(late));
        }
        Ok(())
    })
}

/// The consumer. Returns how many lines it has printed for late ticks, which are those without a
/// suspension since the line before.
async fn fizz_buzz(settings: Settings, suspensions: Arc<Suspensions>) -> io::Result<u64> {
    let (fizzes, fizz) = packets::pipe(settings.memory)?;
    let (buzzes, buzz) = packets::pipe(settings.memory)?;
    let mut clock = Clock::new(settings.period, settings.interval)?;
    // When the handles are dropped at the end, that cancels the writers.
    let _writers = [
        joint_executor::spawn(counted(write(fizz, 3, b"Fizz"), suspensions.fizz.clone())),
        joint_executor::spawn(counted(write(buzz, 5, b"Buzz"), suspensions.buzz.clone())),
    ];
    let (mut due, mut late, mut suspended) = (0, 0, 0);
    for number in 1..=LINES {
        if due == 0 {
            due = clock.ticks().await?;
        }
        due -= 1;
        let line = line(number, [&fizzes, &buzzes]).await?;
        let before = suspended;
        suspended = get(&suspensions.consumer);
        late += u64::from(suspended == before);
        if !options::print(&line)? {
            break;
        }
    }
    Ok(late)
}

/// Returns the words of the next packets, or else the number.
async fn line(number: u64, pipes: [&Reader; 2]) -> io::Result<String> {
    let mut line = String::new();
    for pipe in pipes {
        let packet = pipe.take().await?;
        if packet.len() < OTHER.len() {
            line += &String::from_utf8_lossy(&packet);
        }
    }
    if line.is_empty() {
        line = number.to_string();
    }
    line.push('\n');
    Ok(line)
}

/// Writes packets forever. One in `every` packets is the word.
async fn write(pipe: Writer, every: u64, word: &'static [u8]) -> io::Result<Infallible> {
    loop {
        for _ in 1..every {
            pipe.put(OTHER).await?;
        }
        pipe.put(word).await?;
    }
}

/// Counts how often the future is suspended: every poll but the last.
async fn counted<F: Future>(future: F, suspensions: Counter) -> F::Output {
    let mut future = pin!(future);
    let poll = poll_fn(|cx| {
        let poll = future.as_mut().poll(cx);
        // ORDERING: Relaxed, here and in `get`. A count publishes nothing; the final ones are
        // carried over by joining the consumer.
        suspensions.fetch_add(u64::from(poll.is_pending()), Ordering::Relaxed);
        poll
    });
    poll.await
}

fn get(counter: &Counter) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Suspensions {
    fn report(&self, late: u64) -> String {
        let counts = [&self.consumer, &self.fizz, &self.buzz].map(get);
        let [consumer, fizz, buzz] = counts;
        let all: u64 = counts.iter().sum();
        format!("suspensions {all} (consumer {consumer}, fizz {fizz}, buzz {buzz}), late {late}")
    }
}
