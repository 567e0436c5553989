//! A table of rows and contestants. The contestants take turns round by round, so each ratio
//! compares runs at the same time on the same machine.

use std::{
    thread,
    time::{Duration, Instant},
};

use criterion::{Criterion, Throughput};

use super::{
    options::Options,
    processors::Processors,
    report::{Figure, Report, ratio},
    runtime::{Runtime, Work},
    work::timed,
};

/// Does a row once, and returns how long that took.
pub type Run = Box<dyn Fn() -> Duration>;

/// The title of a row, how many operations one run makes, and the run.
pub type NamedRun = (&'static str, u64, Run);

/// A row for contestants of type `R`.
pub struct Row<R: 'static> {
    /// A few words on what the row measures.
    pub title: &'static str,
    /// How many operations one run makes.
    pub operations: u64,
    run: Box<dyn Fn(&'static R) -> Duration>,
}

impl<R: Sync> Row<R> {
    /// Returns a row. `run` does it once, and returns how long that took.
    pub fn new(title: &'static str, operations: usize, run: fn(&'static R) -> Duration) -> Self {
        Self {
            title,
            operations: operations as u64,
            run: Box::new(run),
        }
    }

    /// Returns the row's work with a runtime.
    pub fn of(self, runtime: &'static R) -> NamedRun {
        let run: Run = Box::new(move || (self.run)(runtime));
        (self.title, self.operations, run)
    }
}

struct Contestant {
    name: String,
    /// Whether it is another crate's, and not joint's own or a floor.
    is_peer: bool,
    /// One for each row of the table, or `None` if the contestant cannot do the row.
    runs: Vec<Option<Run>>,
}

impl<R: Runtime> Row<R> {
    /// Returns a row of one task, which takes as long as its work.
    pub fn timed<F: Work<Output = ()>>(
        title: &'static str,
        operations: usize,
        work: fn(&'static R) -> F,
    ) -> Self {
        Self {
            title,
            operations: operations as u64,
            run: Box::new(move |runtime| runtime.run(timed(work(runtime)))),
        }
    }
}

/// Rows and contestants. The first contestant is joint, if it takes part.
pub struct Table {
    title: &'static str,
    rows: Vec<(&'static str, u64)>,
    contestants: Vec<Contestant>,
    /// The time for each row.
    budget: Duration,
    rounds: &'static Rounds,
    /// Those of which the rows use the first alone, if they do not use all.
    one_of: Option<Processors>,
    /// Whether each run starts when the threads of the one before it sleep.
    settles: bool,
}

/// How many rounds there are. Fewer give no median, and more give no better one.
pub struct Rounds {
    /// Lets threads, queues and the allocator reach their sizes.
    pub warm_up: usize,
    /// Half of that is enough if the bench is quick.
    pub least: usize,
    /// Between the least and these, there are as many as the time allows.
    pub most: usize,
}

const ROUNDS: Rounds = Rounds {
    warm_up: 3,
    least: 11,
    most: 1001,
};
const HEAVY: Rounds = Rounds {
    warm_up: 1,
    least: 5,
    most: 101,
};

impl Rounds {
    /// Lets a number of contestants take turns, each of which begins a round in its turn, and
    /// returns what they have done in each round.
    pub fn take<T>(
        &self,
        options: &Options,
        budget: Duration,
        contestants: usize,
        run: impl Fn(usize) -> T,
    ) -> Vec<Vec<T>> {
        let turn = |round: usize| {
            let first = round % contestants;
            let order = (first..contestants).chain(0..first);
            let mut done: Vec<_> = order.map(&run).collect();
            done.rotate_right(first);
            done
        };
        if options.once {
            return vec![turn(0)];
        }
        let (least, budget) = match options.is_quick {
            true => (self.least.div_ceil(2), budget.min(Duration::from_secs(1))),
            false => (self.least, budget),
        };
        (0..self.warm_up).for_each(|round| drop(turn(round)));
        let start = Instant::now();
        let mut rounds = Vec::new();
        while rounds.len() < least || (rounds.len() < self.most && start.elapsed() < budget) {
            rounds.push(turn(rounds.len()));
        }
        rounds
    }
}

/// The contestants' medians over the rounds of a figure, and those of its ratios to the first
/// one's.
pub fn medians<'a, T>(
    contestants: impl Iterator<Item = &'a str>,
    rounds: &[Vec<T>],
    figure: impl Fn(&T) -> f64,
) -> Vec<Figure> {
    let one = |(i, name)| {
        let values = rounds.iter().map(|round| figure(&round[i]));
        let ratios = rounds
            .iter()
            .map(|round| ratio(figure(&round[0]), figure(&round[i])));
        Figure::new(name, median(values), median(ratios))
    };
    contestants.enumerate().map(one).collect()
}

impl Table {
    /// Makes a table without contestants. Each row is repeated for the time of the budget.
    pub fn new(title: &'static str, budget: Duration) -> Self {
        Self {
            title,
            rows: Vec::new(),
            contestants: Vec::new(),
            budget,
            rounds: &ROUNDS,
            one_of: None,
            settles: true,
        }
    }

    /// Keeps each row on the first of these processors, for contestants with one thread. Some of
    /// them run on this thread, and the others should have been started on that processor.
    pub fn on_first_of(mut self, processors: Processors) -> Self {
        self.one_of = Some(processors);
        self
    }

    /// Starts each run at once, for contestants without threads of their own.
    pub fn without_threads(mut self) -> Self {
        self.settles = false;
        self
    }

    /// Requests fewer rounds, because one run takes long.
    pub fn heavy(mut self) -> Self {
        self.rounds = &HEAVY;
        self
    }

    /// Adds a contestant. The first one has all rows, and the others are compared with it.
    ///
    /// # Panics
    ///
    /// If the contestant has a row that the first one does not have, or a row with a different
    /// amount of work.
    pub fn with<R: Sync>(
        self,
        name: impl Into<String>,
        runtime: &'static R,
        rows: impl IntoIterator<Item = Row<R>>,
    ) -> Self {
        self.with_runs(name, rows.into_iter().map(|row| row.of(runtime)))
    }

    /// Adds a contestant whose rows, each with its number of operations, are closures.
    ///
    /// # Panics
    ///
    /// If the contestant has a row that the first one does not have, or a row with a different
    /// amount of work.
    pub fn with_runs(
        mut self,
        name: impl Into<String>,
        rows: impl IntoIterator<Item = NamedRun>,
    ) -> Self {
        let name = name.into();
        let mut rows: Vec<_> = rows.into_iter().collect();
        if self.contestants.is_empty() {
            self.rows = rows.iter().map(|row| (row.0, row.1)).collect();
        }
        let runs = self.rows.iter().map(|&(title, operations)| {
            let place = rows.iter().position(|row| row.0 == title)?;
            let (_, its_operations, run) = rows.swap_remove(place);
            assert_eq!(
                operations, its_operations,
                "the contestants do the same amount of work in {title}"
            );
            Some(run).filter(|_| Options::has_contestant(&name))
        });
        let runs = runs.collect();
        assert!(
            rows.is_empty(),
            "{name} has rows that the first contestant does not have"
        );
        self.contestants.push(Contestant {
            is_peer: !name.starts_with("joint"),
            name,
            runs,
        });
        self
    }

    /// Marks the last contestant as a floor: the work of a row with little machinery. A floor is
    /// not a peer.
    ///
    /// # Panics
    ///
    /// If there is no contestant.
    pub fn floor(mut self) -> Self {
        let last = self.contestants.last_mut();
        last.expect("a contestant").is_peer = false;
        self
    }

    /// Measures and prints the selected rows.
    pub fn print(&self, options: &Options, report: &mut Report) {
        let names = self.contestants.iter().map(|contestant| &*contestant.name);
        let mut has_head = false;
        self.each_row(options, report, |title, figures, report| {
            if !std::mem::replace(&mut has_head, true) {
                report.head(self.title, names.clone());
            }
            report.row(self.title, title, "ns", figures);
        });
    }

    /// Measures the selected rows, and passes the figures of all contestants to `each`.
    pub fn each_row(
        &self,
        options: &Options,
        report: &mut Report,
        mut each: impl FnMut(&str, &[Figure], &mut Report),
    ) {
        for (row, &(title, operations)) in self.rows.iter().enumerate() {
            if options.wants(self.title, title) {
                report.probe(self.title, title);
                let measure = || self.measure(row, options);
                let rounds = match &self.one_of {
                    Some(processors) => processors.on_first(1, measure),
                    None => measure(),
                };
                let names = self.contestants.iter().map(|contestant| &*contestant.name);
                let mut figures = medians(names, &rounds, |time| time / operations as f64);
                for (figure, contestant) in figures.iter_mut().zip(&self.contestants) {
                    figure.is_peer = contestant.is_peer;
                }
                each(title, &figures, report);
            }
        }
    }

    /// The times of each round in nanoseconds. A contestant that cannot do the row has NaN.
    fn measure(&self, row: usize, options: &Options) -> Vec<Vec<f64>> {
        let run = |i: usize| match &self.contestants[i].runs[row] {
            None => f64::NAN,
            Some(run) => {
                if self.settles {
                    settle();
                }
                run().as_secs_f64() * 1e9
            }
        };
        (self.rounds).take(options, self.budget, self.contestants.len(), run)
    }

    /// Runs the same rows under criterion, each contestant alone, for figures with a history.
    pub fn criterion(&self, criterion: &mut Criterion) {
        for (row, &(title, operations)) in self.rows.iter().enumerate() {
            let mut group = criterion.benchmark_group(format!("{}: {title}", self.title));
            group.throughput(Throughput::Elements(operations));
            for contestant in &self.contestants {
                let Some(run) = &contestant.runs[row] else {
                    continue;
                };
                group.bench_function(&contestant.name, |b| {
                    b.iter_custom(|times| (0..times).map(|_| run()).sum());
                });
            }
            group.finish();
        }
    }
}

/// Waits until the workers of the last contestant, which search for a while, have gone to sleep.
pub fn settle() {
    thread::sleep(Duration::from_micros(200));
}

/// Returns the median of the values, or NaN if one of them is NaN.
///
/// # Panics
///
/// If there are no values.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The body of a bench: reads the command line, measures and prints the tables, and then calls
/// `more`. Criterion runs last, if it is requested.
pub fn main(bench: &'static str, tables: &[Table], more: impl Fn(&Options, &mut Report)) {
    let options = Options::read();
    let mut report = Report::start(bench, &options);
    for table in tables {
        table.print(&options, &mut report);
    }
    more(&options, &mut report);
    report.end();
    if options.wants_criterion() {
        let mut criterion = Criterion::default()
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_secs(1))
            .configure_from_args();
        for table in tables {
            table.criterion(&mut criterion);
        }
        criterion.final_summary();
    }
}
