//! Type-checks the packages for the systems that they are written for: for each target whose
//! standard library is installed here. And with the oldest Rust that they promise.
//!
//! Nothing is ever installed. A missing target is named, with the command that installs it, and
//! skipped.
//!
//! Only the library is checked, because the dependencies of its tests need a C compiler for each
//! target. The examples that need little are checked in a package of their own.
//!
//! What a machine without atomics of 64 bits has instead is run here. Small machines have
//! a file of their own (`small.rs`).

use std::{fmt::Write as _, fs, path::Path, process::Command, time::Instant};

use super::{
    foreign::WITH_RING,
    nightly,
    plans::of_small_machines,
    size::target as target_folder,
    small,
    step::{Step, root, run_all, say},
};

/// The target, and the system that it stands for.
const TARGETS: [(&str, &str); 7] = [
    ("x86_64-unknown-linux-gnu", "Linux"),
    ("aarch64-unknown-linux-gnu", "Linux"),
    ("aarch64-linux-android", "Android"),
    ("x86_64-pc-windows-gnu", "Windows"),
    ("x86_64-pc-windows-msvc", "Windows"),
    ("aarch64-apple-darwin", "macOS"),
    ("x86_64-unknown-freebsd", "FreeBSD"),
];

/// The oldest Rust that the packages promise.
const OLDEST: &str = env!("CARGO_PKG_RUST_VERSION");

/// The packages that need nothing of `joint`.
const TOOLS: [&str; 3] = ["joint-lab", "joint-check", "joint-mutants"];

/// The package of the examples that need little.
const EXAMPLES: &str = "tools/compat/portable";

/// The outcome for a target.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Checked { seconds: f64 },
    Ran { seconds: f64 },
    NotRun { why: String },
    Failed { status: i32 },
    Skipped { why: String },
}

/// Checks each target, prints the table, and returns the status to exit with.
pub(crate) fn run() -> i32 {
    // With the versions of the repository.
    let lock = root().join(EXAMPLES).join("Cargo.lock");
    if let Err(error) = fs::copy(root().join("Cargo.lock"), &lock) {
        say(&format!("portable failed: {}: {error}", lock.display()));
        return 1;
    }
    let mut rows: Vec<_> = TARGETS
        .iter()
        .map(|&(target, system)| (target, system, outcome(target)))
        .collect();
    rows.extend(small::rows());
    rows.push((
        "this machine",
        concat!("Rust ", env!("CARGO_PKG_RUST_VERSION")),
        oldest(),
    ));
    print!("{}", table(&rows));
    let small = run_all("small machines", &of_small_machines());
    if small != 0 {
        return small;
    }
    let failed = rows.iter().find_map(|(.., outcome)| match outcome {
        Outcome::Failed { status } => Some(*status),
        _ => None,
    });
    failed.unwrap_or(0)
}

fn outcome(target: &str) -> Outcome {
    if let Err(why) = library_of(target, "libstd-") {
        return Outcome::Skipped { why };
    }
    checked(target, &steps(target))
}

fn checked(what: &str, steps: &[Step]) -> Outcome {
    let start = Instant::now();
    match run_all(what, steps) {
        0 => Outcome::Checked {
            seconds: start.elapsed().as_secs_f64(),
        },
        status => Outcome::Failed { status },
    }
}

/// Checks the packages with the oldest Rust, in a folder of their own, whose builds would not serve
/// another Rust.
fn oldest() -> Outcome {
    if let Err(why) = nightly::has_toolchain(OLDEST) {
        return Outcome::Skipped { why };
    }
    checked("the oldest Rust", &[with_oldest()])
}

fn with_oldest() -> Step {
    let folder = target_folder().join("oldest");
    let folder = folder.to_string_lossy();
    let mut args = vec!["check", "--locked", "--target-dir", &folder];
    args.extend(["--all-features", "--lib", "--bins"]);
    args.extend(
        WITH_RING
            .iter()
            .chain(&TOOLS)
            .flat_map(|name| ["--package", name]),
    );
    Step::cargo_of(OLDEST, "packages", &args)
}

/// Returns whether a compiler for the target finds this part of its standard library, or else what
/// is missing.
pub(crate) fn library_of(target: &str, part: &str) -> Result<(), String> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", target]);
    let output = (rustc.output()).map_err(|error| format!("could not start rustc: {error}"))?;
    if !output.status.success() {
        return Err("this rustc does not know the target".to_owned());
    }
    let folder = String::from_utf8_lossy(&output.stdout);
    has_part(Path::new(folder.trim()), part, target)
}

/// Returns whether the folder holds this part of a standard library, or else how to install one.
fn has_part(folder: &Path, part: &str, target: &str) -> Result<(), String> {
    let mut files = fs::read_dir(folder).into_iter().flatten().flatten();
    if files.any(|file| file.file_name().to_string_lossy().starts_with(part)) {
        return Ok(());
    }
    Err(format!(
        "its standard library is not installed; to get it: rustup target add {target}"
    ))
}

fn steps(target: &str) -> Vec<Step> {
    let (manifest, folder) = (format!("{EXAMPLES}/Cargo.toml"), target_folder());
    let folder = folder.to_string_lossy();
    let check = |name, args: &[&str]| {
        let args = [&["check", "--target", target], args].concat();
        Step::cargo(name, &args).flags("RUSTFLAGS", "-D warnings")
    };
    let library = |name, package, features: &[&str]| {
        check(name, &[&["--package", package, "--lib"], features].concat())
    };
    vec![
        library("the primitive", "joint", &[]),
        library("no allocator", "joint", &["--no-default-features"]),
        library(
            "no_std",
            "joint",
            &["--no-default-features", "--features", "alloc"],
        ),
        library("all features", "joint-executor", &["--all-features"]),
        library(
            "no descriptors",
            "joint-executor",
            &["--no-default-features"],
        ),
        library("empty but on Linux", "joint-ring", &[]),
        check(
            "examples",
            &["--manifest-path", &manifest, "--target-dir", &folder],
        ),
    ]
}

fn table(rows: &[(&str, &str, Outcome)]) -> String {
    let mut out = "| target | system | result |\n|---|---|---|\n".to_owned();
    for (target, system, outcome) in rows {
        let result = match outcome {
            Outcome::Checked { seconds } => format!("checked in {seconds:.1} s"),
            Outcome::Ran { seconds } => format!("built in {seconds:.1} s, and run"),
            Outcome::NotRun { why } => format!("built, and not run: {why}"),
            Outcome::Failed { status } => format!("failed, with status {status}"),
            Outcome::Skipped { why } => format!("skipped: {why}"),
        };
        let _ = writeln!(out, "| {target} | {system} | {result} |");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_target_is_reported_with_its_install_command() {
        let why =
            has_part(Path::new("no/such/folder"), "libstd-", "a-b-c").expect_err("nothing there");
        assert!(why.ends_with("rustup target add a-b-c"), "{why}");
        let why = library_of("no-such-target", "libstd-").expect_err("not a target");
        assert!(why.contains("does not know"), "{why}");
    }
}
