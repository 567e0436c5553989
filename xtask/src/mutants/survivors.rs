//! The list of changes that no model finds, each with the reason why none can.
//!
//! A line is `site change: reason`, with `*` for every change of the site; what begins with `#` is
//! a comment.

use super::{
    Verdict, Verdicts,
    plan::{Change, Mutant},
};

pub(crate) struct Survivors(Vec<Entry>);

#[derive(Debug, PartialEq)]
struct Entry {
    site: String,
    /// Nothing: every one.
    change: Option<Change>,
    reason: String,
}

impl Entry {
    fn is_of(&self, mutant: &Mutant) -> bool {
        self.site == mutant.site && self.change.is_none_or(|change| change == mutant.change)
    }
}

impl Survivors {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let entries = lines.map(|(n, line)| {
            entry(line).ok_or_else(|| format!("line {n} is not `site change: reason`: {line}"))
        });
        entries.collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn reason(&self, mutant: &Mutant) -> Option<&str> {
        let entry = self.0.iter().find(|entry| entry.is_of(mutant))?;
        Some(&entry.reason)
    }

    /// Entries for what is found after all, or is not there any more.
    pub(crate) fn stale(&self, mutants: &[Mutant], verdicts: &Verdicts) -> Vec<String> {
        let is_needed = |entry: &&Entry| {
            let mut own = mutants.iter().filter(|mutant| entry.is_of(mutant));
            own.any(|mutant| !matches!(verdicts.get(mutant), Some(Verdict::Killed(_))))
        };
        let stale = self.0.iter().filter(|entry| !is_needed(entry));
        stale
            .map(|Entry { site, change, .. }| {
                format!("{site} {}", change.map_or("*", Change::name))
            })
            .collect()
    }
}

fn entry(line: &str) -> Option<Entry> {
    let (what, reason) = line.split_once(": ")?;
    let (site, change) = what.split_once(' ')?;
    let change = match change {
        "*" => None,
        name => Some(Change::named(name)?),
    };
    let reason = reason.trim();
    (!reason.is_empty()).then(|| Entry {
        site: site.to_owned(),
        change,
        reason: reason.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(site: &str, change: Change) -> Mutant {
        let site = site.to_owned();
        Mutant { site, change }
    }

    const LIST: &str = "# Why.\n\na::b acquire: No model can.\na::c *: It is not there.\n";

    #[test]
    fn reasons_are_found_by_site_and_change() {
        let list = Survivors::read(LIST).expect("a list");
        let reason = |site, change| list.reason(&mutant(site, change));
        assert_eq!(reason("a::b", Change::Acquire), Some("No model can."));
        assert_eq!(reason("a::b", Change::Release), None);
        assert_eq!(reason("a::c", Change::InTwo), Some("It is not there."));
    }

    #[test]
    fn a_line_without_a_reason_is_named() {
        for bad in [
            "a::b acquire",
            "a::b acquire: ",
            "a::b: why",
            "a::b no: why",
        ] {
            let error = Survivors::read(&format!("# x\n{bad}")).err().expect(bad);
            assert!(
                error.contains("line 2") && error.contains(bad.trim()),
                "{error}"
            );
        }
    }

    #[test]
    fn a_survivor_that_is_killed_or_gone_is_stale() {
        let list = Survivors::read(LIST).expect("a list");
        let killed = || Verdict::Killed("x::y".to_owned());
        let mutants = [
            mutant("a::b", Change::Acquire),
            mutant("a::c", Change::Relaxed),
            mutant("a::c", Change::InTwo),
        ];
        let [b, c, c_in_two] = mutants.clone();
        let mut verdicts = Verdicts::new();
        assert!(
            list.stale(&mutants, &verdicts).is_empty(),
            "nothing is known"
        );
        verdicts.insert(b, killed());
        verdicts.insert(c, killed());
        assert_eq!(list.stale(&mutants, &verdicts), ["a::b acquire"]);
        verdicts.insert(c_in_two, Verdict::Survived);
        assert_eq!(list.stale(&mutants, &verdicts), ["a::b acquire"]);
        assert_eq!(list.stale(&[], &verdicts), ["a::b acquire", "a::c *"]);
    }
}
