//! The graveyard: each famous failure of a scheduler as a small program, for all contestants, with
//! one worker up to as many as there are processors. A row prints its times, the processor time
//! that the whole program took for it, and how often threads went to sleep or were preempted.
//!
//! On fewer than four processors four workers take part as well. The system then stops some of them
//! at any time, and the row says so. The costs of all contestants include the threads beside the
//! workers, which spawn or ask questions. It takes six minutes on two processors, and with
//! `JOINT_BENCH_QUICK=1` less than two.

use std::{thread, time::Duration};

mod contention;
mod contestants;
mod cost;
#[cfg(unix)]
mod descriptors;
mod drivers;
mod forks;
mod grave;
mod tasks;

use contention::Contended;
use contestants::Contestants;
use drivers::{Computing, LongPoll};
use forks::{FlatScope, Halves, Waiting};
use grave::Grave;
use joint_benches::{allocator::Allocator, options::Options, report::Report};
use tasks::{LifoSlot, PingPong, Shares, Spawners, Trickle, WakeAll, WakeAllInside};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Enough that workers outnumber the processors of a small machine.
const OVERSUBSCRIBED: usize = 4;

/// For a row whose polls block.
const MANY: usize = 8;

/// One worker, two, half as many as processors, as many, and more if these are few.
fn worker_counts(processors: usize) -> Vec<usize> {
    let most = processors.max(OVERSUBSCRIBED);
    let mut counts = vec![1, 2, processors.div_ceil(2), processors, most];
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// A number of threads that is no power of two: three quarters of the processors, or three.
fn odd_count(processors: usize) -> usize {
    let count = (processors * 3 / 4).max(3);
    count - usize::from(count.is_power_of_two())
}

fn graves(all: &'static Contestants) -> Vec<Grave> {
    let workers = all.workers;
    let mut graves = vec![
        all.tasks(Trickle),
        all.tasks(Contended),
        all.tasks(PingPong(1)),
        all.tasks(PingPong(2 * workers)),
        all.tasks(Spawners),
        all.tasks(WakeAll(workers)),
        all.drivers(Computing("a UDP echo, nothing else to do", 0)),
        all.drivers(Computing(
            "a UDP echo, all workers compute (datafusion #13692)",
            workers,
        )),
        all.forks(Halves),
        all.forks(FlatScope),
    ];
    #[cfg(unix)]
    graves.push(all.drivers(descriptors::Descriptors(workers)));
    // The rest needs a second worker.
    if workers > 1 {
        graves.extend([
            all.tasks(WakeAllInside(workers)),
            all.tasks(LifoSlot),
            all.tasks(Shares),
            all.drivers(LongPoll),
            all.drivers(Computing(
                "a UDP echo, all workers but one compute (datafusion #13692)",
                workers - 1,
            )),
            all.forks(Waiting(workers)),
        ]);
    }
    graves
}

fn main() {
    let options = Options::read();
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let mut report = Report::start("graveyard", &options);
    println!("Processors: {processors}. All times are in nanoseconds.");
    let mut rows: Vec<_> = worker_counts(processors)
        .into_iter()
        .flat_map(|count| graves(Contestants::start(count, processors)))
        .collect();
    let odd = Contestants::start(odd_count(processors), processors);
    rows.push(odd.forks(Halves));
    if !worker_counts(processors).contains(&MANY) {
        rows.push(Contestants::start(MANY, processors).tasks(Shares));
    }
    rows.retain(|row| row.is_wanted(&options));
    let budget = Duration::from_secs(if options.is_quick { 60 } else { 300 });
    let each = budget / rows.len().max(1) as u32;
    for row in &rows {
        row.print(&options, &mut report, each);
    }
    report.end();
}
