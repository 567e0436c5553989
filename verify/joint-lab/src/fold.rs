//! Which steps belong to a library, and the rows that stand for several of them.

use std::{collections::BTreeMap, path::Path};

use super::{counterexample::Counterexample, event::Source};

/// The rows to show. Several steps of a library that follow one another in a thread become one row,
/// unless the explanation names them.
pub(super) fn folded(of: &Counterexample, shown: &[usize]) -> BTreeMap<usize, usize> {
    let mut rows = BTreeMap::new();
    let mut open: Option<(usize, usize)> = None;
    for &step in shown {
        let event = &of.trace.events[step];
        let library = is_library(event.source) && !of.names(step);
        match open.filter(|&(lane, _)| library && lane == event.lane) {
            Some((_, first)) => *rows.entry(first).or_insert(0) += 1,
            None => {
                rows.insert(step, 1);
                open = library.then_some((event.lane, step));
            }
        }
    }
    rows
}

/// Whether a place is outside of the package under test and its workspace: cargo gives the compiler
/// the paths of these alone relative to the workspace.
pub(super) fn is_library(source: Source) -> bool {
    let own = file!().trim_end_matches("fold.rs");
    let file = source.file();
    let tested = tested();
    let is_tested = || {
        tested
            .as_ref()
            .is_some_and(|tested| Path::new(file).starts_with(tested))
    };
    file.starts_with(own) || Path::new(file).is_absolute() && !is_tested()
}

/// The folder of the package under test, which cargo sets for its tests.
pub(super) fn tested() -> Option<String> {
    std::env::var("CARGO_MANIFEST_DIR").ok()
}

/// The folder of a library, such as `generator-0.8.11/src`.
pub(super) fn library(path: &str) -> &str {
    path.find("/src/").map_or(path, |at| &path[..at + 4])
}
