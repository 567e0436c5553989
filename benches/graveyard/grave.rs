//! A grave: a row of the graveyard, which is printed as a table of its own, because it has several
//! figures.

use std::time::Duration;

use joint_benches::{
    options::Options,
    report::{Figure, Report},
    table::{Rounds, medians, settle},
};

use super::cost;

/// Does a row once, and returns its figures.
pub(crate) type Run = Box<dyn Fn() -> Vec<f64>>;

/// A run takes milliseconds, so the time decides how many rounds there are.
const ROUNDS: Rounds = Rounds {
    warm_up: 1,
    least: 3,
    most: usize::MAX,
};

/// Returns a time as a figure, in nanoseconds.
pub(crate) fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

/// The title of a row, and its figures.
pub(crate) struct About {
    /// The scheduler's failure, and where it was reported.
    title: &'static str,
    /// The names of what a run returns, and their unit.
    figures: Vec<String>,
    unit: &'static str,
    /// The name of one operation, and how many a run makes. The costs are divided by this number.
    operation: &'static str,
    operations: usize,
}

impl About {
    /// A row whose figures are times.
    pub(crate) fn times(
        title: &'static str,
        figures: &[impl ToString],
        operation: &'static str,
        operations: usize,
    ) -> Self {
        Self {
            title,
            figures: figures.iter().map(ToString::to_string).collect(),
            unit: "ns",
            operation,
            operations,
        }
    }

    /// Says that the figures are not times.
    pub(crate) fn counted_in(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }
}

/// A row with its contestants.
pub(crate) struct Grave {
    pub(crate) about: About,
    /// The number of workers in words.
    pub(crate) workers: String,
    pub(crate) contestants: Vec<(&'static str, Run)>,
}

impl Grave {
    pub(crate) fn is_wanted(&self, options: &Options) -> bool {
        options.wants(self.about.title, &self.workers) && !self.contestants.is_empty()
    }

    /// Measures and prints.
    pub(crate) fn print(&self, options: &Options, report: &mut Report, budget: Duration) {
        let About {
            title,
            figures,
            unit,
            operation,
            ..
        } = &self.about;
        let table = format!("{title}, {}", self.workers);
        report.probe(&table, "all");
        let rounds = ROUNDS.take(options, budget, self.contestants.len(), |i| self.run(i));
        report.head(&table, self.contestants.iter().map(|one| one.0));
        let costs = [
            (format!("processor time, one {operation}"), "ns"),
            (format!("went to sleep, 1,000 {operation}s"), "switches"),
            (format!("was preempted, 1,000 {operation}s"), "switches"),
        ];
        let own = figures.iter().map(|name| (name.clone(), *unit));
        for (i, (name, unit)) in own.chain(costs).enumerate() {
            if let Some(measured) = self.measured(&rounds, i) {
                report.row(&table, &name, unit, &measured);
            }
        }
    }

    /// The contestants' medians of one figure, or `None` if nobody has it.
    fn measured(&self, rounds: &[Vec<Vec<f64>>], figure: usize) -> Option<Vec<Figure>> {
        rounds[0][0].get(figure)?;
        let names = self.contestants.iter().map(|one| one.0);
        let mut measured = medians(names, rounds, |figures| figures[figure]);
        for one in &mut measured {
            one.is_peer &= one.contestant != "one thread";
        }
        Some(measured)
    }

    /// The figures of a contestant, with its costs behind them.
    fn run(&self, contestant: usize) -> Vec<f64> {
        settle();
        let before = cost::so_far();
        let mut figures = (self.contestants[contestant].1)();
        // The way of the workers to their sleep is part of the cost.
        settle();
        if let Some((before, after)) = before.zip(cost::so_far()) {
            let [processor, slept, preempted] =
                [0, 1, 2].map(|i| (after[i] - before[i]) / self.about.operations as f64);
            figures.extend([processor, 1e3 * slept, 1e3 * preempted]);
        }
        figures
    }
}
