//! The list of changes that no test finds, each with the reason why none can.
//!
//! A line is `place change: reason`, with `*` for every change of the place. Lines that begin with
//! `#` are comments.

use joint_mutants::place::Change;

use crate::job::Row;

#[derive(Debug, Default)]
pub(crate) struct Reasons(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    place: String,
    /// `None`: every change of the place.
    change: Option<Change>,
    reason: String,
}

impl Entry {
    fn is_of(&self, place: &str, change: Change) -> bool {
        self.place == place && self.change.is_none_or(|own| own == change)
    }
}

impl Reasons {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let entries = lines.map(|(n, line)| {
            entry(line).ok_or_else(|| format!("line {n} is not `place change: reason`: {line}"))
        });
        entries.collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn of(&self, place: &str, change: Change) -> Option<&str> {
        let entry = self.0.iter().find(|entry| entry.is_of(place, change))?;
        Some(&entry.reason)
    }

    /// The entries that match no survivor, in words.
    pub(crate) fn stale(&self, rows: &[Row]) -> Vec<String> {
        let needs = |entry: &Entry, row: &Row| {
            row.verdict.is_survivor() && entry.is_of(&row.place, row.change)
        };
        let stale = self
            .0
            .iter()
            .filter(|entry| !rows.iter().any(|row| needs(entry, row)));
        stale
            .map(|Entry { place, change, .. }| {
                let change = change.map_or("*".to_owned(), |change| change.to_string());
                format!("{place} {change}")
            })
            .collect()
    }
}

fn entry(line: &str) -> Option<Entry> {
    let (what, reason) = line.split_once(": ")?;
    let (place, change) = what.rsplit_once(' ')?;
    let change = match change {
        "*" => None,
        name => Some(name.parse().ok()?),
    };
    let (place, reason) = (place.to_owned(), reason.trim().to_owned());
    (!reason.is_empty()).then_some(Entry {
        place,
        change,
        reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_change_or_all_of_a_place_with_a_reason() {
        let list = "# Why.\n\na.rs f swap 2 relaxed: Nobody reads it.\na.rs g load *: Unused.\n";
        let list = Reasons::read(list).expect("a list");
        let of = |place, change: &str| list.of(place, change.parse().expect(change));
        assert_eq!(of("a.rs f swap 2", "relaxed"), Some("Nobody reads it."));
        assert_eq!(of("a.rs f swap 2", "split"), None);
        assert_eq!(of("a.rs f swap", "relaxed"), None);
        assert_eq!(of("a.rs g load", "blind"), Some("Unused."));
        for bad in [
            "a f swap split",
            "a f swap split: ",
            "a f swap: why",
            "a f swap no: why",
        ] {
            let error = Reasons::read(&format!("# x\n{bad}")).expect_err(bad);
            assert!(
                error.contains("line 2") && error.contains(bad.trim()),
                "{error}"
            );
        }
    }
}
