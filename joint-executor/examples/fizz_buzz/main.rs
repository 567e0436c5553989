//! Fizz buzz by three tasks that wait for descriptors. Only on Linux, which has such.
//!
//! ```text
//! cargo run --example fizz_buzz -- [--workers N] [--period MS] [--count]
//! ```
//!
//! Two writers write packets of 5 bytes forever, each into a pipe of its own. Every third packet is
//! the 4 bytes `Fizz`, or every fifth is `Buzz`. At each tick of a clock the consumer takes one
//! packet from each pipe. It prints those of 4 bytes, or the number of the line if there is none.
//! If ticks are late, it catches up.
//!
//! # Suspensions
//! On one worker the tasks are suspended 60 times, 20 times each, if no tick is late. The consumer
//! is suspended before each line. A writer is suspended when it has filled its pipe, and then once
//! for each packet that is taken, for which it writes another. The last packet is an exception: the
//! consumer ends while it owns the writers' handles, and so cancels the writers before they are
//! resumed. If several ticks are taken at once, each but the first saves each task one suspension.

#[path = "../options/mod.rs"]
mod options;
#[cfg(target_os = "linux")]
mod system;

use std::process::ExitCode;
use std::time::Duration;

use joint_executor::Executor;
use lexopt::Arg::Long;

const HELP: &str = "\
Prints the first 20 lines of fizz buzz: three tasks, two pipes and a clock.

Usage: fizz_buzz [--workers N] [--period MS] [--count]

  --workers N   run on N threads, 1 to 1024 (default: one per processor)
  --period MS   a line every so many milliseconds, 1 to 60000 (default: 100)
  --count       say on standard error how often the tasks were suspended
  -h, --help    print this
  -V, --version print the version

Exit status: 0 done, 2 failed.
";

const MOST_PERIOD: u64 = 60_000;

fn main() -> ExitCode {
    options::run("fizz_buzz", HELP, |mut options| {
        let (mut builder, mut period, mut says_count) = (Executor::builder(), 100, false);
        while let Some(word) = options.next()? {
            match word {
                Long("workers") => builder = builder.workers(options.workers()?),
                Long("period") => period = options.number("--period", 1..=MOST_PERIOD)?,
                Long("count") => says_count = true,
                word => return Err(word.unexpected().into()),
            }
        }
        let (executor, period) = (builder.build()?, Duration::from_millis(period));
        #[cfg(target_os = "linux")]
        return Ok(tasks::run(&executor, period, says_count)?);
        #[cfg(not(target_os = "linux"))]
        Err(format!("no packet pipes here: {executor:?} {period:?} {says_count}").into())
    })
}

#[cfg(target_os = "linux")]
mod tasks {
    use std::{
        convert::Infallible,
        future::poll_fn,
        io,
        pin::pin,
        sync::{
            Arc,
            atomic::{AtomicU64, Ordering},
        },
        time::Duration,
    };

    use joint_executor::{Executor, spawn};

    use crate::{
        options,
        system::{self, Clock, Pipe},
    };

    const LINES: u64 = 20;

    /// A packet that is not a word, as its length shows.
    const OTHER: &[u8] = b"-----";

    /// How often the consumer and the writers of `Fizz` and `Buzz` were suspended.
    type Suspensions = [Counter; 3];
    type Counter = Arc<AtomicU64>;

    pub(crate) fn run(executor: &Executor, period: Duration, says_count: bool) -> io::Result<()> {
        let suspensions = Suspensions::default();
        let consumer = counted(
            fizz_buzz(period, suspensions.clone()),
            suspensions[0].clone(),
        );
        let late = executor.block_on(executor.spawn(consumer))?;
        if says_count {
            let [consumer, fizz, buzz] = suspensions.each_ref().map(get);
            let all = consumer + fizz + buzz;
            options::complain(format_args!(
                "suspensions {all} (consumer {consumer}, fizz {fizz}, buzz {buzz}), late {late}"
            ));
        }
        Ok(())
    }

    /// The consumer. Returns how many lines it has printed for late ticks, which are those without
    /// a suspension since the line before.
    async fn fizz_buzz(period: Duration, suspensions: Suspensions) -> io::Result<u64> {
        let [fizzes, fizz] = system::pipe()?;
        let [buzzes, buzz] = system::pipe()?;
        let clock = Clock::new(period)?;
        let [own, of_fizz, of_buzz] = suspensions;
        // When the handles are dropped at the end, that cancels the writers.
        let _writers = [
            spawn(counted(write(fizz, 3, b"Fizz"), of_fizz)),
            spawn(counted(write(buzz, 5, b"Buzz"), of_buzz)),
        ];
        let (mut due, mut late, mut suspended) = (0, 0, 0);
        for number in 1..=LINES {
            if due == 0 {
                due = clock.ticks().await?;
            }
            due -= 1;
            let line = line(number, [&fizzes, &buzzes]).await?;
            let before = suspended;
            suspended = get(&own);
            late += u64::from(suspended == before);
            if !options::print(&line)? {
                break;
            }
        }
        Ok(late)
    }

    /// Returns the words of the next packets, or else the number.
    async fn line(number: u64, pipes: [&Pipe; 2]) -> io::Result<String> {
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
    async fn write(pipe: Pipe, every: u64, word: &'static [u8]) -> io::Result<Infallible> {
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
}
