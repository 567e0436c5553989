//! Reports the figures: as Markdown for the reader, and to a file with a JSON object on each line.

use std::{
    env,
    fmt::Write as _,
    fs::{self, File},
    io::Write as _,
    path::PathBuf,
};

pub use joint_figures::Figure;
use joint_figures::Place;

use super::{allocator::titled, options::Options, placement::Placement};

/// Returns the ratio to `own`. There is no ratio to nothing, so what is more than nothing counts
/// from one.
pub fn ratio(own: f64, other: f64) -> f64 {
    match own {
        0.0 => 1.0 + other,
        own => other / own,
    }
}

/// The figures of one run of a bench.
pub struct Report {
    /// Whether each row runs once, which measures nothing.
    once: bool,
    is_quick: bool,
    /// `NAME.jsonl` in the folder that `JOINT_BENCH_OUT` names.
    file: Option<File>,
    placement: Placement,
    /// The rows before which the placement had changed, in words.
    moved: Vec<String>,
    /// Rows in which the first contestant is not the first to finish, in words.
    behind: Vec<String>,
}

impl Report {
    /// Describes the machine, and starts the report.
    ///
    /// If `JOINT_BENCH_OUT` names a folder, the figures are also written there, unless each row
    /// runs only once.
    ///
    /// # Panics
    ///
    /// If the file for the figures cannot be created.
    pub fn start(bench: &'static str, options: &Options) -> Self {
        let folder = env::var_os("JOINT_BENCH_OUT").filter(|_| !options.once);
        let file = folder.map(|folder| {
            let path = PathBuf::from(&folder).join(format!("{bench}.jsonl"));
            let made = fs::create_dir_all(folder).and_then(|()| File::create(&path));
            made.unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()))
        });
        let placement = Placement::probe();
        println!("# {bench}\n\nProcessors at the start: {placement}.");
        if !cfg!(joint_peers) {
            println!("Without the peers that `cargo xtask bench {bench}` adds.");
        }
        if options.is_quick {
            println!("Quick: at most a second for each row, or a few rounds.");
        }
        println!("Beside each figure: its ratio to the first contestant's figure.");
        Self {
            once: options.once,
            is_quick: options.is_quick,
            file,
            placement,
            moved: Vec::new(),
            behind: Vec::new(),
        }
    }

    /// Prints the head of a table.
    pub fn head<'a>(&self, title: &str, contestants: impl Iterator<Item = &'a str>) {
        let contestants: Vec<_> = contestants.collect();
        let (title, names) = (titled(title), contestants.join(" | "));
        println!("\n| {title} | {names} | best peer |");
        println!("|{}", "---|".repeat(2 + contestants.len()));
    }

    /// Measures how far apart the processors are, before a row.
    pub fn probe(&mut self, table: &str, row: &str) {
        let placement = Placement::probe();
        if placement.name() != self.placement.name() {
            let line = format!("before `{row}` of `{table}`: {placement}");
            self.moved.push(line);
        }
        self.placement = placement;
    }

    /// Prints and records a row. The first figure is the one that the others are compared with.
    ///
    /// # Panics
    ///
    /// If there are no figures, or the file of the figures cannot be written.
    pub fn row(&mut self, table: &str, row: &str, unit: &str, figures: &[Figure]) {
        let (first, peers) = figures.split_first().expect("contestants");
        // The first contestant has all rows, unless another one is requested.
        let own = first.value;
        let mut line = format!("| {row} | **{own:.1}** |");
        for peer in peers {
            let Figure { value, ratio, .. } = peer;
            let written = match value.is_nan() {
                false => write!(line, " {value:.1} ({ratio:.2}) |"),
                true => write!(line, " - |"),
            };
            written.expect("a string can be written to");
        }
        let best = peers
            .iter()
            .filter(|peer| !peer.value.is_nan() && peer.is_peer);
        match best.min_by(|a, b| a.ratio.total_cmp(&b.ratio)) {
            Some(best) => {
                let in_words = format!("{} {:.2}", best.contestant, best.ratio);
                println!("{line} {in_words} |");
                if best.ratio < 1.0 && first.contestant.starts_with("joint") {
                    self.behind
                        .push(format!("`{row}` of `{table}`: {own:.1}, {in_words}"));
                }
            }
            None => println!("{line} - |"),
        }
        self.record_row(table, row, unit, figures);
    }

    /// Prints how the processors moved, and the rows in which a peer is faster than joint.
    pub fn end(mut self) {
        let placement = Placement::probe();
        println!("\nProcessors at the end: {placement}.");
        if placement.name() != self.placement.name() {
            self.moved.push(format!("at the end: {placement}"));
        }
        if !self.moved.is_empty() {
            println!("They moved during the run:");
            self.moved.iter().for_each(|line| println!("* {line}"));
        }
        if !self.behind.is_empty() && !self.once {
            println!("\nA peer is faster in:");
            self.behind.iter().for_each(|line| println!("* {line}"));
        }
    }

    fn record_row(&mut self, table: &str, row: &str, unit: &str, figures: &[Figure]) {
        let place = Place {
            table,
            row,
            unit,
            placement: self.placement.name(),
            is_quick: self.is_quick,
        };
        let Some(file) = &mut self.file else { return };
        for figure in figures {
            if !figure.value.is_nan() && !figure.ratio.is_nan() {
                let written = writeln!(file, "{}", figure.line(&place));
                written.expect("the file of the figures can be written");
            }
        }
    }
}
