//! `docs/orderings.md`: written from what was found, and read for what was found before.

use std::fmt::Write as _;

use super::{
    Verdict, Verdicts,
    plan::{Change, Mutant, Place},
    survivors::Survivors,
};

const HEAD: &str = "\
# The orderings, and what shows that each is needed

Written by `cargo xtask mutants`, which changes one place of the source at a time and runs the models that reach it until
one of them fails. `cargo xtask mutants --check` fails if this file is not what the command would write.

Each row is a place in the source: what it asks for, the reason in its comment, and for each change the test in
`loom-tests/tests` (its file, then its name) that finds it:

* `acq_rel`, `acquire`, `release`, `relaxed`: that ordering instead of the one in the source;
* `removed`: no fence at all;
* `in_two`: a load and then a store instead of one read-modify-write, with the same orderings;
* `blind`: a second look that sees nothing.

A site that asks for no more than `Relaxed` and is not a read-modify-write is not listed. A change that no model finds is
listed with its reason in `loom-tests/survivors.txt`.
";

const SURVIVES: &str = "**survives**";
const UNREACHED: &str = "**no model reaches it**";
const ENDLESS: &str = "**no end**";
const NOT_RUN: &str = "**not run**";
const BREAK: &str = "<br>";

pub(crate) fn written(places: &[Place], verdicts: &Verdicts, survivors: &Survivors) -> String {
    let mut text = HEAD.to_owned();
    for file in places.chunk_by(|a, b| a.file == b.file) {
        let name = &file[0].file;
        let _ = write!(
            text,
            "\n## [`{name}`](../{name})\n\n| place | asks for | what for | changed, and found by |\n|---|---|---|---|\n"
        );
        for place in file {
            let _ = writeln!(
                text,
                "| [`{}`](../{name}) | {} | {} | {} |",
                place.site,
                place.what,
                cell(&place.why),
                changes(place, verdicts, survivors)
            );
        }
    }
    text
}

fn changes(place: &Place, verdicts: &Verdicts, survivors: &Survivors) -> String {
    let one = |mutant: Mutant| {
        let found = match verdicts.get(&mutant) {
            Some(Verdict::Killed(test)) => format!("`{test}`"),
            Some(Verdict::Survived) => SURVIVES.to_owned(),
            Some(Verdict::Unreached) => UNREACHED.to_owned(),
            Some(Verdict::Endless) => ENDLESS.to_owned(),
            None => NOT_RUN.to_owned(),
        };
        let is_killed = matches!(verdicts.get(&mutant), Some(Verdict::Killed(_)));
        let reason = survivors.reason(&mutant).filter(|_| !is_killed);
        let reason = reason.map_or(String::new(), |reason| format!(": {}", cell(reason)));
        format!("{}: {found}{reason}", mutant.change.name())
    };
    place.mutants().map(one).collect::<Vec<_>>().join(BREAK)
}

/// Without what would end a cell or a line in it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

/// Reads the verdict on each change from such a file.
pub(crate) fn read(text: &str) -> Verdicts {
    text.lines().filter_map(row).flatten().collect()
}

fn row(line: &str) -> Option<Vec<(Mutant, Verdict)>> {
    let (site, rest) = line.strip_prefix("| [`")?.split_once("`]")?;
    let (_, changes) = rest.strip_suffix(" |")?.rsplit_once(" | ")?;
    let of = |change: &str| {
        let (name, found) = change.split_once(": ")?;
        let site = site.to_owned();
        let change = Change::named(name)?;
        Some((Mutant { site, change }, verdict(found)?))
    };
    Some(changes.split(BREAK).filter_map(of).collect())
}

fn verdict(found: &str) -> Option<Verdict> {
    if let Some(test) = found.strip_prefix('`') {
        return Some(Verdict::Killed(test.strip_suffix('`')?.to_owned()));
    }
    let marks = [
        (SURVIVES, Verdict::Survived),
        (UNREACHED, Verdict::Unreached),
        (ENDLESS, Verdict::Endless),
    ];
    let mut marks = marks.into_iter();
    marks.find_map(|(mark, verdict)| found.starts_with(mark).then_some(verdict))
}

#[cfg(test)]
mod tests {
    use super::{super::plan::places, *};
    use crate::mutants::source::Source;

    const TEXT: &str = "fn f() {
        // ORDERING: done. With `look`, a | b.
        a.swap(1, order!(done: AcqRel));
        // ORDERING: look. With `done`.
        a.load(order!(look: Acquire));
    }";

    fn found() -> Verdicts {
        let one = |site: &str, change, verdict| {
            let site = format!("a::{site}");
            (Mutant { site, change }, verdict)
        };
        Verdicts::from([
            one(
                "done",
                Change::Acquire,
                Verdict::Killed("x::y::z".to_owned()),
            ),
            one("done", Change::Release, Verdict::Survived),
            one("done", Change::InTwo, Verdict::Endless),
            one("look", Change::Relaxed, Verdict::Unreached),
        ])
    }

    #[test]
    fn the_written_table_is_read_back_unchanged() {
        let places = places(&Source::new("src/a.rs", TEXT));
        let list = "a::done release: It is not: so.\na::done acquire: Never.";
        let list = Survivors::read(list).expect("a list");
        let text = written(&places, &found(), &list);
        assert_eq!(read(&text), found(), "{text}");
        let row = "| [`a::done`](../src/a.rs) | swap, AcqRel | With `look`, a \\| b. | acquire: `x::y::z`<br>\
            release: **survives**: It is not: so.<br>in_two: **no end** |";
        assert!(text.lines().any(|line| line == row), "{text}");
        assert!(text.starts_with("# ") && text.contains("\n## [`src/a.rs`](../src/a.rs)\n"));
    }

    #[test]
    fn a_change_without_a_verdict_is_written_as_not_run() {
        let places = places(&Source::new("src/a.rs", TEXT));
        let list = Survivors::read("").expect("a list");
        let text = written(&places, &Verdicts::new(), &list);
        assert_eq!(text.matches("**not run**").count(), 4, "{text}");
        assert_eq!(read(&text), Verdicts::new());
    }
}
