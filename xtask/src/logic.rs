//! `cargo xtask logic`: changes the logic of the source in one place at a time, with cargo-mutants,
//! and demands that a test fails or does not end.
//!
//! There are thousands of changes, and all tests take minutes. So the unit tests run first, then
//! the integration tests that are named after the file, then the others, then the models. Each
//! stage tries only the changes that the one before has not found.

mod suites;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, mem,
    path::Path,
};

use self::suites::{PACKAGES, Suite, suites};
use super::{
    size::target,
    step::{Step, root, say},
};

const SURVIVORS: &str = "tests/logic-survivors.txt";

/// Compiled only if the feature `io` is off, only in the models, or only for a sanitizer.
const NOT_COMPILED: [&str; 5] = [
    "executor/src/driver/no_reactor.rs",
    "executor/src/model/**/*.rs",
    "switch/src/model.rs",
    "switch/src/model/**/*.rs",
    "switch/src/sanitized.rs",
];

/// Text that is only shown: what `Debug` and `Display` write, unless tests compare it.
const FOR_SHOW: [&str; 2] = ["fmt::Result", "impl .*fmt::(Debug|Display) for"];

/// Returns the status to exit with.
pub(crate) fn run(filter: Option<&str>) -> i32 {
    if !is_installed() {
        say(
            "logic skipped: cargo-mutants is not installed; to get it: cargo install --locked cargo-mutants",
        );
        return 0;
    }
    match logic(filter) {
        Ok(()) => 0,
        Err(why) => {
            say(&format!("logic failed: {why}"));
            1
        }
    }
}

fn is_installed() -> bool {
    let mut cargo = Step::cargo("", &["mutants", "--version"]).command();
    cargo.output().is_ok_and(|output| output.status.success())
}

fn logic(filter: Option<&str>) -> Result<(), String> {
    let list = fs::read_to_string(root().join(SURVIVORS)).unwrap_or_default();
    let list = read(&list)?;
    let folder = target().join("logic");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;

    let all = listed(&folder)?.into_iter();
    let all: Vec<_> = all
        .filter(|name| filter.is_none_or(|filter| name.contains(filter)))
        .collect();
    let (mut left, mut next) = (Vec::new(), all.clone());
    for stage in 0.. {
        let mut groups = BTreeMap::<_, Vec<_>>::new();
        for change in mem::take(&mut next) {
            match suites(&change).into_iter().nth(stage) {
                Some(suite) => groups.entry(suite).or_default().push(change),
                None => left.push(change),
            }
        }
        if groups.is_empty() {
            break;
        }
        for (suite, changes) in groups {
            next.extend(try_all(&suite, &changes, &folder)?);
        }
    }
    judge(&all, &left, &list, filter.is_none())
}

/// The names of all changes that cargo-mutants knows.
fn listed(folder: &Path) -> Result<Vec<String>, String> {
    let config = folder.join("mutants.toml");
    let files = PACKAGES.map(|package| format!("{}src/**/*.rs", package.folder));
    let settings = format!(
        "examine_globs = {files:?}\nexclude_globs = {NOT_COMPILED:?}\nexclude_re = {FOR_SHOW:?}\n"
    );
    fs::write(&config, settings).map_err(|error| error.to_string())?;
    let config = config.to_string_lossy();
    let mut args = vec!["mutants", "--list", "--config", &config];
    args.extend(PACKAGES.iter().flat_map(|one| ["--package", one.name]));
    let output = Step::cargo("list", &args).command().output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let names = String::from_utf8_lossy(&output.stdout);
    Ok(names.lines().map(str::to_owned).collect())
}

/// Tries these changes, and returns those that no test finds.
fn try_all(suite: &Suite, changes: &[String], folder: &Path) -> Result<Vec<String>, String> {
    let config = folder.join("mutants.toml");
    fs::write(&config, configuration(changes)).map_err(|error| error.to_string())?;
    let step = suite.step(&config, folder);
    say(&format!("{step}"));
    let status = step.command().status().map_err(|error| error.to_string())?;
    // 2: some were missed. 3: some tests did not end.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        return Err(format!("cargo mutants, {}: {status}", suite.name()));
    }
    // It tries some changes of fields whether they are requested or not.
    let lines = |what: &str| -> Result<Vec<String>, String> {
        let file = folder.join("mutants.out").join(what);
        let text =
            fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let own = text.lines().map(str::to_owned);
        Ok(own.filter(|name| changes.contains(name)).collect())
    };
    let left = lines("missed.txt")?;
    let mut tried = left.len();
    for found in ["caught.txt", "timeout.txt", "unviable.txt"] {
        tried += lines(found)?.len();
    }
    if tried != changes.len() {
        return Err(format!(
            "cargo mutants has tried {tried} of {} changes",
            changes.len()
        ));
    }
    let (kind, left_over) = (suite.name(), left.len());
    say(&format!(
        "{kind}: {left_over} of {} changes are left",
        changes.len()
    ));
    Ok(left)
}

/// Requests these changes, in their files.
fn configuration(changes: &[String]) -> String {
    let files = changes.iter().filter_map(|name| name.split(':').next());
    let files = Vec::from_iter(files.collect::<BTreeSet<_>>());
    let names: Vec<_> = changes.iter().map(|name| exactly(name)).collect();
    format!("examine_globs = {files:?}\nexamine_re = {names:?}\n")
}

/// A regular expression for one name.
fn exactly(name: &str) -> String {
    let mut expression = "^".to_owned();
    for c in name.chars() {
        // Not `<` and `>`, whose meaning changes with a backslash.
        if r"\.+*?()|[]{}^$#&-~".contains(c) {
            expression.push('\\');
        }
        expression.push(c);
    }
    expression + "$"
}

/// The part that does not depend on the line: the file, the change, and its number if the file has
/// several of that name.
///
/// A change's name is `src/a.rs:10:5: replace || with && in f`.
fn keys(all: &[String]) -> BTreeMap<&str, String> {
    let mut places: Vec<_> = all
        .iter()
        .filter_map(|name| {
            let mut parts = name.splitn(4, ':');
            let (file, line, column) = (parts.next()?, parts.next()?, parts.next()?);
            let change = parts.next()?.trim();
            let place = (file, line.parse::<u32>().ok()?, column.parse::<u32>().ok()?);
            Some((place, change, &**name))
        })
        .collect();
    places.sort_unstable();
    let mut seen = BTreeMap::new();
    let keys = places.into_iter().map(|((file, ..), change, name)| {
        let count = seen.entry((file, change)).or_insert(0);
        *count += 1;
        let key = match *count {
            1 => format!("{file} {change}"),
            n => format!("{file} {change} #{n}"),
        };
        (name, key)
    });
    keys.collect()
}

/// The entries of the list, each `file change: reason`.
fn read(list: &str) -> Result<Vec<&str>, String> {
    let lines = (1..).zip(list.lines().map(str::trim));
    let entries = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let entries = entries.map(|(n, line)| match line.split_once(": ") {
        Some((_, reason)) if !reason.trim().is_empty() => Ok(line),
        _ => Err(format!(
            "{SURVIVORS}: line {n} is not `file change: reason`: {line}"
        )),
    });
    entries.collect()
}

fn is_of(entry: &str, key: &str) -> bool {
    let reason = entry.strip_prefix(key);
    reason.is_some_and(|reason| reason.starts_with(": "))
}

/// Compares the remaining changes with the list. If only some of the changes were tried, unused
/// entries are not reported.
fn judge(all: &[String], left: &[String], list: &[&str], is_whole: bool) -> Result<(), String> {
    let wrong = complaints(all, left, list, is_whole);
    wrong.iter().for_each(|line| say(line));
    say(&format!(
        "{} changes tried, {} found by no test, {} entries in {SURVIVORS}",
        all.len(),
        left.len(),
        list.len()
    ));
    match wrong.len() {
        0 => Ok(()),
        n => Err(format!("{n} complaints")),
    }
}

fn complaints(all: &[String], left: &[String], list: &[&str], is_whole: bool) -> Vec<String> {
    let keys = keys(all);
    let is_listed = |key: &str| list.iter().any(|entry| is_of(entry, key));
    let unlisted = left.iter().filter_map(|name| {
        let key = keys.get(&**name)?;
        (!is_listed(key)).then(|| {
            format!("{name}: no test fails; write one that does, or list `{key}` in {SURVIVORS}")
        })
    });
    let stale = list.iter().filter(|entry| {
        let own = keys.iter().find(|(_, key)| is_of(entry, key));
        own.map_or(is_whole, |(&name, _)| !left.iter().any(|one| one == name))
    });
    let stale = stale.map(|entry| {
        format!("listed in {SURVIVORS}, but a test finds it, or it is not there any more: {entry}")
    });
    unlisted.chain(stale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    const FIRST: &str = "src/a.rs:9:20: replace || with && in A::f";
    const SECOND: &str = "src/a.rs:10:5: replace || with && in A::f";

    #[test]
    fn changes_of_one_name_are_numbered_in_the_order_of_the_file() {
        let all = names(&[SECOND, FIRST]);
        let keys = keys(&all);
        assert_eq!(keys[FIRST], "src/a.rs replace || with && in A::f");
        assert_eq!(keys[SECOND], "src/a.rs replace || with && in A::f #2");
    }

    #[test]
    fn a_surviving_change_must_be_listed() {
        let (all, left) = (names(&[FIRST, SECOND]), names(&[SECOND]));
        let complaints = |list: &[&str]| complaints(&all, &left, list, true);
        let second = "src/a.rs replace || with && in A::f #2: No test can.";
        assert!(complaints(&[second]).is_empty());
        let first = "src/a.rs replace || with && in A::f: No test can.";
        let both = complaints(&[first]);
        assert_eq!(both.len(), 2, "one is not listed, one is found: {both:?}");
    }

    #[test]
    fn a_stale_entry_is_reported_only_by_a_complete_run() {
        let list = ["src/b.rs replace f with (): It is for show."];
        assert_eq!(complaints(&[], &[], &list, true).len(), 1);
        assert!(complaints(&[], &[], &list, false).is_empty());
    }

    #[test]
    fn an_entry_without_a_reason_is_named() {
        assert_eq!(read("# x\n\na b: c\n"), Ok(vec!["a b: c"]));
        for bad in ["a b", "a b:", "a b: "] {
            let error = read(&format!("# x\n{bad}")).expect_err(bad);
            assert!(error.contains("line 2"), "{error}");
        }
    }

    #[test]
    fn a_name_is_asked_for_exactly() {
        assert_eq!(exactly("a.rs:1: b || c<T>"), r"^a\.rs:1: b \|\| c<T>$");
    }

    #[test]
    fn the_list_can_be_read() {
        let list = fs::read_to_string(root().join(SURVIVORS)).expect("the list");
        assert!(read(&list).is_ok(), "{:?}", read(&list));
    }

    #[test]
    fn what_is_not_compiled_exists() {
        for file in NOT_COMPILED.map(|glob| glob.trim_end_matches("/**/*.rs")) {
            assert!(root().join(file).exists(), "{file}");
        }
    }
}
