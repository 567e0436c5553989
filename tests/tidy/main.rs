//! The rules that hold the source together and that no compiler checks: which module may name
//! which, that every atomic names its site and argues its ordering, that the model sees everything
//! two threads share, the size and finish of the files, and that the tests compile no competitor.
//! Each rule is a function over one file's tokens, shown to fail on a bad snippet next to where it
//! is written.
#![cfg(not(miri))] // it reads the file system, and runs no code of the crate

mod atomics;
mod commands;
mod finish;
mod floors;
mod layers;
mod lex;
mod names;
mod paths;
mod peers;
mod privileges;
mod source;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use source::Source;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All of `src`, by path from the root.
fn sources() -> &'static BTreeMap<String, Source> {
    /// Read once for all rules, because that takes longer than any of them.
    static SOURCES: LazyLock<BTreeMap<String, Source>> = LazyLock::new(|| sources_in("src"));
    assert!(
        SOURCES.contains_key("src/lib.rs"),
        "the walk of src found no lib.rs"
    );
    &SOURCES
}

/// All of the package `joint_flow`; nothing in a packaged copy.
fn sources_of_flow() -> &'static BTreeMap<String, Source> {
    static SOURCES: LazyLock<BTreeMap<String, Source>> = LazyLock::new(|| match is_packaged() {
        false => sources_in("flow/src"),
        true => BTreeMap::new(),
    });
    &SOURCES
}

fn sources_in(folder: &str) -> BTreeMap<String, Source> {
    let mut files = Vec::new();
    collect(&root().join(folder), &mut files);
    let sources = files.iter().map(|file| {
        let (path, text) = read(file);
        let source = Source::new(&path, &text);
        (path, source)
    });
    sources.collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("src can be listed") {
        let path = entry.expect("src can be listed").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The path from the root, and the text.
fn read(file: &Path) -> (String, String) {
    let parts = file.strip_prefix(root()).expect("src lies in the root");
    let parts: Vec<_> = parts.iter().map(|part| part.to_string_lossy()).collect();
    let path = parts.join("/");
    let text = fs::read_to_string(file).expect("a source file can be read");
    (path, text)
}

/// Runs one rule over every file, and fails with all that it found.
fn hold(rule: impl Fn(&Source) -> Vec<String>) {
    let found: Vec<String> = sources().values().flat_map(rule).collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// Runs one rule over every file of the packages `joint` and `joint_flow`.
fn hold_in_both(rule: impl Fn(&Source) -> Vec<String>) {
    let both = sources().values().chain(sources_of_flow().values());
    let found: Vec<String> = both.flat_map(rule).collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn modules_point_downward() {
    let sources = sources();
    let exports = layers::exports(&sources["src/lib.rs"]);
    hold(|source| layers::check(source, &exports));
}

#[test]
fn the_floors_of_the_executor_point_downward() {
    let sources = sources();
    let exports = floors::Exports::new(&sources["src/lib.rs"], &sources["src/executor/mod.rs"]);
    hold(|source| floors::check(source, &exports));
}

#[test]
fn the_executor_has_no_privileges() {
    let sources = sources();
    let private = privileges::private(sources.values());
    hold(|source| privileges::check(source, &private));
}

#[test]
fn only_the_switches_name_the_model_cfg() {
    hold_in_both(finish::model_cfg);
}

#[test]
fn what_threads_share_comes_from_sync() {
    hold_in_both(atomics::unmodelled);
}

#[test]
fn no_ordering_is_raw() {
    hold_in_both(atomics::raw_orderings);
}

#[test]
fn every_site_argues_its_ordering() {
    hold_in_both(atomics::unargued_sites);
}

#[test]
fn sites_have_names_of_their_own() {
    hold_in_both(atomics::repeated_sites);
}

#[test]
fn what_comments_cite_exists() {
    let sources = sources();
    let mut files = Vec::new();
    for folder in [
        "benches",
        "examples",
        "flow",
        "loom-tests",
        "src",
        "tests",
        "xtask",
    ] {
        let folder = root().join(folder);
        if folder.exists() {
            collect(&folder, &mut files);
        }
    }
    let paths = files
        .iter()
        .filter_map(|file| file.strip_prefix(root()).ok());
    let paths = paths.map(|path| path.to_string_lossy().replace('\\', "/"));
    let both = sources.values().chain(sources_of_flow().values());
    let known = names::Known::new(both, paths);
    hold_in_both(|source| names::check(source, &known));
}

#[test]
fn the_index_of_handshakes_leads_somewhere() {
    // A packaged copy has no models.
    if root().join("Cargo.toml.orig").exists() {
        return;
    }
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("it can be read");
    let exists = |path: &str| root().join(path).exists();
    assert_eq!(names::index(&page, exists), [""; 0]);
}

#[test]
fn comments_end_at_column_100() {
    hold(|source| finish::wide_comments(&source.path, &source.text));
    // A packaged copy has only some of these folders.
    let others = [
        "axioms",
        "benches",
        "compat",
        "examples",
        "flow",
        "loom-tests",
        "tests",
        "xtask",
    ];
    let mut files = Vec::new();
    for folder in others.map(|folder| root().join(folder)) {
        if folder.exists() {
            collect(&folder, &mut files);
        }
    }
    let found = (files.iter().map(|file| read(file)))
        .flat_map(|(path, text)| finish::wide_comments(&path, &text));
    assert_eq!(found.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn files_have_headers() {
    hold_in_both(finish::header);
}

#[test]
fn files_are_short() {
    hold_in_both(finish::length);
}

#[test]
fn nothing_is_left_to_do() {
    hold_in_both(finish::leftovers);
}

/// A packaged copy has neither the benches nor the CI script.
fn is_packaged() -> bool {
    root().join("Cargo.toml.orig").exists()
}

#[test]
fn only_the_benches_depend_on_peers() {
    if is_packaged() {
        return;
    }
    let text = |path| fs::read_to_string(root().join(path)).expect("the repository has the file");
    let peers = peers::named(&text("benches/Cargo.toml"));
    assert!(peers.contains("tokio"), "{peers:?}");
    let found = peers::reached(&text("Cargo.lock"), "joint", &peers);
    assert_eq!(found, Ok(Vec::new()));
}

#[test]
fn ci_runs_the_readme_test_command() {
    if is_packaged() {
        return;
    }
    let Ok(readme) = fs::read_to_string(root().join("README.md")) else {
        return;
    };
    let script = fs::read_to_string(root().join(".ci/run")).expect(".ci/run can be read");
    assert_eq!(commands::check(&readme, &script), Ok(()));
}
