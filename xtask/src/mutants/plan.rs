//! The possible changes of the source: each atomic site, read-modify-write and second look, found
//! by reading the source of the packages.

use std::{collections::BTreeMap, fs, io, path::Path};

use super::{lex::Comment, source::Source};

const ATOMIC: [&str; 5] = ["load", "store", "swap", "fetch_add", "fetch_sub"];
const EXCHANGE: &str = "compare_exchange";
/// The first is the usual one; the others are its asymmetric pair.
const FENCE: &str = "fence";

/// One change of one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    AcqRel,
    Acquire,
    Release,
    Relaxed,
    /// A fence that is not there.
    Removed,
    /// A read-modify-write made of a load and a store.
    InTwo,
    /// A second look that sees nothing.
    Blind,
}

impl Change {
    pub(crate) const ALL: [Self; 7] = [
        Self::AcqRel,
        Self::Acquire,
        Self::Release,
        Self::Relaxed,
        Self::Removed,
        Self::InTwo,
        Self::Blind,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AcqRel => "acq_rel",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::Relaxed => "relaxed",
            Self::Removed => "removed",
            Self::InTwo => "in_two",
            Self::Blind => "blind",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|change| change.name() == name)
    }
}

/// A change that a run is to find.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mutant {
    pub(crate) site: String,
    pub(crate) change: Change,
}

/// A place in the source with what can be changed about it.
#[derive(Debug)]
pub(crate) struct Place {
    /// The module's path, then the name: of the site or the look, or else of the function that it
    /// stands in, with brackets.
    pub(crate) site: String,
    pub(crate) file: String,
    /// As it is written: the operation, with the ordering.
    pub(crate) what: String,
    /// The text of its comment.
    pub(crate) why: String,
    pub(crate) changes: Vec<Change>,
    /// Where the read-modify-write stands, if it is one.
    line: Option<usize>,
}

impl Place {
    pub(crate) fn mutants(&self) -> impl Iterator<Item = Mutant> {
        self.changes.iter().map(|&change| Mutant {
            site: self.site.clone(),
            change,
        })
    }

    /// Returns the name under which a model reports that it has come to the place of this change.
    pub(crate) fn seen_as(&self, change: Change) -> String {
        match (change, self.line) {
            (Change::InTwo, Some(line)) => format!("{}:{line}", self.file),
            _ => self.site.clone(),
        }
    }

    /// The request to the models.
    pub(crate) fn asked_as(&self, change: Change) -> String {
        let name = match change {
            Change::Removed => Change::Relaxed.name(),
            change => change.name(),
        };
        format!("{}={name}", self.seen_as(change))
    }
}

/// All that can be changed in the packages' source, in the order of the files and of their lines.
pub(crate) fn plan(root: &Path) -> io::Result<Vec<Place>> {
    let mut files = BTreeMap::new();
    for folder in ["src", "executor/src", "flow/src", "ring/src", "sim/src"] {
        collect(root, &root.join(folder), &mut files)?;
    }
    let sources = files
        .iter()
        // What exists for models alone.
        .filter(|(path, _)| {
            !path.starts_with("executor/src/model/") && *path != "ring/src/model.rs"
        })
        .map(|(path, text)| Source::new(path, text));
    Ok(sources.flat_map(|source| places(&source)).collect())
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let parts = path.strip_prefix(root).unwrap_or(&path).iter();
            let parts: Vec<_> = parts.map(|part| part.to_string_lossy()).collect();
            files.insert(parts.join("/"), fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// Those of one file that have something to change.
pub(crate) fn places(source: &Source) -> Vec<Place> {
    let at_sites = source.shipped().filter_map(|(at, _)| site(source, at));
    let mut places: Vec<_> = at_sites.collect();
    for (at, _) in source.shipped() {
        if let Some(operation) = operation(source, at) {
            add_operation(source, at, operation, &mut places);
        }
    }
    places.retain(|(_, place)| !place.changes.is_empty());
    places.sort_by_key(|&(at, _)| at);
    places.into_iter().map(|(_, place)| place).collect()
}

/// With the place of its token.
type At = (usize, Place);

/// The `order!` or `recheck!` that starts at a token.
fn site(source: &Source, at: usize) -> Option<At> {
    let is_order = source.reads(at, &["order", "!", "("]);
    if !is_order && !source.reads(at, &["recheck", "!", "("]) {
        return None;
    }
    let name = text(source, at + 3);
    if text(source, at + 4) != ":" {
        return None;
    }
    let (what, changes) = if is_order {
        let asked = text(source, at + 5);
        let call = enclosing_call(source, at);
        let is_fence = call == Some(FENCE);
        let what = match call.filter(|call| is_fence || ATOMIC.contains(call) || *call == EXCHANGE)
        {
            Some(_) if is_fence => format!("fence, {asked}"),
            Some(call) => format!("{call}, {asked}"),
            None => asked.to_owned(),
        };
        (what, weaker(asked, is_fence))
    } else {
        ("second look".to_owned(), vec![Change::Blind])
    };
    let place = Place {
        site: qualified(source, at, name),
        file: source.path.clone(),
        what,
        why: argument(source, at, name),
        changes,
        line: None,
    };
    Some((at, place))
}

fn weaker(asked: &str, is_fence: bool) -> Vec<Change> {
    let least = if is_fence {
        Change::Removed
    } else {
        Change::Relaxed
    };
    match asked {
        "SeqCst" => vec![Change::AcqRel, least],
        "AcqRel" => vec![Change::Acquire, Change::Release],
        "Acquire" | "Release" => vec![least],
        _ => Vec::new(),
    }
}

/// The read-modify-write whose name is the token.
fn operation(source: &Source, at: usize) -> Option<&str> {
    let name = text(source, at);
    let is_call = at > 0 && text(source, at - 1) == "." && text(source, at + 1) == "(";
    let is_rmw = match name {
        "fetch_add" | "fetch_sub" | EXCHANGE => true,
        // Slices have one as well.
        "swap" => {
            let arguments = &source.tokens[at + 1..closing(source, at + 1)];
            arguments.iter().any(|token| token.text == "order")
        }
        _ => false,
    };
    (is_call && is_rmw).then_some(name)
}

/// To the site that it names in its call, or as a place of its own.
fn add_operation(source: &Source, at: usize, operation: &str, places: &mut Vec<At>) {
    let line = source.tokens[at].line;
    let call = at..closing(source, at + 1);
    if let Some((_, place)) = places.iter_mut().find(|(site, _)| call.contains(site)) {
        place.line = Some(line);
        place.changes.push(Change::InTwo);
        return;
    }
    let function = (0..at).rev().find(|&at| text(source, at) == "fn");
    let function = function.map_or("", |at| text(source, at + 1));
    let place = Place {
        site: qualified(source, at, &format!("{function}()")),
        file: source.path.clone(),
        what: operation.to_owned(),
        why: "The orderings come from where it is called.".to_owned(),
        changes: vec![Change::InTwo],
        line: Some(line),
    };
    places.push((at, place));
}

fn text(source: &Source, at: usize) -> &str {
    source.tokens.get(at).map_or("", |token| &token.text)
}

fn qualified(source: &Source, at: usize, name: &str) -> String {
    let module = source.modules[at].iter().map(String::as_str);
    module.chain([name]).collect::<Vec<_>>().join("::")
}

/// The name of the function that a token is an argument of.
fn enclosing_call(source: &Source, at: usize) -> Option<&str> {
    let mut depth = 0;
    for before in (1..at).rev() {
        match text(source, before) {
            ")" | "]" | "}" => depth += 1,
            "(" if depth == 0 => return Some(text(source, before - 1)),
            "[" | "{" if depth == 0 => return None,
            "(" | "[" | "{" => depth -= 1,
            ";" if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// One past the bracket that closes the one at `at`.
fn closing(source: &Source, at: usize) -> usize {
    let mut depth = 0;
    for (end, token) in source.tokens.iter().enumerate().skip(at) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return end + 1;
        }
    }
    source.tokens.len()
}

/// Returns the text of the last comment above a token that names the site.
fn argument(source: &Source, at: usize, name: &str) -> String {
    let line = source.tokens[at].line;
    let blocks = source.comments.chunk_by(|a, b| b.line <= a.line + 1);
    let starts = blocks.flat_map(|block| (0..block.len()).map(|at| &block[at..]));
    let above = starts.filter(|lines| lines[0].line <= line && is_argument(&lines[0].text));
    let mut said = above.filter_map(|lines| of_site(&joined(lines), name));
    said.next_back().unwrap_or_default()
}

/// The argument that begins a block, in one line, without its mark.
fn joined(lines: &[Comment]) -> String {
    let ends = |text: &&str| is_argument(text) || text.starts_with("SAFETY:");
    let others = lines[1..].iter().map(|line| line.text.trim());
    let (_, first) = lines[0].text.split_once(':').unwrap_or_default();
    let words = [first.trim()]
        .into_iter()
        .chain(others.take_while(|text| !ends(text)));
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the text behind the names of the sites, if this one is among them.
fn of_site(argument: &str, name: &str) -> Option<String> {
    let (names, said) = argument.split_once('.')?;
    let mut names = names.split(|c: char| !c.is_alphanumeric() && c != '_');
    names
        .any(|word| word == name)
        .then(|| said.trim().to_owned())
}

fn is_argument(text: &str) -> bool {
    ["ORDERING:", "RECHECK:"]
        .iter()
        .any(|mark| text.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        fn f() {
            // ORDERING: done, seen. AcqRel, with `look`.
            // It goes on. SAFETY: no.
            // SAFETY: x.
            a.swap(1, order!(done: AcqRel));
            let n = a.load(order!(seen: Acquire));
            // ORDERING: b. With nothing.
            b::fence(order!(b: SeqCst));
            b.store(1, order!(calm: Relaxed));
            // RECHECK: again. What came between.
            if !recheck!(again: a.load(order!(late: Relaxed)) > 0) {}
            list.swap(0, 1);
        }
        fn g(order: Ordering) {
            self.0
                .compare_exchange(1, 2, order, order);
            a.fetch_add(1, order!(count: Relaxed));
        }
        #[cfg(test)] mod tests { fn t() { a.load(order!(own: Acquire)); } }";

    fn found() -> Vec<Place> {
        places(&Source::new("src/a/b.rs", TEXT))
    }

    #[test]
    fn every_place_with_something_to_change_is_found() {
        use Change::*;
        let found = found();
        let found = found.iter();
        let found: Vec<_> = found
            .map(|place| (&*place.site, &*place.what, &*place.changes))
            .collect();
        assert_eq!(
            found,
            [
                ("a::b::done", "swap, AcqRel", &[Acquire, Release, InTwo][..]),
                ("a::b::seen", "load, Acquire", &[Relaxed]),
                ("a::b::b", "fence, SeqCst", &[AcqRel, Removed]),
                ("a::b::again", "second look", &[Blind]),
                ("a::b::g()", "compare_exchange", &[InTwo]),
                ("a::b::count", "fetch_add, Relaxed", &[InTwo]),
            ]
        );
    }

    #[test]
    fn places_come_with_their_argument() {
        let found = found();
        assert_eq!(found[0].why, "AcqRel, with `look`. It goes on. SAFETY: no.");
        assert_eq!(found[1].why, found[0].why);
        assert_eq!(found[2].why, "With nothing.");
        assert_eq!(found[3].why, "What came between.");
    }

    #[test]
    fn the_models_are_asked_by_name_or_by_line() {
        let found = found();
        assert_eq!(found[0].asked_as(Change::Acquire), "a::b::done=acquire");
        assert_eq!(found[0].asked_as(Change::InTwo), "src/a/b.rs:6=in_two");
        assert_eq!(found[2].asked_as(Change::Removed), "a::b::b=relaxed");
        assert_eq!(found[3].asked_as(Change::Blind), "a::b::again=blind");
        // The line of the method's name.
        assert_eq!(found[4].seen_as(Change::InTwo), "src/a/b.rs:17");
    }

    #[test]
    fn no_two_places_of_the_source_have_one_name() {
        let plan = plan(&crate::step::root()).expect("src can be read");
        let mut names: Vec<_> = plan.iter().map(|place| &place.site).collect();
        let all = names.len();
        names.sort();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
        names.dedup();
        assert!(all > 50 && names.len() == all, "{all}, {}", names.len());
        let silent: Vec<_> = plan.iter().filter(|place| place.why.is_empty()).collect();
        assert!(silent.is_empty(), "{silent:?}");
    }
}
