//! The page of `--page`: every place, why it asks for its orderings, and the tests that find its
//! changes. It has no lines and no times, so it changes only if the source or the tests do, and can
//! be kept beside the source.
//!
//! The tests that the page names are tried first, so it also makes the next run short.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use joint_mutants::place::Place;

use crate::{
    job::{Row, Verdict},
    names::Named,
    reasons::Reasons,
    report::{orderings, undecided},
};

const HEAD: &str = "\
# The orderings, and what shows that each is needed

Written by `cargo ordering-mutants --page`, which changes one place of the source at a time and runs the tests that reach
it until one of them fails.

Each row is a place in the source: what it asks for, the reason in its comment, and for each change the test that finds it:

* `acq_rel`, `acquire`, `release`, `relaxed`: that ordering instead of the one in the source, and `failure_` before it if
  the operation fails; a relaxed fence is none;
* `split`: a load and then a store instead of one read-modify-write;
* `deleted`: nothing is stored;
* `blind`: a load that returns the first value, an exchange that fails, or a look that sees nothing.

A weaker ordering is tried only if no test finds the stronger one.
";

const BREAK: &str = "<br>";

#[derive(Debug, Default)]
pub(crate) struct Page {
    /// Keyed by the place's name.
    rows: BTreeMap<String, String>,
    /// Keyed by the place's name and the change.
    found: BTreeMap<(String, String), String>,
}

impl Page {
    pub(crate) fn read(text: &str) -> Self {
        let mut page = Self::default();
        for line in text.lines() {
            let row = line.strip_prefix("| `").and_then(|row| row.split_once('`'));
            let cell = line
                .strip_suffix(" |")
                .and_then(|row| row.rsplit_once(" | "));
            let (Some((place, _)), Some((_, changes))) = (row, cell) else {
                continue;
            };
            page.rows.insert(place.to_owned(), line.to_owned());
            for change in changes.split(BREAK) {
                let found = change.strip_suffix('`');
                if let Some((change, test)) = found.and_then(|found| found.split_once(": `")) {
                    let change = (place.to_owned(), change.to_owned());
                    page.found.insert(change, test.to_owned());
                }
            }
        }
        page
    }

    pub(crate) fn has(&self, test: &str) -> bool {
        self.found.values().any(|own| own == test)
    }

    /// The test that has found a change.
    pub(crate) fn finder(&self, place: &str, change: &str) -> Option<&str> {
        let change = (place.to_owned(), change.to_owned());
        self.found.get(&change).map(String::as_str)
    }

    /// Rows that are stale: unreached by the tests that the page names, or changed.
    pub(crate) fn stale(&self, places: &[Named], root: &Path) -> Vec<String> {
        let is_here = |place: &str| places.iter().any(|named| named.name == place);
        let gone = self.found.keys().map(|(place, _)| &**place);
        let gone = gone.filter(|place| !is_here(place));
        let is_same = |named: &&Named| {
            let row = self.rows.get(&named.name);
            row.is_some_and(|row| row.starts_with(&start(named, root)))
        };
        let changed = places.iter().filter(|named| has_changes(named));
        let changed = changed.filter(|named| !is_same(named));
        let mut stale: Vec<_> = gone.chain(changed.map(|named| &*named.name)).collect();
        stale.dedup();
        stale.into_iter().map(str::to_owned).collect()
    }

    /// The page after this run. Rows of places that were not tried stay as they are. `up` is the
    /// relative path from the page's folder to the root.
    pub(crate) fn after(
        &self,
        places: &[Named],
        rows: &[Row],
        reasons: &Reasons,
        (root, up): (&Path, &str),
    ) -> String {
        let mut text = HEAD.to_owned();
        let places: Vec<_> = places.iter().filter(|named| has_changes(named)).collect();
        for file in places.chunk_by(|a, b| a.place.file == b.place.file) {
            let name = &file[0].place.file;
            let _in_memory = write!(
                text,
                "\n## [`{name}`]({up}{name})\n\n| place | asks for | what for | changed, and found by |\n\
                 |---|---|---|---|\n"
            );
            for named in file {
                let own: Vec<_> = (rows.iter())
                    .filter(|row| row.place == named.name)
                    .map(|row| one(row, reasons))
                    .collect();
                let row = match self.rows.get(&named.name).filter(|_| own.is_empty()) {
                    Some(row) => row.clone(),
                    None => format!("{}{} |", start(named, root), own.join(BREAK)),
                };
                text += &row;
                text.push('\n');
            }
        }
        text
    }
}

fn has_changes(named: &Named) -> bool {
    !named.place.changes().is_empty()
}

fn one(row: &Row, reasons: &Reasons) -> String {
    let change = row.change;
    let reason = reasons
        .of(&row.place, change)
        .unwrap_or("no reason is given");
    match &row.verdict {
        Verdict::Found(test) => format!("{change}: `{test}`"),
        verdict => format!("{change}: **{}**: {}", undecided(verdict), cell(reason)),
    }
}

fn start(Named { place, name }: &Named, root: &Path) -> String {
    let asked = place
        .ordering
        .map_or_else(String::new, |_| orderings(place));
    let why = why(place, root).unwrap_or_default();
    format!("| `{name}` | {asked} | {} | ", cell(&why))
}

/// Replaces what would end a cell of the table or its line.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

const MARKS: [&str; 2] = ["// ORDERING:", "// RECHECK:"];

/// What the source says of a place with a name: the last comment above it that begins with a mark
/// and a list of names with this one, up to a full stop, such as `// ORDERING: fill, look. Why.`
fn why(place: &Place, root: &Path) -> Option<String> {
    let (_, name) = place.name()?.rsplit_once("::")?;
    let text = fs::read_to_string(root.join(&place.file)).ok()?;
    let lines: Vec<_> = text.lines().take(place.line as usize).collect();
    let said = |at: usize| {
        let mark = MARKS.iter().find_map(|mark| lines[at].split_once(mark));
        let (_, first) = mark?;
        let others = lines[at + 1..].iter().map(|line| line.trim_start());
        let is_more = |line: &&str| {
            let is_other = MARKS.iter().any(|mark| line.starts_with(mark));
            line.starts_with("//") && !is_other && !line.starts_with("// SAFETY:")
        };
        let others = others.take_while(is_more);
        let others = others.map(|line| line.trim_start_matches('/').trim());
        let words: Vec<_> = [first.trim()].into_iter().chain(others).collect();
        let words = words.join(" ");
        let (names, why) = words.split_once('.')?;
        let mut names = names.split(|c: char| !c.is_alphanumeric() && c != '_');
        names.any(|own| own == name).then(|| why.trim().to_owned())
    };
    (0..lines.len()).rev().find_map(said)
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::*;

    const TEXT: &str = "fn f() {
    // ORDERING: done, seen. AcqRel, with `look`|x.
    // It goes on. SAFETY: no.
    // SAFETY: x.
    a.swap(1, order!(done: AcqRel));
    // ORDERING: look. With `done`.
    a.load(order!(look: Acquire));
}";

    #[test]
    fn a_row_begins_with_the_comment_of_its_place() {
        let folder = env::temp_dir();
        let file = format!("ordering-page-{}.rs", process::id());
        fs::write(folder.join(&file), TEXT).expect("it can be written");
        let start = |at: &str, name: &str| {
            let place = format!("{file}:{at}").parse().expect("a place");
            let name = name.to_owned();
            start(&Named { place, name }, &folder)
        };
        assert_eq!(
            start("5:15 order:a::done(AcqRel)", "a::done"),
            "| `a::done` | AcqRel | AcqRel, with `look`\\|x. It goes on. SAFETY: no. | "
        );
        assert_eq!(
            start("7:12 order:a::look(Acquire)", "a::look"),
            "| `a::look` | Acquire | With `done`. | "
        );
        assert_eq!(
            start("7:12 order:a::calm(Relaxed)", "a::calm"),
            "| `a::calm` | Relaxed |  | "
        );
        fs::remove_file(folder.join(&file)).expect("it is there");
    }
}
