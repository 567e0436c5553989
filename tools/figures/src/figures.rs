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

/// Where a figure belongs, and how far apart the processors were when it was measured.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The bench.
    pub bench: &'a str,
    /// The title of the table.
    pub table: &'a str,
    /// The title of the row.
    pub row: &'a str,
    /// `ns`, `ms` or `bytes`; or of counts, `wake-ups` or `runs`. Of runs, each peer's is compared
    /// with joint's contestant that works in the same way.
    pub unit: &'a str,
    /// `near`, `far`, `busy` or `alone`.
    pub placement: &'a str,
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
            "bench": place.bench, "table": place.table, "row": place.row, "unit": place.unit,
            "placement": place.placement, "contestant": self.contestant, "value": self.value,
            "ratio": self.ratio, "is_peer": self.is_peer,
        })
        .to_string()
    }
}

/// The start or the end of a bench.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The bench.
    pub bench: &'a str,
    /// `start` or `end`.
    pub when: &'a str,
    /// `near`, `far`, `busy` or `alone`: how far apart the processors were.
    pub placement: &'a str,
    /// The round trip of a cache line between two of them, in nanoseconds.
    pub round_trip: Option<f64>,
    /// Whether each row takes less time than usual.
    pub is_quick: bool,
}

impl Moment<'_> {
    /// Returns the line that records this moment, without its end.
    pub fn line(&self) -> String {
        json!({
            "bench": self.bench, "when": self.when, "placement": self.placement,
            "round_trip_ns": self.round_trip, "quick": self.is_quick,
        })
        .to_string()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FigureRow {
    pub(crate) title: String,
    /// In the order of the run. The others are compared with the first.
    pub(crate) figures: Vec<Figure>,
}

impl FigureRow {
    pub(crate) fn of(&self, contestant: &str) -> Option<&Figure> {
        let mut figures = self.figures.iter();
        figures.find(|figure| figure.contestant == contestant)
    }

    /// The peer with the smallest ratio.
    pub(crate) fn best_peer(&self) -> Option<&Figure> {
        let peers = self.figures.iter().filter(|figure| figure.is_peer);
        peers.min_by(|a, b| a.ratio.total_cmp(&b.ratio))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FigureTable {
    pub(crate) title: String,
    pub(crate) unit: String,
    pub(crate) rows: Vec<FigureRow>,
}

impl FigureTable {
    /// The contestants of all rows. Those of the first row that has the most come first, so that
    /// they are in the order of the run although others cannot do each row.
    pub(crate) fn contestants(&self) -> Vec<&str> {
        let longest = self
            .rows
            .iter()
            .min_by_key(|row| Reverse(row.figures.len()));
        let rows = longest.into_iter().chain(&self.rows);
        let mut all = Vec::new();
        for figure in rows.flat_map(|row| &row.figures) {
            if !all.contains(&&*figure.contestant) {
                all.push(&figure.contestant);
            }
        }
        all
    }

    /// Whether the figures are times, so that the others are shown as multiples of the first. Sizes
    /// and counts say more by themselves.
    pub(crate) fn is_of_times(&self) -> bool {
        matches!(&*self.unit, "ns" | "ms")
    }

    pub(crate) fn row(&self, title: &str) -> Option<&FigureRow> {
        self.rows.iter().find(|row| row.title == title)
    }
}

/// The figures of a run of some benches.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) tables: Vec<FigureTable>,
    /// How far apart the processors were while times were measured.
    pub(crate) placements: BTreeSet<String>,
    /// Whether a bench took less time for each row than it usually does.
    pub(crate) is_quick: bool,
}

/// Reads the file of each bench, which `cargo xtask bench` writes with this option.
pub(crate) fn read(folder: &Path, option: &str, benches: &[&str]) -> Result<Figures, String> {
    let mut figures = Figures::default();
    for bench in benches {
        let path = folder.join(format!("{bench}.jsonl"));
        let text = fs::read_to_string(&path).map_err(|error| {
            format!(
                "cannot read {}: {error}; `cargo xtask bench {option}{bench}` writes it",
                path.display()
            )
        })?;
        let parsed = figures.add(&text);
        parsed.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(figures)
}

impl Figures {
    fn add(&mut self, text: &str) -> Result<(), String> {
        for (n, line) in (1..).zip(text.lines()) {
            self.add_line(line)
                .map_err(|error| format!("line {n}: {error}"))?;
        }
        Ok(())
    }

    fn add_line(&mut self, line: &str) -> Result<(), String> {
        let object: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let word = |key: &str| {
            let word = object[key].as_str().map(str::to_owned);
            word.ok_or_else(|| format!("{key:?} is not a string"))
        };
        let number = |key: &str| {
            let number = object[key].as_f64();
            number.ok_or_else(|| format!("{key:?} is not a number"))
        };
        let placement = word("placement")?;
        if object.get("row").is_none() {
            self.is_quick |= object["quick"] == true;
            return Ok(());
        }
        let figure = Figure {
            contestant: word("contestant")?,
            value: number("value")?,
            ratio: number("ratio")?,
            is_peer: object["is_peer"]
                .as_bool()
                .ok_or("\"is_peer\" is not a boolean")?,
        };
        let unit = word("unit")?;
        if !matches!(&*unit, "bytes" | "runs" | "wake-ups") {
            self.placements.insert(placement);
        }
        let rows = &mut self.table(word("table")?, unit).rows;
        let title = word("row")?;
        match rows.last_mut() {
            Some(row) if row.title == title => row.figures.push(figure),
            _ => rows.push(FigureRow {
                title,
                figures: vec![figure],
            }),
        }
        Ok(())
    }

    /// Returns a row and its table.
    ///
    /// # Errors
    ///
    /// Names the row, if there is none.
    pub(crate) fn row(&self, table: &str, row: &str) -> Result<(&FigureTable, &FigureRow), String> {
        let found = self.tables.iter().find(|other| other.title == table);
        let found = found.and_then(|table| Some((table, table.row(row)?)));
        found.ok_or_else(|| {
            format!(
                "there is no row `{row}` in a table `{table}`; run `cargo xtask bench --readme`"
            )
        })
    }

    fn table(&mut self, title: String, unit: String) -> &mut FigureTable {
        let place = self.tables.iter().position(|table| table.title == title);
        let place = place.unwrap_or_else(|| {
            let rows = Vec::new();
            self.tables.push(FigureTable { title, unit, rows });
            self.tables.len() - 1
        });
        &mut self.tables[place]
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two tables. In one of them a peer is faster, and another peer cannot do a row.
    pub(crate) fn sample() -> Figures {
        let line = |table, row, contestant: &str, value, ratio| {
            let place = Place {
                bench: "b",
                table,
                row,
                unit: "ns",
                placement: "near",
            };
            Figure::new(contestant, value, ratio).line(&place) + "\n"
        };
        let start = Moment {
            bench: "b",
            when: "start",
            placement: "far",
            round_trip: Some(430.0),
            is_quick: true,
        };
        let mut text = start.line() + "\n";
        text += &line("one", "a < b", "joint", 50.0, 1.0);
        text += &line("one", "a < b", "tokio", 100.0, 2.0);
        text += &line("one", "a < b", "nio", 25.0, 0.5);
        text += &line("one", "c", "joint", 8.25, 1.0);
        text += &line("one", "c", "tokio", 82.5, 10.0);
        text = text.replace("near", "far");
        text += &line("two", "c", "joint queue", 4.0, 1.0);
        text += &line("two", "c", "monoio", 5.0, 1.25);
        let mut figures = Figures::default();
        figures.add(&text).expect("the sample is well formed");
        figures
    }

    #[test]
    fn lines_become_tables() {
        let figures = sample();
        let placements: Vec<_> = figures.placements.iter().collect();
        assert_eq!(placements, ["far", "near"]);
        assert!(figures.is_quick);
        let titles: Vec<_> = figures.tables.iter().map(|table| &table.title).collect();
        assert_eq!(titles, ["one", "two"]);
        let one = &figures.tables[0];
        assert_eq!(one.contestants(), ["joint", "tokio", "nio"]);
        assert_eq!(
            one.rows[0].best_peer().map(|peer| &*peer.contestant),
            Some("nio")
        );
        assert_eq!(one.rows[1].of("nio"), None);
        assert_eq!(figures.row("one", "c"), Ok((one, &one.rows[1])));
        let error = figures.row("two", "d").expect_err("there is none");
        assert!(error.contains("`d` in a table `two`"), "{error}");
        assert_eq!(
            one.rows[1].of("tokio").map(|figure| figure.ratio),
            Some(10.0)
        );
    }

    #[test]
    fn bad_lines_are_named() {
        for (line, culprit) in [
            ("{", "EOF"),
            ("{}", "\"placement\" is not a string"),
            (
                "{\"placement\":\"near\",\"row\":\"a\"}",
                "\"contestant\" is not a string",
            ),
            (
                "{\"placement\":\"near\",\"row\":\"a\",\"contestant\":\"b\",\"value\":\"1\"}",
                "\"value\" is not a number",
            ),
        ] {
            let text = format!("{{\"placement\":\"near\"}}\n{line}");
            let error = Figures::default().add(&text).expect_err(line);
            assert!(
                error.starts_with("line 2: ") && error.contains(culprit),
                "{error}"
            );
        }
    }
}
