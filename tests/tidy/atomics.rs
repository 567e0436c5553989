//! Atomics, cells and threads come from `sync`, so that the model sees them; every ordering is
//! named and argued where it stands. Unit tests are exempt: they observe from outside, and no model
//! runs them.

use std::collections::BTreeMap;

use super::{
    lex::{Comment, Kind},
    paths::{Path, paths},
    source::Source,
};

/// How far above a site its argument may end.
const REACH: usize = 8;

const ORDERINGS: [&str; 5] = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];

/// The packages whose threads and cells are the model's as well. The executor's threads are real,
/// and its models bring their own.
fn is_below_executor(source: &Source) -> bool {
    source.package().is_empty()
}

/// The switch takes them from `core` or from loom. The checkers are what a model runs on.
fn is_switch(source: &Source) -> bool {
    source.package() == "switch" || source.is_checker()
}

/// Finds data that two threads share and the model would not see.
pub(crate) fn unmodelled(source: &Source) -> Vec<String> {
    if is_switch(source) {
        return Vec::new();
    }
    let below = is_below_executor(source);
    let paths = paths(source);
    let foreign = paths
        .iter()
        .filter(|p| !p.in_test && p.in_crate().is_none());
    let found = foreign.filter(|p| is_atomic(p) || (below && is_threading(p)));
    let mut found: Vec<_> = found
        .map(|p| {
            let what = format!(
                "`{}` is not seen by the model; take it from joint_switch",
                p.written()
            );
            source.finding(p.line, what)
        })
        .collect();
    if below {
        found.extend(own_thread_locals(source, &paths));
    }
    found
}

/// An atomic type or function; `Ordering`, the type alone and under its own name, is none.
fn is_atomic(path: &Path) -> bool {
    let last = path.segments.get(3).map(String::as_str);
    let ordering = path.segments.len() == 4 && last == Some("Ordering") && path.name == "Ordering";
    let atomic = |root: &[&str]| path.starts_with(root);
    let core = atomic(&["core", "sync", "atomic"]) || atomic(&["std", "sync", "atomic"]);
    (core && !ordering) || atomic(&["sync", "atomic"]) || atomic(&["loom"])
}

fn is_threading(path: &Path) -> bool {
    const THREADING: [&[&str]; 6] = [
        &["thread"],
        &["thread_local"],
        &["cell", "UnsafeCell"],
        &["sync", "Mutex"],
        &["sync", "RwLock"],
        &["sync", "Condvar"],
    ];
    let rooted = |root: &str, rest: &[&str]| path.starts_with(&[&[root], rest].concat());
    let std = THREADING
        .iter()
        .any(|rest| rooted("std", rest) || rooted("core", rest));
    std || path.starts_with(&["cell", "UnsafeCell"])
}

/// std's `thread_local!` is in scope without an import, and is the same thread's in every thread of
/// a model.
fn own_thread_locals(source: &Source, paths: &[Path]) -> Vec<String> {
    let imported = paths
        .iter()
        .any(|path| path.segments == ["joint_switch", "thread_local"]);
    let uses = source.shipped().filter(|&(at, _)| {
        let qualified = at > 0 && source.tokens[at - 1].text == "::";
        source.reads(at, &["thread_local", "!"]) && !qualified && !imported
    });
    uses.map(|(_, token)| {
        source.finding(
            token.line,
            "`thread_local!` is std's; import joint_switch::thread_local",
        )
    })
    .collect()
}

/// Orderings that are not written inside `order!`.
pub(crate) fn raw_orderings(source: &Source) -> Vec<String> {
    // The latter takes the place of the system in models, and is not under test.
    if is_switch(source) || source.path == "joint-executor/src/model/driver.rs" {
        return Vec::new();
    }
    let text = |at: usize| {
        source
            .tokens
            .get(at)
            .map_or("", |token| token.text.as_str())
    };
    let raw = |at: usize| {
        let (before, after) = (text(at.wrapping_sub(1)), text(at + 1));
        let variant = ORDERINGS.contains(&text(at));
        if before == "::" {
            return text(at.wrapping_sub(2)) == "Ordering"
                && text(at.wrapping_sub(4)) != "cmp"
                && (variant || ["{", "*"].contains(&text(at)));
        }
        variant && matches!(before, "(" | ",") && matches!(after, ")" | ",")
    };
    let found = source.shipped().filter(|&(at, _)| raw(at));
    found
        .map(|(_, token)| {
            source.finding(
                token.line,
                "a raw ordering; name its site: order!(site: Ordering)",
            )
        })
        .collect()
}

/// An `order!` outside tests.
struct Site<'a> {
    name: &'a str,
    line: usize,
    module: String,
}

fn sites(source: &Source) -> Vec<Site<'_>> {
    if is_switch(source) {
        return Vec::new();
    }
    let calls = source
        .shipped()
        .filter(|&(at, _)| source.reads(at, &["order", "!", "("]));
    let names = calls.filter_map(|(at, _)| Some((at, source.tokens.get(at + 3)?)));
    names
        .filter(|(_, name)| name.kind == Kind::Ident)
        .map(|(at, name)| Site {
            name: &name.text,
            line: name.line,
            module: source.modules[at].join("::"),
        })
        .collect()
}

pub(crate) fn unargued_sites(source: &Source) -> Vec<String> {
    let arguments = arguments(&source.comments);
    let argued = |site: &Site<'_>| {
        arguments.iter().any(|argument| {
            let near = argument.first <= site.line && site.line <= argument.last + REACH;
            near && argument.sites.iter().any(|name| name == site.name)
        })
    };
    let found = sites(source).into_iter().filter(|site| !argued(site));
    found
        .map(|site| {
            let what = format!(
                "the site `{0}` is not argued; write `// ORDERING: {0}. ...` at most {REACH} lines above",
                site.name
            );
            source.finding(site.line, what)
        })
        .collect()
}

/// An `ORDERING:` comment: the sites it names up to its first full stop, and the lines of the
/// comment block it stands in.
struct Argument {
    first: usize,
    last: usize,
    sites: Vec<String>,
}

fn arguments(comments: &[Comment]) -> Vec<Argument> {
    let blocks = comments.chunk_by(|a, b| b.line <= a.line + 1);
    blocks.flat_map(block_arguments).collect()
}

fn block_arguments(block: &[Comment]) -> Vec<Argument> {
    let starts = (0..block.len()).filter(|&at| block[at].text.starts_with("ORDERING:"));
    let argument = |at: usize| {
        let text = block[at..].iter().map(|line| line.text.as_str());
        let text = text.collect::<Vec<_>>().join(" ");
        let head = text["ORDERING:".len()..]
            .split('.')
            .next()
            .unwrap_or_default();
        let names = head.split(|c: char| !c.is_alphanumeric() && c != '_');
        Argument {
            first: block[at].line,
            last: block[block.len() - 1].line,
            sites: names.map(str::to_owned).collect(),
        }
    };
    starts.map(argument).collect()
}

/// Sites that ask for more than `Relaxed`, and second looks, which the page of `cargo xtask
/// mutants` does not have because no model reaches them.
pub(crate) fn unreached_sites(source: &Source, page: &str) -> Vec<String> {
    if is_switch(source) {
        return Vec::new();
    }
    let text = |at: usize| source.tokens.get(at).map_or("", |token| &token.text);
    let is_wanted = |at: usize| {
        let is_order = source.reads(at, &["order", "!", "("]);
        let is_look = source.reads(at, &["recheck", "!", "("]);
        text(at + 4) == ":" && (is_order && text(at + 5) != "Relaxed" || is_look)
    };
    let wanted = source.shipped().filter(|&(at, _)| is_wanted(at));
    let missing = wanted.filter_map(|(at, token)| {
        let name = format!("{}::{}", source.modules[at].join("::"), text(at + 3));
        let what =
            format!("no row of docs/orderings.md has `{name}`; write a model that reaches it");
        (!page.contains(&format!("| `{name}` |"))).then(|| source.finding(token.line, what))
    });
    missing.collect()
}

pub(crate) fn repeated_sites(source: &Source) -> Vec<String> {
    let mut seen = BTreeMap::new();
    let mut found = Vec::new();
    for site in sites(source) {
        let name = format!("{}::{}", site.module, site.name);
        if let Some(first) = seen.get(&name) {
            let what = format!(
                "the site `{name}` stands on line {first} already; give this one a name of its own"
            );
            found.push(source.finding(site.line, what));
        } else {
            seen.insert(name, site.line);
        }
    }
    found
}
