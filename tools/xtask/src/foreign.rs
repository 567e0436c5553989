//! `cargo xtask portable --run`: runs the tests of all packages as programs for other processors
//! and systems, in an emulator, or here if this machine can.
//!
//! Nothing is ever installed. A missing tool is named, with the command that installs it, and the
//! target is skipped. A target's std is the installed one, or is built if its source is installed.

mod systems;

use std::{
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader},
    mem,
    path::PathBuf,
    process::Stdio,
    time::Instant,
};

pub(crate) use self::systems::WITH_RING;
use self::systems::{SYSTEMS, Shim, Skip, System, WINE};
use super::{
    size::target as target_folder,
    small::{builds_library, is_missing, step_with},
    step::{Step, run_all, say},
};

/// What became of a target.
#[derive(Debug, PartialEq)]
enum Outcome {
    Ran { counts: Counts, seconds: f64 },
    NotBuilt,
    Skipped(String),
}

/// Tests, as the harness counts them.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    passed: usize,
    failed: usize,
    /// Those that are ignored everywhere, those of [`System::skips`], and those that asked for
    /// something of [`System::lacks`].
    skipped: usize,
    /// Programs that ended without a result, and cargo's other failures.
    broken: bool,
}

/// Reads what the harness prints.
struct Reader {
    counts: Counts,
    lacks: &'static [&'static str],
    /// The failed tests that asked for something that the system lacks: of this program, and of
    /// those before.
    lacking: usize,
    lacked: usize,
    /// Whether the next panic is the first of a failed test, and whether its message comes next.
    panics: Option<bool>,
    /// Programs that have begun, and not ended with a result.
    running: usize,
}

/// Runs the tests on each target, or on those whose names contain the filter; of all packages, or
/// of one. Prints a table, and returns the status to exit with.
pub(crate) fn run(filter: &str, package: Option<&str>) -> i32 {
    let mut rows = Vec::new();
    for system in SYSTEMS
        .iter()
        .filter(|system| system.target.contains(filter))
    {
        let packages = system.packages.iter().copied();
        let packages: Vec<_> = packages
            .filter(|name| package.is_none_or(|only| only == *name))
            .collect();
        if !packages.is_empty() {
            rows.push((system, system.outcome(&packages)));
        }
    }
    if rows.is_empty() {
        say("there is no such target, or no such package for it");
        return 2;
    }
    print!("{}", table(&rows));
    i32::from(rows.iter().any(|(_, outcome)| outcome.has_failed()))
}

/// Runs the unit tests of `joint` on the first target that is installed with its tools. No std is
/// built for that.
pub(crate) fn smoke() -> i32 {
    match SYSTEMS
        .iter()
        .find(|system| system.has_tools() == Ok(false))
    {
        Some(system) => {
            let tests = system.step(false, &["joint"], &["test", "--lib"]);
            run_all(system.target, &[tests])
        }
        None => {
            say(
                "skipped: no other target is installed whose programs run here; \
                 `cargo xtask portable --run` says what is missing",
            );
            0
        }
    }
}

impl Outcome {
    fn has_failed(&self) -> bool {
        match self {
            Self::Ran { counts, .. } => counts.failed > 0 || counts.broken,
            Self::NotBuilt => true,
            Self::Skipped(_) => false,
        }
    }
}

impl System {
    fn outcome(&self, packages: &[&str]) -> Outcome {
        let builds_std = match self.has_tools() {
            Ok(builds_std) => builds_std,
            Err(why) => return Outcome::Skipped(why),
        };
        // Where the folder cannot be made, building the shim fails too, and says why.
        let _ = fs::create_dir_all(shims());
        let shim = self.shim.iter().map(Shim::build);
        // As programs, which some tests run.
        let examples = self.step(builds_std, packages, &["build", "--examples"]);
        let before: Vec<_> = shim.chain([examples]).collect();
        if run_all(self.target, &before) != 0 {
            return Outcome::NotBuilt;
        }
        let start = Instant::now();
        let tests = self.step(
            builds_std,
            packages,
            &["test", "--lib", "--bins", "--tests"],
        );
        Outcome::Ran {
            counts: counts(&tests, self.lacks),
            seconds: start.elapsed().as_secs_f64(),
        }
    }

    /// Returns whether std has to be built, or else what is missing.
    fn has_tools(&self) -> Result<bool, String> {
        let emulator = self
            .emulator
            .split(' ')
            .next()
            .filter(|name| !name.is_empty());
        let tools = [Some(self.compiler), emulator, self.needs];
        if let Some(missing) = tools.into_iter().flatten().find(|tool| is_missing(tool)) {
            return Err(format!(
                "there is no {missing}; to get it: apt-get install {}",
                self.install
            ));
        }
        Ok(builds_library(self.target, "libstd-")? || !self.takes_installed_std)
    }

    fn step(&self, builds_std: bool, packages: &[&str], args: &[&'static str]) -> Step {
        let folder = folder();
        let of_target = |key: &str, value: &str| format!("target.{}.{key}={value:?}", self.target);
        let config = [
            of_target("linker", self.compiler),
            of_target("runner", self.emulator),
        ];
        let mut all = vec![args[0], "--target", self.target];
        all.extend(["--target-dir", folder.to_str().unwrap_or("target/foreign")]);
        // The lines would be the greater part of what is written, and an emulator has enough to do.
        all.extend(["--config", "profile.dev.debug=false"]);
        all.extend(["--config", "profile.dev.opt-level=1", "--all-features"]);
        let has_emulator = usize::from(!self.emulator.is_empty());
        for config in &config[..=has_emulator] {
            all.extend(["--config", config]);
        }
        for package in packages {
            all.extend(["--package", package]);
        }
        all.extend(&args[1..]);
        if args[0] == "test" {
            all.extend(["--no-fail-fast", "--", "--exact", "--test-threads=2"]);
            let skipped = self.skips.iter().flat_map(|skip| skip.tests);
            all.extend(skipped.flat_map(|test| ["--skip", test]));
        }
        let parts = builds_std.then_some("std,panic_unwind,proc_macro,test");
        let mut step = step_with(parts, args[0], &all).env("TARGET_CC", self.compiler);
        if let (true, Some(shim)) = (builds_std, &self.shim) {
            step = step.flags("RUSTFLAGS", &self.flags.replace("SHIM", &shim.path()));
        }
        if self.emulator != WINE {
            return step.env("JOINT_EMULATOR", self.emulator);
        }
        // Programs in there start others by themselves, and find libraries by a path of their own.
        let path = format!("Z:{}", shims().display()).replace('/', "\\");
        step.env("WINEDEBUG", "-all")
            .env("WINEPREFIX", shims().join(WINE).to_string_lossy())
            .env("WINEPATH", path)
    }
}

impl Shim {
    fn path(&self) -> String {
        shims().join(self.output).to_string_lossy().into_owned()
    }

    fn build(&self) -> Step {
        let path = self.path();
        let args = [&["-o", &path, self.source], self.args].concat();
        Step::program("shim", self.compiler, &args)
    }
}

fn shims() -> PathBuf {
    folder().join("shims")
}

fn folder() -> PathBuf {
    target_folder().join("foreign")
}

/// Runs the tests, shows what they print, and counts them.
fn counts(step: &Step, lacks: &'static [&'static str]) -> Counts {
    say(&format!("tests: {step}"));
    let mut reader = Reader::new(lacks);
    let Ok(mut child) = step.command().stdout(Stdio::piped()).spawn() else {
        return reader.end(false);
    };
    let lines = child.stdout.take().map(BufReader::new);
    for line in lines
        .into_iter()
        .flat_map(BufRead::lines)
        .map_while(Result::ok)
    {
        println!("{line}");
        reader.read(&line);
    }
    reader.end(child.wait().is_ok_and(|status| status.success()))
}

impl Reader {
    fn new(lacks: &'static [&'static str]) -> Self {
        Self {
            counts: Counts::default(),
            lacks,
            lacking: 0,
            lacked: 0,
            panics: None,
            running: 0,
        }
    }

    fn read(&mut self, line: &str) {
        if line.starts_with("running ") {
            self.running += 1;
        } else if line.starts_with("---- ") && line.ends_with(" stdout ----") {
            self.panics = Some(false);
        } else if self.panics == Some(true) {
            self.panics = None;
            self.lacking += usize::from(self.lacks.iter().any(|lack| line.starts_with(lack)));
        } else if self.panics.is_some() && line.contains(" panicked at ") {
            self.panics = Some(true);
        } else if let Some(result) = line.strip_prefix("test result: ") {
            self.running = self.running.saturating_sub(1);
            self.add(result);
        }
    }

    fn add(&mut self, result: &str) {
        let counts = &mut self.counts;
        let (_, parts) = result.split_once(". ").unwrap_or_default();
        for part in parts.split("; ") {
            let (count, what) = part.split_once(' ').unwrap_or_default();
            let count: usize = count.parse().unwrap_or(0);
            match what {
                "passed" => counts.passed += count,
                "failed" => counts.failed += count - self.lacking.min(count),
                "ignored" | "filtered out" => counts.skipped += count,
                _ => {}
            }
        }
        counts.skipped += self.lacking;
        self.lacked += mem::take(&mut self.lacking);
    }

    fn end(mut self, ended_well: bool) -> Counts {
        let has_failures = self.counts.failed + self.lacked > 0;
        self.counts.broken = self.running > 0 || !ended_well && !has_failures;
        self.counts
    }
}

fn table(rows: &[(&System, Outcome)]) -> String {
    let mut out = "| target | system | run by | tests passed | failed | skipped |\n\
                   |---|---|---|---:|---:|---:|\n"
        .to_owned();
    for (system, outcome) in rows {
        let run_by = system
            .emulator
            .split(' ')
            .next()
            .filter(|name| !name.is_empty());
        let _ = write!(
            out,
            "| {} | {} | {} | ",
            system.target,
            system.system,
            run_by.unwrap_or("this machine")
        );
        let _ = match outcome {
            Outcome::Ran { counts, seconds } => writeln!(
                out,
                "{} in {seconds:.0} s | {}{} | {} |",
                counts.passed,
                counts.failed,
                if counts.broken {
                    ", and something broke off"
                } else {
                    ""
                },
                counts.skipped
            ),
            Outcome::NotBuilt => writeln!(out, "none: it was not built | | |"),
            Outcome::Skipped(why) => writeln!(out, "none: {why} | | |"),
        };
    }
    for (system, outcome) in rows {
        if let Outcome::Ran { .. } = outcome {
            for Skip { why, tests } in system.skips {
                let _ = writeln!(out, "{}: {why}: {}", system.target, tests.join(", "));
            }
            if !system.lacks.is_empty() {
                let lacks = system.lacks.join("` or `");
                let _ = writeln!(out, "{}: skipped that panic with `{lacks}`", system.target);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{systems::LINUX, *};

    #[test]
    fn a_missing_tool_is_named_with_the_command_that_installs_it() {
        let system = System {
            target: "a-b-c",
            compiler: "cargo",
            emulator: "no-such-program -L x",
            install: "this that",
            ..LINUX
        };
        let why = system.has_tools().expect_err("nobody has that");
        assert_eq!(
            why,
            "there is no no-such-program; to get it: apt-get install this that"
        );
    }

    fn read(lacks: &'static [&'static str], lines: &[&str]) -> Counts {
        let mut reader = Reader::new(lacks);
        lines.iter().for_each(|line| reader.read(line));
        reader.end(false)
    }

    #[test]
    fn the_harness_is_read() {
        let lines = [
            "running 3 tests",
            "test a ... ok",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.1s",
            "running 4 tests",
            "test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s",
        ];
        let all = Counts {
            passed: 13,
            failed: 3,
            skipped: 3,
            broken: false,
        };
        assert_eq!(read(&[], &lines), all);
        assert!(
            read(&[], &lines[..4]).broken,
            "a program that ends without a result"
        );
        assert!(read(&[], &lines[..3]).broken, "cargo fails");
    }

    #[test]
    fn a_test_that_panics_first_for_what_the_system_lacks_is_skipped() {
        let lines = [
            "running 3 tests",
            "---- a stdout ----",
            "",
            "thread 'a' (1) panicked at a.rs:1:1:",
            "no threads: 6",
            "---- b stdout ----",
            "thread 'b' (1) panicked at a.rs:1:1:",
            "left is not right",
            "thread 'b' (1) panicked at a.rs:1:1:",
            "no threads: 6",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
        ];
        let all = Counts {
            passed: 1,
            failed: 1,
            skipped: 1,
            broken: false,
        };
        assert_eq!(read(&["no threads"], &lines), all);
        assert_eq!(read(&[], &lines).failed, 2);
    }
}
