//! Operations in the source that no test reaches, as far as the text shows: calls by the name of an
//! atomic operation, with an ordering among the arguments.

use std::{collections::BTreeSet, fs, ops::RangeInclusive, path::Path};

use joint_mutants::place::Place;

const ORDERINGS: [&str; 5] = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];

/// Lines of one call.
const LONGEST: usize = 12;

/// Returns `file:line operation` of those in the files, which are below `root`.
pub(crate) fn unreached(
    files: BTreeSet<&str>,
    root: &Path,
    is_reached: impl Fn(&str, RangeInclusive<usize>) -> bool,
) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        // A file of another package may not be there.
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        let calls = calls(&text).into_iter();
        let calls = calls.filter(|(lines, _)| !is_reached(file, lines.clone()));
        found.extend(
            calls.map(|(lines, operation)| format!("{file}:{} {operation}", lines.start())),
        );
    }
    found
}

/// The lines, from 1, and names of the atomic operations outside the file's own tests.
fn calls(text: &str) -> Vec<(RangeInclusive<usize>, &str)> {
    let lines: Vec<_> = (text.lines())
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect();
    let is_tests = |at: &usize| {
        let next = lines.get(at + 1).map_or("", |line| line.trim());
        lines[*at].starts_with("#[cfg(") && lines[*at].contains("test") && next.starts_with("mod ")
    };
    let end = (0..lines.len()).find(is_tests).unwrap_or(lines.len());
    let call = |at: usize| {
        let operation = operation(lines[at])?;
        let call = &lines[at..end.min(at + LONGEST)];
        let last = call.iter().position(|line| line.contains(';'));
        let call = &call[..last.map_or(call.len(), |last| last + 1)];
        let mut words = call
            .iter()
            .flat_map(|line| line.split(|c: char| !c.is_alphanumeric()));
        let has_ordering = words.any(|word| ORDERINGS.contains(&word));
        has_ordering.then_some((at + 1..=at + call.len(), operation))
    };
    (0..end).filter_map(call).collect()
}

/// The name of the first atomic operation that a line calls.
fn operation(line: &str) -> Option<&str> {
    let calls = line.match_indices('(').map(|(at, _)| &line[..at]);
    let mut names = calls.filter_map(|before| {
        let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_');
        let name = &before[start.map_or(0, |start| start + 1)..];
        let is_method = start.is_some_and(|start| before[start..].starts_with('.'));
        let is_definition = before.trim_end_matches(name).ends_with("fn ");
        let is_atomic = match name {
            "fence" => !is_definition,
            "load" | "store" | "swap" => is_method,
            name => is_method && (name.starts_with("compare_ex") || name.starts_with("fetch_")),
        };
        is_atomic.then_some(name)
    });
    names.next()
}

/// Whether one of the places is this call: in its first line, or one with a name in any of them.
pub(crate) fn is_call<'a>(
    mut places: impl Iterator<Item = &'a Place>,
    file: &str,
    lines: RangeInclusive<usize>,
) -> bool {
    places.any(|place| {
        let line = place.line as usize;
        let is_in = line == *lines.start() || place.name().is_some() && lines.contains(&line);
        place.file == file && is_in
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "fn fence(order: Ordering) {
    a.load(Acquire);
    list.swap(0, 1);
    // a.load(Acquire);
    match self.0.compare_exchange(
        1,
        2,
        Ordering::AcqRel,
        Relaxed,
    ) {}
    atomic::fence(SeqCst);
    parts.load(file);
    a.fetch_or(1, Release);
}
#[cfg(test)]
mod tests {
    fn t() { a.load(Acquire); }
}";

    #[test]
    fn calls_with_an_ordering_are_found() {
        let found = [
            (2..=2, "load"),
            (5..=11, "compare_exchange"),
            (11..=11, "fence"),
            (13..=13, "fetch_or"),
        ];
        assert_eq!(calls(TEXT), found);
    }
}
