//! The options of a bench on the command line.

/// The words after `cargo bench -p joint-benches --bench NAME --`: `[--test] [FILTER]`.
pub struct Options {
    /// Whether each row runs once, which says nothing about speed.
    pub once: bool,
    /// Take at most about a second for each row, as `JOINT_BENCH_QUICK` requests.
    pub is_quick: bool,
    /// Run only rows whose title, or whose table's title, contains this, in lower case.
    pub filter: Option<String>,
}

impl Options {
    /// Reads the command line of the program. Without `--bench`, which `cargo bench` adds, each row
    /// runs once, as in a test. Unknown options are left to criterion.
    pub fn read() -> Self {
        let words: Vec<_> = std::env::args().skip(1).collect();
        let has = |option| words.iter().any(|word| word == option);
        let filter = words.iter().find(|word| !word.starts_with('-'));
        Self {
            once: has("--test") || !has("--bench"),
            is_quick: std::env::var_os("JOINT_BENCH_QUICK").is_some(),
            filter: filter.map(|word| word.to_lowercase()),
        }
    }

    /// Returns `much`, or `little` if each row runs once: the amount of work of a long row.
    pub fn of<T>(&self, much: T, little: T) -> T {
        if self.once { little } else { much }
    }

    /// Returns whether the filter selects a row of a table.
    pub fn wants(&self, table: &str, row: &str) -> bool {
        let filter = self.filter.as_deref().unwrap_or_default();
        [table, row]
            .iter()
            .any(|title| title.to_lowercase().contains(filter))
    }

    /// Returns whether a contestant runs. `JOINT_BENCH_ONLY` names the only one that does, so that
    /// other tools can observe it.
    pub fn has_contestant(name: &str) -> bool {
        std::env::var_os("JOINT_BENCH_ONLY").is_none_or(|only| only == name)
    }

    /// Returns whether criterion runs after the tables, as `JOINT_CRITERION=1` requests. It takes
    /// longer than they do.
    pub fn wants_criterion(&self) -> bool {
        self.once || std::env::var_os("JOINT_CRITERION").is_some()
    }
}
