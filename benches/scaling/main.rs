//! How the time of each row changes from one worker to all processors, beside the peers: the rows
//! of tasks, work that is divided, the same work on each worker at once, fork and join, timers, and
//! descriptors.
//!
//! A run with n workers is kept on n processors, of those that the program may use. All contestants
//! at all numbers of workers take turns. Beside each figure stands its *efficiency*: the speed-up
//! over one worker, divided by the number of workers. 1 is the best possible, for rows that can be
//! divided at all. For rows of the same work on each worker, the figure is divided by the number of
//! workers, so that the same holds for them.
//!
//! The program needs nothing beside itself: it can be copied to a machine with more processors, and
//! run there with `--bench`.

use std::time::Duration;

#[cfg(unix)]
#[path = "../graveyard/cost.rs"]
mod cost;
#[path = "../driver/descriptors.rs"]
mod descriptors;
#[path = "../executor/rows.rs"]
mod rows;
mod work;

use joint_benches::{
    allocator::{Allocator, titled},
    driven::{Driven, smol::Smol},
    forks::{Forks, row, warm},
    options::Options,
    pools::{
        async_executor::AsyncExecutorStatic,
        joint::Joint,
        nio::Nio,
        tokio::{DrivenTokioPool, TokioPool},
    },
    processors::Processors,
    report::{Figure, Report},
    runtime::{Pool, leak},
    table::{NamedRun, Run, Table},
};
use joint_executor::Executor;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// A contestant: its name, and its rows with a number of workers.
type Contestant = (&'static str, fn(usize) -> Vec<NamedRun>);

const OF_TASKS: &[Contestant] = &[
    ("joint", tasks::<Joint>),
    ("tokio", tasks::<TokioPool>),
    ("async-executor static", tasks::<AsyncExecutorStatic>),
    ("nio", tasks::<Nio>),
    #[cfg(joint_peers)]
    ("forte", |workers| {
        // A pool of forte has no more than 32 members.
        match workers {
            ..=30 => tasks::<joint_benches::pools::forte::Forte>(workers),
            _ => Vec::new(),
        }
    }),
];

/// The calling thread takes part, or waits.
const OF_FORKS: &[Contestant] = &[
    ("joint", forked::<Executor>),
    ("chili", forked::<chili::ThreadPool>),
    ("rayon", forked::<rayon::ThreadPool>),
];

const OF_DRIVERS: &[Contestant] = &[
    ("joint", driver::<Joint>),
    ("tokio", driver::<DrivenTokioPool>),
    ("smol", driver::<Smol>),
];

fn tasks<R: Pool>(workers: usize) -> Vec<NamedRun> {
    let runtime = R::start(workers);
    let rows = rows::inside().into_iter().chain(rows::outside());
    let rows = rows.chain(work::divided()).map(|row| row.of(runtime));
    rows.chain(work::on_each(runtime, workers)).collect()
}

fn forked<T: Forks + 'static>(workers: usize) -> Vec<NamedRun> {
    vec![row(
        "fib(25) on the stack, per join",
        25,
        warm::<T>(workers),
    )]
}

fn driver<R: Driven + Pool>(workers: usize) -> Vec<NamedRun> {
    let runtime = R::start(workers);
    let rows = descriptors::rows().into_iter();
    let rows = rows.map(|row| row.of(runtime));
    rows.chain(work::timers_on_each(runtime, workers)).collect()
}

/// One worker, and then more, up to all processors: every number up to four, and powers of two
/// above.
fn worker_counts(all: usize) -> Vec<usize> {
    let mut counts: Vec<_> = (1..all)
        .filter(|count| *count <= 4 || count.is_power_of_two())
        .collect();
    counts.push(all);
    counts
}

struct Scaling<'a> {
    options: &'a Options,
    report: &'a mut Report,
    processors: &'static Processors,
    counts: Vec<usize>,
}

impl Scaling<'_> {
    /// Measures a table of each contestant at each number of workers.
    fn print(&mut self, title: &'static str, contestants: &[Contestant], is_heavy: bool) {
        let rows = contestants[0].1(1);
        if !rows.iter().any(|row| self.options.wants(title, row.0)) {
            return;
        }
        let mut table = Table::new(title, Duration::from_secs(5));
        if is_heavy {
            table = table.heavy();
        }
        for (name, rows) in contestants {
            for &workers in &self.counts {
                let processors = self.processors;
                let rows = processors.on_first(workers, || rows(workers));
                let rows = rows.into_iter().map(|(title, operations, run)| {
                    let run: Run = Box::new(move || processors.on_first(workers, &run));
                    (title, operations, run)
                });
                table = table.with_runs(format!("{name} {workers}"), rows);
            }
        }
        let names: Vec<_> = contestants.iter().map(|contestant| contestant.0).collect();
        println!("\n| {} | workers | {} |", titled(title), names.join(" | "));
        println!("|{}", "---|".repeat(2 + names.len()));
        table.each_row(self.options, self.report, |row, figures, _| {
            let figures: Vec<_> = figures.chunks(self.counts.len()).collect();
            let efficiency = |of_one: &[Figure], n: usize| {
                let part = of_one[0].value / of_one[n].value / self.counts[n] as f64;
                (!part.is_nan()).then_some(part)
            };
            for (n, workers) in self.counts.iter().enumerate() {
                let cells = figures.iter().map(|of_one| match efficiency(of_one, n) {
                    Some(part) => {
                        format!("{:.1} ({part:.2})", of_one[n].value)
                    }
                    None => "-".to_owned(),
                });
                let cells: Vec<_> = cells.collect();
                println!("| {row} | {workers} | {} |", cells.join(" | "));
            }
        });
    }
}

fn main() {
    let processors = leak(Processors::of_this_process());
    let options = Options::read();
    let mut report = Report::start("scaling", &options);
    println!("{}", processors.in_words());
    println!("In the tables below, beside each figure: its efficiency.");
    let mut scaling = Scaling {
        options: &options,
        report: &mut report,
        processors,
        counts: worker_counts(processors.count()),
    };
    scaling.print("scaling: tasks", OF_TASKS, false);
    scaling.print("scaling: fork and join", OF_FORKS, false);
    scaling.print("scaling: timers and descriptors", OF_DRIVERS, true);
    report.end();
}
