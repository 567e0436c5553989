//! Data shared by all tasks of one run: the totals and the progress line drawn from them.

use std::fmt;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::options;

/// Counts what tasks add to it.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    // ORDERING: Relaxed twice. A count publishes nothing, and the reader of the final count has
    // joined the tasks that added to it, so the join carries their additions over.
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Every entry counts in one of the first five, the PATH of the command line among them.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) files: Counter,
    pub(crate) directories: Counter,
    pub(crate) links: Counter,
    pub(crate) others: Counter,
    pub(crate) unreadable: Counter,
    /// The bytes read and hashed, those of a file that turned out unreadable half-way included.
    pub(crate) bytes: Counter,
}

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) totals: Arc<Totals>,
    progress: ProgressBar,
}

impl Run {
    pub(crate) fn new() -> Self {
        let totals = Arc::<Totals>::default();
        let progress = progress(totals.clone());
        Self { totals, progress }
    }

    /// A run without a progress line.
    pub(crate) fn hidden() -> Self {
        Self {
            totals: Arc::default(),
            progress: ProgressBar::hidden(),
        }
    }

    /// Counts and names an entry that could not be read.
    pub(crate) fn unreadable(&self, path: &Path, error: &io::Error) {
        self.totals.unreadable.add(1);
        let message = format!("treehash: {}: {error}", path.display());
        self.progress.suspend(|| options::complain(message));
    }

    /// Takes the progress line off the terminal.
    pub(crate) fn finish(&self) {
        self.progress.finish_and_clear();
    }
}

/// The line reads the counters when its own ticker redraws it: tasks only add to them.
fn progress(totals: Arc<Totals>) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let line = move |_: &ProgressState, out: &mut dyn fmt::Write| {
        let (files, directories) = (totals.files.get(), totals.directories.get());
        let read = mebibytes(totals.bytes.get());
        // A line that is cut short is drawn again in a moment.
        let _ = write!(
            out,
            "{files} files, {directories} directories, {read:.1} MiB"
        );
    };
    let style = ProgressStyle::with_template("{spinner} {elapsed} {totals}")
        .expect("the template is valid")
        .with_key("totals", line);
    let progress = ProgressBar::new_spinner().with_style(style);
    progress.enable_steady_tick(Duration::from_millis(100));
    progress
}

pub(crate) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
