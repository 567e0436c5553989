//! The figures that the benches write: a JSON object on each line.

use std::{cmp::Reverse, collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};

/// The figure of one contestant in one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The name of the contestant.
    pub contestant: String,
    /// In the unit of the table, or NaN if the contestant cannot do the row.
    pub value: f64,
    /// The median of the rounds' ratios to the first contestant of the row.
    pub ratio: f64,
    /// Whether the contestant is another crate's, and not joint's own or a floor (the same work
    /// with little machinery).
    pub is_peer: bool,
}

/// Where a figure belongs, and how it was measured.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The title of the table.
    pub table: &'a str,
    /// The title of the row.
    pub row: &'a str,
    /// `ns`, `ms` or `bytes`; or of counts, `wake-ups` or `runs`. Of runs, each peer's is compared
    /// with joint's contestant that works in the same way.
    pub unit: &'a str,
    /// How far apart the processors were: `near`, `far`, `busy` or `alone`.
    pub placement: &'a str,
    /// Whether each row took less time than usual.
    pub is_quick: bool,
}

impl Figure {
    /// A figure of joint's, if the contestant's name begins so, or else of a peer.
    pub fn new(contestant: &str, value: f64, ratio: f64) -> Self {
        Self {
            contestant: contestant.to_owned(),
            value,
            ratio,
            is_peer: !contestant.starts_with("joint"),
        }
    }

    /// Returns the line that records this figure, without its end.
    pub fn line(&self, place: &Place<'_>) -> String {
        json!({
            "table": place.table, "row": place.row, "unit": place.unit,
            "placement": place.placement, "quick": place.is_quick,
            "contestant": self.contestant, "value": self.value, "ratio": self.ratio,
            "is_peer": self.is_peer,
        })
        .to_string()
    }
}

/// A row with its figures in the order of the run. The others are compared with the first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    table: String,
    pub(crate) title: String,
    pub(crate) unit: String,
    pub(crate) figures: Vec<Figure>,
}

impl Row {
    pub(crate) fn of(&self, contestant: &str) -> Option<&Figure> {
        let mut figures = self.figures.iter();
        figures.find(|figure| figure.contestant == contestant)
    }

    /// The peer with the smallest ratio.
    pub(crate) fn best_peer(&self) -> Option<&Figure> {
        let peers = self.figures.iter().filter(|figure| figure.is_peer);
        peers.min_by(|a, b| a.ratio.total_cmp(&b.ratio))
    }

    /// Whether the figures are times, so that the others are shown as multiples of the first. Sizes
    /// and counts say more by themselves.
    pub(crate) fn is_of_times(&self) -> bool {
        matches!(&*self.unit, "ns" | "ms")
    }
}

/// The contestants of all rows. Those of the first row that has the most come first, so that they
/// are in the order of the run although others cannot do each row.
pub(crate) fn contestants<'a>(rows: &[&'a Row]) -> Vec<&'a str> {
    let longest = rows.iter().min_by_key(|row| Reverse(row.figures.len()));
    let mut all = Vec::new();
    for figure in longest.into_iter().chain(rows).flat_map(|row| &row.figures) {
        if !all.contains(&&*figure.contestant) {
            all.push(&figure.contestant);
        }
    }
    all
}

/// The figures of a run of some benches.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) rows: Vec<Row>,
    /// How far apart the processors were while times were measured.
    pub(crate) placements: BTreeSet<String>,
    /// Whether a bench took less time for each row than it usually does.
    pub(crate) is_quick: bool,
}

impl Figures {
    /// Reads the file of each bench, which `cargo xtask bench` writes with this option.
    pub(crate) fn read(folder: &Path, option: &str, benches: &[&str]) -> Result<Self, String> {
        let mut figures = Self::default();
        for bench in benches {
            let path = folder.join(format!("{bench}.jsonl"));
            let shown = path.display();
            let text = fs::read_to_string(&path).map_err(|error| {
                format!(
                    "cannot read {shown}: {error}; `cargo xtask bench {option}{bench}` writes it"
                )
            })?;
            for line in text.lines() {
                let added = figures.add(line);
                added.map_err(|why| format!("{shown}: {why}: {line}"))?;
            }
        }
        Ok(figures)
    }

    pub(crate) fn add(&mut self, line: &str) -> Result<(), String> {
        let object: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let lacks = |key| format!("{key} is missing");
        let word =
            |key| Ok::<_, String>(object[key].as_str().ok_or_else(|| lacks(key))?.to_owned());
        let number = |key| object[key].as_f64().ok_or_else(|| lacks(key));
        let [table, title, unit] = [word("table")?, word("row")?, word("unit")?];
        let figure = Figure {
            contestant: word("contestant")?,
            value: number("value")?,
            ratio: number("ratio")?,
            is_peer: object["is_peer"] == true,
        };
        self.is_quick |= object["quick"] == true;
        if matches!(&*unit, "ns" | "ms") {
            self.placements.insert(word("placement")?);
        }
        match self.rows.last_mut() {
            Some(row) if row.title == title && row.table == table => row.figures.push(figure),
            _ => self.rows.push(Row {
                table,
                title,
                unit,
                figures: vec![figure],
            }),
        }
        Ok(())
    }

    /// Returns a row of a table, or says that there is none.
    pub(crate) fn row(&self, table: &str, title: &str) -> Result<&Row, String> {
        let mut rows = self.rows.iter();
        let found = rows.find(|row| row.table == table && row.title == title);
        found.ok_or_else(|| {
            format!(
                "there is no row `{title}` in a table `{table}`; run `cargo xtask bench --readme`"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_is_refused_by_what_it_lacks() {
        for (line, why) in [
            ("{", "EOF"),
            ("{}", "table is missing"),
            (
                r#"{"table": "a", "row": "b", "unit": "ns", "contestant": "c", "value": "1"}"#,
                "value is missing",
            ),
        ] {
            let refused = Figures::default().add(line).expect_err(line);
            assert!(refused.contains(why), "{refused}");
        }
    }
}
