//! What the command line asks of a bench.

/// `cargo bench --bench NAME -- [--test] [FILTER]`.
pub(crate) struct Options {
    /// Each row once.
    pub(crate) once: bool,
    /// Only rows whose title, or table's title, contains it.
    pub(crate) filter: Option<String>,
}

impl Options {
    /// Without `--bench`, which `cargo bench` adds, it is a test. Options that it does not know are criterion's.
    pub(crate) fn read() -> Self {
        let words: Vec<_> = std::env::args().skip(1).collect();
        let has = |option| words.iter().any(|word| word == option);
        let filter = words.iter().find(|word| !word.starts_with('-'));
        Self {
            once: has("--test") || !has("--bench"),
            filter: filter.map(|word| word.to_lowercase()),
        }
    }

    /// How much a run does that is too long to be made just once for a test.
    pub(crate) fn of<T>(&self, much: T, little: T) -> T {
        if self.once { little } else { much }
    }

    pub(crate) fn wants(&self, table: &str, row: &str) -> bool {
        let filter = self.filter.as_deref().unwrap_or_default();
        [table, row]
            .iter()
            .any(|title| title.to_lowercase().contains(filter))
    }

    /// `JOINT_BENCH_ONLY` names the only one that runs, for those who look at it with other tools.
    pub(crate) fn has_contestant(name: &str) -> bool {
        std::env::var_os("JOINT_BENCH_ONLY").is_none_or(|only| only == name)
    }

    /// So that nothing is started for nothing.
    pub(crate) fn wants_none_of<'a>(
        &self,
        table: &str,
        mut rows: impl Iterator<Item = &'a str>,
    ) -> bool {
        !rows.any(|row| self.wants(table, row))
    }

    /// Whether criterion is asked for, with `JOINT_CRITERION=1`: it takes longer than the tables.
    pub(crate) fn wants_criterion(&self) -> bool {
        self.once || std::env::var_os("JOINT_CRITERION").is_some()
    }
}
