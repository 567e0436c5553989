//! Prints the table in Markdown, and what is wrong.

use std::fmt::Write as _;

use joint_mutants::place::Place;

use crate::{
    job::{Row, Verdict},
    names::Named,
    programs::Test,
    reasons::Reasons,
};

pub(crate) struct Report<'a> {
    pub(crate) places: &'a [Named],
    pub(crate) rows: &'a [Row],
    pub(crate) reasons: &'a Reasons,
    pub(crate) stale: &'a [String],
    pub(crate) tests: &'a [Test],
    pub(crate) unreached: &'a [String],
}

/// Prints the places, and how many tests reach each, and then what none reaches.
pub(crate) fn list(places: &[Named], tests: &[Test], unreached: &[String]) {
    for Named { place, name } in places {
        let reach = tests.iter().filter(|test| test.reached.contains(place));
        let changes = place.changes().into_iter().flatten().flatten();
        let changes: Vec<_> = changes.map(|change| change.to_string()).collect();
        let (count, changes) = (reach.count(), changes.join(", "));
        println!("{name} (line {}, {count} tests): {changes}", place.line);
    }
    for operation in unreached {
        println!("{operation}: no test comes here");
    }
}

pub(crate) fn orderings(place: &Place) -> String {
    let all = [place.ordering, place.failure].into_iter().flatten();
    let all: Vec<_> = all.map(|order| format!("{order:?}")).collect();
    all.join(", ")
}

impl Report<'_> {
    pub(crate) fn table(&self) -> String {
        let mut text = "| place | line | ordering | change | found by | seconds |\n\
             |---|---|---|---|---|---|\n"
            .to_owned();
        for row in self.rows {
            let place = self.places.iter().find(|place| place.name == row.place);
            let place = place.map(|place| &place.place);
            let verdict = match (&row.verdict, self.reasons.of(&row.place, row.change)) {
                (Verdict::Found(test), _) => format!("`{test}`"),
                (verdict, Some(reason)) => format!("**{}**: {reason}", undecided(verdict)),
                (verdict, None) => format!("**{}**", undecided(verdict)),
            };
            let _in_memory = writeln!(
                text,
                "| `{}` | {} | {} | {} | {verdict} | {:.1} |",
                row.place,
                place.map_or(0, |place| place.line),
                place.map_or(String::new(), orderings),
                row.change,
                row.took.as_secs_f64(),
            );
        }
        text + &self.summary()
    }

    pub(crate) fn summary(&self) -> String {
        let mut text = String::new();
        let open = self.open().count();
        let survivors = self.rows.iter().filter(|row| row.verdict.is_survivor());
        let survivors = survivors.count();
        let took = self
            .rows
            .iter()
            .map(|row| row.took.as_secs_f64())
            .sum::<f64>();
        if !self.unreached.is_empty() {
            let unreached = self.unreached.join(", ");
            let _in_memory = writeln!(text, "\nReached by no test: {unreached}");
        }
        let _in_memory = writeln!(
            text,
            "\n{} places, {} tests, {} changes tried: {} found, {} survive with a reason, {open} \
             without; {took:.0} s of tests",
            self.places.len(),
            self.tests.len(),
            self.rows.len(),
            self.rows.len() - survivors,
            survivors - open,
        );
        text
    }

    fn open(&self) -> impl Iterator<Item = &Row> {
        let open = self.rows.iter().filter(|row| row.verdict.is_survivor());
        open.filter(|row| self.reasons.of(&row.place, row.change).is_none())
    }

    /// Prints what is wrong, and returns whether nothing is.
    pub(crate) fn is_clean(&self, file: &str) -> bool {
        if self.open().next().is_some() {
            eprintln!("write a test, weaken the operation, or give the reason in {file}");
        }
        for entry in self.stale {
            eprintln!("`{entry}` is in {file}, but is found, or is not there any more");
        }
        self.stale.is_empty() && self.open().next().is_none()
    }
}

pub(crate) fn undecided(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Endless(_) => "no end",
        _ => "survives",
    }
}
