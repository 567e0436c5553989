//! The rules that hold the source together and that no compiler checks: which module may name
//! which, that every atomic names its site and argues its ordering, that the model sees everything
//! two threads share, the size and finish of the files, and that the tests compile no competitor.
//! Each rule is a function over one file's tokens, shown to fail on bad snippets in `shown.rs`.
//! That it takes nothing else for bad is shown by the source itself.
#![cfg(not(miri))] // it reads the file system, and runs no code of the crate

mod atomics;
mod finish;
mod floors;
mod lex;
mod names;
mod paths;
mod shown;
mod source;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use source::Source;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folders of the published packages, from the root: those without `publish = false` of both
/// workspaces, as cargo knows them.
fn packages() -> Vec<String> {
    let of_one = |workspace: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["metadata", "--no-deps", "--format-version=1"]);
        let output = cargo.current_dir(root().join(workspace)).output();
        let output = output.expect("cargo runs");
        assert!(output.status.success(), "{output:?}");
        let printed = String::from_utf8_lossy(&output.stdout).replace("\\\\", "/");
        let packages = printed.split("\"manifest_path\":\"").skip(1);
        let published = packages.filter(|package| package.contains("\"publish\":null"));
        let folder = |package: &str| {
            let (manifest, _) = package.split_once("/Cargo.toml\"")?;
            let root = root().to_string_lossy().replace('\\', "/");
            Some(
                manifest
                    .strip_prefix(&root)?
                    .trim_start_matches('/')
                    .to_owned(),
            )
        };
        published.filter_map(folder).collect::<Vec<_>>()
    };
    ["", "verify"]
        .iter()
        .flat_map(|workspace| of_one(workspace))
        .collect()
}

/// All of the published packages' source, by path from the root.
fn sources() -> &'static BTreeMap<String, Source> {
    /// Read once for all rules, because that takes longer than any of them.
    static SOURCES: LazyLock<BTreeMap<String, Source>> = LazyLock::new(read_sources);
    &SOURCES
}

fn read_sources() -> BTreeMap<String, Source> {
    let mut files = Vec::new();
    for package in packages() {
        let folder = root().join(package).join("src");
        let before = files.len();
        collect(&folder, &mut files);
        assert!(
            files.len() > before,
            "the walk found no {}",
            folder.display()
        );
    }
    let sources = files.iter().map(|file| {
        let (path, text) = read(file);
        let source = Source::new(&path, &text);
        (path, source)
    });
    sources.collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    collect_kind(folder, "rs", files);
}

/// The files of a kind in a folder, without links and what is built or fetched there.
fn collect_kind(folder: &Path, kind: &str, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("src can be listed") {
        let path = entry.expect("src can be listed").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !name.starts_with('.') && !["target", "vendor"].contains(&&*name) {
                collect_kind(&path, kind, files);
            }
        } else if path.extension().is_some_and(|extension| extension == kind) && !path.is_symlink()
        {
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
#[track_caller]
fn hold(rule: impl Fn(&Source) -> Vec<String>) {
    let found: Vec<String> = sources().values().flat_map(rule).collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// The rules that need only the file itself. A finding says what is wrong.
const RULES: [fn(&Source) -> Vec<String>; 10] = [
    atomics::unmodelled,
    atomics::raw_orderings,
    atomics::unargued_sites,
    atomics::repeated_sites,
    finish::model_cfg,
    finish::header,
    finish::length,
    finish::unproved_tags,
    strangers,
    unguarded_loans,
];

#[test]
fn each_file_keeps_the_rules() {
    hold(|source| RULES.iter().flat_map(|rule| rule(source)).collect());
}

#[test]
fn modules_point_downward() {
    let exports = floors::Exports::new(sources().values());
    hold(|source| floors::check(source, &exports));
    hold(floors::check_worker);
}

#[test]
fn models_reach_every_site() {
    let page = fs::read_to_string(root().join("docs/orderings.md")).expect("it can be read");
    hold(|source| atomics::unreached_sites(source, &page));
}

#[test]
fn sites_and_files_that_comments_cite_exist() {
    let sources = sources();
    let mut files = Vec::new();
    collect(root(), &mut files);
    let paths = files
        .iter()
        .filter_map(|file| file.strip_prefix(root()).ok());
    let paths = paths.map(|path| path.to_string_lossy().replace('\\', "/"));
    let known = names::Known::new(sources.values(), paths);
    hold(|source| names::check(source, &known));
}

/// The relative links and pictures of a page that lead nowhere.
fn dead_links(page: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let links = page.split("](").skip(1);
    let links = links.filter_map(|rest| rest.split([')', ' ', '#']).next());
    let relative = links.filter(|link| !link.is_empty() && !link.contains("://"));
    relative
        .filter(|link| !exists(link))
        .map(str::to_owned)
        .collect()
}

#[test]
fn links_of_pages_lead_to_files() {
    let mut pages = Vec::new();
    collect_kind(root(), "md", &mut pages);
    // A part of joint-flow's documentation, whose links rustdoc follows.
    pages.retain(|page| !page.ends_with("joint-flow/guide.md"));
    let found = pages.iter().flat_map(|page| {
        let (path, text) = read(page);
        let dead = dead_links(&text, |link| page.with_file_name(link).exists());
        dead.into_iter().map(move |link| format!("{path}: {link}"))
    });
    assert_eq!(found.collect::<Vec<_>>(), [""; 0]);
    let page = "[a](b.md) ![c](d.svg) [e](https://f.g) [h](#i) [j](k.md#l)";
    assert_eq!(dead_links(page, |link| link == "b.md"), ["d.svg", "k.md"]);
}

/// The files by their names, and the models of the handshakes, which stand in the last cell of each
/// row.
#[test]
fn files_and_models_that_contributing_names_exist() {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("it can be read");
    let mut files = Vec::new();
    collect(root(), &mut files);
    let in_code = |text: &str| -> Vec<String> {
        let names = text.split('`').skip(1).step_by(2);
        names
            .map(|name| name.trim_end_matches('/').to_owned())
            .collect()
    };
    let named = in_code(&page).into_iter();
    let named = named.filter(|name| name.ends_with(".rs") && !name.contains(' '));
    let (_, handshakes) = page
        .split_once("\n## The handshakes\n")
        .expect("the section");
    let handshakes = handshakes.split("\n## ").next().unwrap_or_default();
    let rows = handshakes.lines().filter(|line| line.starts_with("| `"));
    let models = rows.flat_map(|row| {
        let models = in_code(
            row.trim_end_matches([' ', '|'])
                .rsplit(" | ")
                .next()
                .unwrap_or_default(),
        );
        assert!(!models.is_empty(), "no model: {row}");
        models
            .into_iter()
            .map(|name| name.trim_end_matches(".rs").to_owned())
    });
    let models: Vec<_> = models.collect();
    assert!(models.len() > 20, "{models:?}");
    let is_model = |name: &String| {
        let path = root().join("loom-tests/tests").join(name);
        path.is_dir() || path.with_extension("rs").exists()
    };
    let missing = named.filter(|name| !files.iter().any(|file| file.ends_with(name)));
    let missing = missing.chain(models.into_iter().filter(|name| !is_model(name)));
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn published_packages_have_the_licences_and_a_changelog() {
    for package in packages() {
        let folder = root().join(&package);
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("it can be read");
        let packed = folder.join("CHANGELOG.md").exists() && manifest.contains("\"/CHANGELOG.md\"");
        assert!(
            packed,
            "{package} has no CHANGELOG.md, or its `include` does not"
        );
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let read = |folder: &Path| fs::read(folder.join(licence)).ok();
            let is_copied = read(&root().join(&package)) == read(root());
            assert!(is_copied, "{package} has no {licence} as in the root");
        }
    }
}

/// What a rule finds in all files, whatever package they are in.
fn found_anywhere(rule: impl Fn(&str, &str) -> Vec<String>) -> Vec<String> {
    let mut files = Vec::new();
    collect(root(), &mut files);
    let texts = files.iter().map(|file| read(file));
    texts.flat_map(|(path, text)| rule(&path, &text)).collect()
}

#[test]
fn comments_end_at_column_100() {
    assert_eq!(found_anywhere(finish::wide_comments), [""; 0]);
}

#[test]
fn names_have_at_most_60_characters() {
    assert_eq!(found_anywhere(finish::long_names), [""; 0]);
}

/// What only some files of the executor may write, and what it does.
const KEPT: [(&[&str], &[&str], &str); 5] = [
    (
        &["Running", "::", "of"],
        &[
            "worker/current.rs",
            "worker/harness.rs",
            "worker/stepped.rs",
        ],
        "makes a running worker, which may call the code of a stranger",
    ),
    (
        &["guarded", "("],
        &[
            "src/guard.rs",
            "src/hooks.rs",
            "blocking.rs",
            "blocking_pool.rs",
            "local/state.rs",
            "scope/mod.rs",
            "worker/current.rs",
            "worker/state.rs",
        ],
        "calls the code of a stranger; a worker does so by `stranger`",
    ),
    (
        &["thread_local", "!"],
        &[
            "src/calls.rs",
            "src/metrics.rs",
            "src/who.rs",
            "blocking_pool.rs",
            "hosted/host.rs",
            "model/registry.rs",
            "worker/closing.rs",
            "worker/end.rs",
        ],
        "keeps something for a thread; `who.rs` has all that says who its code is",
    ),
    (
        &["task", "::", "without_current"],
        &["src/who.rs"],
        "says who code is; `who.rs` says all of it at once",
    ),
    (
        &["budget", "::", "save"],
        &["src/who.rs"],
        "says who code is; `who.rs` says all of it at once",
    ),
];

/// What stands in a file of the executor, and is kept to others.
fn strangers(source: &Source) -> Vec<String> {
    if !source.path.starts_with("joint-executor/src/") {
        return Vec::new();
    }
    let of = |&(written, files, what): &(&[&str], &[&str], _)| {
        let is_kept = files.iter().any(|file| source.path.ends_with(file));
        let found = source
            .shipped()
            .filter(|&(at, _)| !is_kept && source.reads(at, written));
        found
            .map(|(_, token)| source.finding(token.line, what))
            .collect::<Vec<_>>()
    };
    KEPT.iter().flat_map(of).collect()
}

/// Who hides a lifetime, or sends an address, can lend a frame that is left before it is back.
fn unguarded_loans(source: &Source) -> Vec<String> {
    /// What keeps the memory, in each file that may do so.
    const KEEPERS: [(&str, &str); 6] = [
        ("joint-executor/src/fork_join/job.rs", "Lent"),
        ("joint-executor/src/scope/mod.rs", "Lent"),
        // The memory is on the heap.
        ("joint-executor/src/driver/reactor/selector/epoll.rs", "Vec"),
        ("joint-executor/src/local/register.rs", "room"),
        // A wait on the same thread, and a world that is leaked if a thread may still use it.
        ("joint-sim/src/world/entered.rs", "OnStack"),
        ("joint-sim/src/world/threads.rs", "Abandoned"),
    ];
    let has_frames = ["executor", "sim"].contains(&&*source.package());
    let is_model = source.path.contains("/model/");
    let is_kept = KEEPERS.iter().any(|(path, keeper)| {
        source.path == *path && source.tokens.iter().any(|token| token.text == *keeper)
    });
    let lends = |at: usize| {
        source.tokens[at].text == "transmute" || source.reads(at, &["unsafe", "impl", "Send"])
    };
    let shipped = source
        .shipped()
        .filter(|_| has_frames && !is_model && !is_kept);
    let found = shipped.filter(|&(at, _)| lends(at));
    let what = "may lend a frame to another thread: use `Job::lend`, or keep a `Lent`, which ends \
                the program if a panic leaves the frame";
    found
        .map(|(_, token)| source.finding(token.line, what))
        .collect()
}

#[test]
fn the_unchecked_contract_names_every_reference_to_a_task() {
    let text = &sources()["src/task/mod.rs"].text;
    let (_, list) = text
        .split_once("//! # References to a task")
        .expect("it has the list");
    let (list, _) = list.split_once("//! # ").expect("another heading follows");
    hold(|source| finish::unlisted_references(source, list));
}

/// Whoever builds the tests of a package compiles none of the crates that only the benches compare
/// it with.
#[test]
fn only_the_benches_depend_on_peers() {
    let manifest = fs::read_to_string(root().join("benches/Cargo.toml")).expect("it can be read");
    let commented = manifest.lines().filter_map(|line| line.split_once(" # "));
    let peers = commented.filter(|(_, comment)| comment.contains("peer"));
    let peers: Vec<_> = (peers.filter_map(|(line, _)| Some(line.split_once(" = ")?.0))).collect();
    assert!(peers.contains(&"tokio"), "{peers:?}");

    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--locked", "--all-features", "--prefix=none"]);
    // Without names, it shows those of `default-members`. `joint-hyper` is not one of them, because
    // HTTP/2 brings tokio.
    let tree = tree.current_dir(root()).output().expect("cargo runs");
    assert!(tree.status.success(), "{tree:?}");
    let tree = String::from_utf8_lossy(&tree.stdout);
    let mut names = tree.lines().filter_map(|line| line.split(' ').next());
    assert_eq!(names.find(|name| peers.contains(name)), None);
}
