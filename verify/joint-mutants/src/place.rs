//! [`Place`] and [`Change`]: the words in which the command asks for a change, and in which a
//! process reports what it has reached.

use core::{
    fmt,
    str::FromStr,
    sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst},
};

const ORDERINGS: [(Ordering, &str, &str); 5] = [
    (SeqCst, "SeqCst", "seq_cst"),
    (AcqRel, "AcqRel", "acq_rel"),
    (Acquire, "Acquire", "acquire"),
    (Release, "Release", "release"),
    (Relaxed, "Relaxed", "relaxed"),
];

/// Reported for a test that is to be left out.
pub const LEFT_OUT: &str = "left out";
pub(crate) const ORDER: &str = "order:";
pub(crate) const LOOK: &str = "look:";

/// An atomic operation in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path that the compiler was given, with slashes.
    pub file: String,
    pub line: u32,
    pub column: u32,
    /// The name of the method, or `fence`. For a place with a name of its own: `order:` or `look:`,
    /// and the name.
    pub operation: String,
    /// Nothing for a look, and for a read-modify-write whose orderings are places of their own.
    pub ordering: Option<Ordering>,
    /// Of a failed compare-exchange, or of the loads of `fetch_update`.
    pub failure: Option<Ordering>,
}

/// What an operation does instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Uses this ordering.
    Order(Ordering),
    /// Uses this ordering if it fails.
    Failure(Ordering),
    /// Loads, and then stores.
    Split,
    /// Stores nothing.
    Deleted,
    /// Ignores what other threads wrote: a load returns the initial value, an exchange fails.
    Blind,
}

/// The text is not what `Display` writes of a [`Place`] or of a [`Change`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotUnderstood;

impl fmt::Display for NotUnderstood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not a place such as `src/lib.rs:12:20 swap(AcqRel)`, or a change such as `acquire`"
        )
    }
}

impl core::error::Error for NotUnderstood {}

impl FromStr for Change {
    type Err = NotUnderstood;

    fn from_str(name: &str) -> Result<Self, NotUnderstood> {
        let of = |name| ORDERINGS.iter().find(|(_, _, own)| *own == name);
        let of = |name| of(name).map(|&(order, ..)| order).ok_or(NotUnderstood);
        match name {
            "split" => Ok(Self::Split),
            "deleted" => Ok(Self::Deleted),
            "blind" => Ok(Self::Blind),
            name => match name.strip_prefix("failure_") {
                Some(name) => of(name).map(Self::Failure),
                None => of(name).map(Self::Order),
            },
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |order| ORDERINGS.iter().find(|(own, ..)| *own == order);
        let name = |order| name(order).map_or("unknown", |(_, _, name)| name);
        match *self {
            Self::Order(order) => write!(f, "{}", name(order)),
            Self::Failure(order) => write!(f, "failure_{}", name(order)),
            Self::Split => write!(f, "split"),
            Self::Deleted => write!(f, "deleted"),
            Self::Blind => write!(f, "blind"),
        }
    }
}

/// The kinds of operations, by what can be changed about them.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Load,
    Store,
    Fence,
    /// An ordering with a name.
    Order,
    /// A condition with a name.
    Look,
    /// A lock, a notification, a park, an unpark or a spawn.
    Call,
    Exchange,
    /// A read-modify-write that cannot fail, or `fetch_update`.
    Modify,
}

impl Place {
    fn kind(&self) -> Kind {
        match &*self.operation {
            "load" => Kind::Load,
            "store" => Kind::Store,
            "fence" => Kind::Fence,
            "lock" | "read" | "write" | "notify" | "notify_one" | "notify_all" => Kind::Call,
            "park" | "unpark" | "spawn" => Kind::Call,
            name if name.starts_with(ORDER) => Kind::Order,
            name if name.starts_with(LOOK) => Kind::Look,
            name if name.starts_with("compare_") => Kind::Exchange,
            _ => Kind::Modify,
        }
    }

    /// Returns what can be changed here, as rows of steps. The changes of a later step admit all
    /// that those of the step before admit. If a test finds one of a step, it is not worthwhile to
    /// try the later ones.
    pub fn changes(&self) -> Vec<Vec<Vec<Change>>> {
        let kind = self.kind();
        let weaker = |order, kind, change: fn(Ordering) -> Change| {
            let steps = weaker(order, kind).into_iter();
            let steps = steps.map(|step| step.into_iter().map(change).collect());
            steps.collect::<Vec<Vec<_>>>()
        };
        let mut rows = Vec::new();
        if let Some(ordering) = self.ordering {
            rows.push(weaker(ordering, kind, Change::Order));
        }
        if let Some(failure) = self.failure {
            rows.push(weaker(failure, Kind::Load, Change::Failure));
        }
        let others: &[_] = match kind {
            Kind::Load | Kind::Look => &[Change::Blind],
            Kind::Store | Kind::Call => &[Change::Deleted],
            Kind::Fence | Kind::Order => &[],
            Kind::Exchange if self.ordering.is_some() => {
                &[Change::Split, Change::Deleted, Change::Blind]
            }
            Kind::Exchange | Kind::Modify => &[Change::Split, Change::Deleted],
        };
        rows.extend(others.iter().map(|&change| vec![vec![change]]));
        rows.retain(|steps| !steps.is_empty());
        rows
    }

    /// Returns the name that the source gives the place.
    pub fn name(&self) -> Option<&str> {
        let order = self.operation.strip_prefix(ORDER);
        order.or_else(|| self.operation.strip_prefix(LOOK))
    }
}

impl FromStr for Place {
    type Err = NotUnderstood;

    fn from_str(text: &str) -> Result<Self, NotUnderstood> {
        read(text).ok_or(NotUnderstood)
    }
}

fn read(text: &str) -> Option<Place> {
    let (at, rest) = text.rsplit_once(' ')?;
    let (at, column) = at.rsplit_once(':')?;
    let (file, line) = at.rsplit_once(':')?;
    let (operation, orderings) = rest.strip_suffix(')')?.split_once('(')?;
    let of = |name| Some(ORDERINGS.iter().find(|(_, own, _)| *own == name)?.0);
    let (ordering, failure) = match orderings.split_once(',') {
        Some((ordering, failure)) => (Some(of(ordering)?), Some(of(failure)?)),
        None if orderings.is_empty() => (None, None),
        None => (Some(of(orderings)?), None),
    };
    Some(Place {
        file: file.to_owned(),
        line: line.parse().ok()?,
        column: column.parse().ok()?,
        operation: operation.to_owned(),
        ordering,
        failure,
    })
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            column,
            operation,
            ..
        } = self;
        write!(f, "{file}:{line}:{column} {operation}(")?;
        if let Some(ordering) = self.ordering {
            write!(f, "{ordering:?}")?;
        }
        if let Some(failure) = self.failure {
            write!(f, ",{failure:?}")?;
        }
        write!(f, ")")
    }
}

/// The orderings that are weaker, from the strongest step to the weakest.
fn weaker(order: Ordering, kind: Kind) -> Vec<Vec<Ordering>> {
    let all: &[&[Ordering]] = match kind {
        Kind::Load => &[&[SeqCst], &[Acquire], &[Relaxed]],
        Kind::Store => &[&[SeqCst], &[Release], &[Relaxed]],
        _ => &[&[SeqCst], &[AcqRel], &[Acquire, Release], &[Relaxed]],
    };
    let own = all.iter().position(|step| step.contains(&order));
    // None if the operation cannot have the ordering, such as a load that releases.
    let from = own.map_or(all.len(), |own| own + 1);
    all[from..].iter().map(|step| step.to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(place: &str) -> String {
        let place = Place::from_str(&format!("src/a.rs:1:2 {place}")).expect(place);
        let rows = place.changes().into_iter();
        let row = |steps: Vec<Vec<Change>>| {
            let step = |step: Vec<Change>| step.iter().map(Change::to_string).collect::<Vec<_>>();
            let steps = steps.into_iter().map(|one| step(one).join("+"));
            steps.collect::<Vec<_>>().join(" > ")
        };
        rows.map(row).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn each_operation_has_its_changes() {
        for (place, changes) in [
            ("load(SeqCst)", "acquire > relaxed; blind"),
            ("load(Relaxed)", "blind"),
            ("store(Release)", "relaxed; deleted"),
            ("fence(SeqCst)", "acq_rel > acquire+release > relaxed"),
            ("fence(Acquire)", "relaxed"),
            ("fence(Relaxed)", ""),
            ("swap(AcqRel)", "acquire+release > relaxed; split; deleted"),
            ("fetch_add(Relaxed)", "split; deleted"),
            ("compare_exchange()", "split; deleted"),
            ("order:a::b(SeqCst)", "acq_rel > acquire+release > relaxed"),
            ("order:a::b(Relaxed)", ""),
            ("look:a::b()", "blind"),
            ("notify_one()", "deleted"),
            (
                "fetch_update(Release,Acquire)",
                "relaxed; failure_relaxed; split; deleted",
            ),
            (
                "compare_exchange_weak(AcqRel,Acquire)",
                "acquire+release > relaxed; failure_relaxed; split; deleted; blind",
            ),
        ] {
            assert_eq!(names(place), changes, "{place}");
        }
    }

    #[test]
    fn places_and_changes_are_read_as_they_are_written() {
        for text in [
            "src/a b.rs:12:3 load(Acquire)",
            "src/a.rs:1:20 look:a::b()",
            "C:/x/a.rs:1:20 compare_exchange(SeqCst,Relaxed)",
        ] {
            assert_eq!(Place::from_str(text).expect(text).to_string(), text);
        }
        for text in ["acq_rel", "failure_relaxed", "split", "deleted", "blind"] {
            assert_eq!(Change::from_str(text).expect(text).to_string(), text);
        }
        let name = |text| Some(Place::from_str(text).ok()?.name()?.to_owned());
        assert_eq!(name("a.rs:1:2 look:a::b()").as_deref(), Some("a::b"));
        assert_eq!(name("a.rs:1:2 swap()"), None);
        for bad in ["", "src/a.rs:1 load(Acquire)", "a:1:2 load(Consume)"] {
            assert_eq!(Place::from_str(bad), Err(NotUnderstood), "{bad}");
        }
        assert_eq!(Change::from_str("failure_split"), Err(NotUnderstood));
    }
}
