//! Type-checks the packages for the systems that they are written for: for each target whose
//! standard library is installed here. And with the oldest Rust that they promise.
//!
//! Nothing is ever installed. A missing target is named, with the command that installs it, and
//! skipped.
//!
//! Only the library is checked, because the dependencies of its tests need a C compiler for each
//! target. The examples that need little are checked in a package generated for them.
//!
//! What a machine without atomics of 64 bits has instead is run here. Small machines have
//! a file of their own (`small.rs`).

use std::{fmt::Write as _, fs, io, path::Path, process::Command, time::Instant};

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

/// The examples that need only `joint`, the executor and [`EXAMPLES_NEED`].
const EXAMPLES: [&str; 4] = ["echo", "fizz_buzz", "timers", "trace"];

const EXAMPLES_NEED: &str = "\
futures-lite = \"2\"
serde_json = \"1\"

[target.'cfg(target_os = \"linux\")'.dependencies]
rustix = { version = \"1\", features = [\"pipe\", \"time\"] }
";

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
    if let Err(error) = generate(&package()) {
        say(&format!("portable failed: the examples' package: {error}"));
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
    let manifest = package().join("Cargo.toml");
    let folder = target_folder();
    let (manifest, folder) = (manifest.to_string_lossy(), folder.to_string_lossy());
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

fn package() -> std::path::PathBuf {
    target_folder().join("portable")
}

/// Writes the package of the examples, with the versions of the repository's lock file.
fn generate(package: &Path) -> io::Result<()> {
    fs::create_dir_all(package)?;
    fs::write(package.join("Cargo.toml"), manifest())?;
    fs::copy(root().join("Cargo.lock"), package.join("Cargo.lock"))?;
    Ok(())
}

fn manifest() -> String {
    let mut text = format!(
        "[package]\nname = \"portable\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         joint = {{ path = {:?} }}\njoint-executor = {{ path = {:?} }}\n{EXAMPLES_NEED}",
        root(),
        root().join("executor")
    );
    for example in EXAMPLES {
        let _ = write!(
            text,
            "\n[[bin]]\nname = {example:?}\npath = {:?}\n",
            source(example)
        );
    }
    text
}

fn source(example: &str) -> std::path::PathBuf {
    let examples = root().join("executor/examples");
    examples.join(example).join("main.rs")
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

    #[test]
    fn each_check_is_for_the_target_and_takes_no_warning() {
        let steps = steps("a-b-c");
        assert_eq!(steps.len(), 7);
        for line in steps.iter().map(Step::to_string) {
            assert!(line.contains("-D warnings"), "{line}");
            assert!(line.contains("cargo check --target a-b-c "), "{line}");
        }
    }

    #[test]
    fn the_oldest_rust_is_that_of_the_manifest() {
        let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("it is there");
        assert!(manifest.contains(&format!("rust-version = {OLDEST:?}")));
        let line = with_oldest().to_string();
        assert!(
            line.contains(&format!("rustup run {OLDEST} cargo check ")),
            "{line}"
        );
    }

    #[test]
    fn the_examples_are_where_the_package_looks_for_them() {
        for example in EXAMPLES {
            assert!(source(example).exists(), "{example}");
            assert!(manifest().contains(&format!("name = {example:?}")));
        }
    }

    #[test]
    fn the_table_says_what_became_of_each() {
        let rows = [
            ("a", "A", Outcome::Checked { seconds: 1.25 }),
            ("b", "B", Outcome::Failed { status: 101 }),
            (
                "c",
                "C",
                Outcome::Skipped {
                    why: "absent".to_owned(),
                },
            ),
            ("d", "D", Outcome::Ran { seconds: 2.0 }),
            (
                "e",
                "E",
                Outcome::NotRun {
                    why: "no emulator".to_owned(),
                },
            ),
        ];
        let table = table(&rows);
        let lines: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| a | A | checked in 1.2 s |",
                "| b | B | failed, with status 101 |",
                "| c | C | skipped: absent |",
                "| d | D | built in 2.0 s, and run |",
                "| e | E | built, and not run: no emulator |",
            ]
        );
    }
}
