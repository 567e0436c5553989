//! Small machines: type-checks `joint` for those of [`CHECKED`]. Builds the example for a
//! Cortex-M4, `tools/compat/thumbv7em`, looks for an allocator in it, and runs it in an emulator.
//!
//! A target's library is the installed one, or is built if its source is installed (Debian's
//! `rust-src` has it). What is missing is named, and the rest is done.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use super::{
    portable::{Outcome, library_of},
    size::target as target_folder,
    step::{Step, root, run_all, say},
};

const TARGET: &str = "thumbv7em-none-eabi";
const FOLDER: &str = "tools/compat/thumbv7em";
const EMULATOR: &str = "qemu-system-arm";

/// What the example prints: two tasks that wait for timers, while a fourth finds the pool full.
const PRINTS: &str = "full\ntick\ntock\ntick\ntick\ntock\nlate\ndone\n";

/// Parts of the names of symbols that need an allocator, or that format text.
const NOT_IN_IT: [&str; 4] = ["__rust_alloc", "__rust_dealloc", "4core3fmt", "core..fmt"];

/// A target for which `joint` is only type-checked.
struct Checked {
    target: &'static str,
    system: &'static str,
    /// The part of the standard library that it needs, and the parts to build if there is only
    /// their source.
    library: &'static str,
    parts: &'static str,
    features: &'static [&'static str],
    flags: &'static str,
}

const CHECKED: [Checked; 2] = [
    Checked {
        target: "thumbv6m-none-eabi",
        system: "none, a Cortex-M0, without a compare-exchange",
        library: "liballoc-",
        parts: "core,alloc",
        features: &[
            "--no-default-features",
            "--features",
            "alloc,portable-atomic",
        ],
        flags: "-D warnings --cfg portable_atomic_unsafe_assume_single_core",
    },
    Checked {
        target: "wasm32-unknown-unknown",
        system: "WebAssembly",
        library: "libstd-",
        parts: "std,panic_abort",
        features: &[],
        flags: "-D warnings",
    },
];

pub(crate) fn rows() -> Vec<(&'static str, &'static str, Outcome)> {
    let checked = CHECKED.iter();
    let mut rows: Vec<_> = checked
        .map(|checked| (checked.target, checked.system, checked.outcome()))
        .collect();
    rows.push((TARGET, "none, a Cortex-M4", example()));
    rows
}

/// Builds and runs the example, if what it needs is installed.
pub(crate) fn smoke() -> i32 {
    match example() {
        Outcome::Failed { status } => status,
        Outcome::Skipped { why } | Outcome::NotRun { why } => {
            say(&format!("skipped: {TARGET}: {why}"));
            0
        }
        Outcome::Checked { .. } | Outcome::Ran { .. } => 0,
    }
}

impl Checked {
    fn outcome(&self) -> Outcome {
        let builds = match builds_library(self.target, self.library) {
            Ok(builds) => builds,
            Err(why) => return Outcome::Skipped { why },
        };
        let start = Instant::now();
        match run_all(self.target, &[self.step(builds)]) {
            0 => Outcome::Checked {
                seconds: start.elapsed().as_secs_f64(),
            },
            status => Outcome::Failed { status },
        }
    }

    fn step(&self, builds: bool) -> Step {
        let args = [
            "check",
            "--target",
            self.target,
            "--package",
            "joint",
            "--lib",
        ];
        let args = [&args[..], self.features].concat();
        step_with(builds.then_some(self.parts), "library", &args).flags("RUSTFLAGS", self.flags)
    }
}

fn example() -> Outcome {
    let tools = match Tools::find() {
        Ok(tools) => tools,
        Err(why) => return Outcome::Skipped { why },
    };
    let start = Instant::now();
    // With the versions of the repository.
    let lock = fs::copy(
        root().join("Cargo.lock"),
        root().join(FOLDER).join("Cargo.lock"),
    );
    if let Err(error) = lock {
        return failed(&format!("Cargo.lock: {error}"), 1);
    }
    let status = run_all(TARGET, &[tools.step("example", "build")]);
    if status != 0 {
        return Outcome::Failed { status };
    }
    let found = match fs::read(program()) {
        Ok(program) => symbols(&program),
        Err(error) => return failed(&format!("{}: {error}", program().display()), 1),
    };
    if !found.is_empty() {
        return failed(&format!("the program has {}", found.join(", ")), 1);
    }
    if is_missing(EMULATOR) {
        let why = format!("{EMULATOR} is not installed; to get it: apt-get install {EMULATOR}");
        return Outcome::NotRun { why };
    }
    let seconds = start.elapsed().as_secs_f64();
    match run(&tools) {
        Ok(printed) if printed == PRINTS => Outcome::Ran { seconds },
        Ok(printed) => failed(&format!("it printed {printed:?}, not {PRINTS:?}"), 1),
        Err((why, status)) => failed(&why, status),
    }
}

fn failed(why: &str, status: i32) -> Outcome {
    say(&format!("{TARGET}: {why}"));
    Outcome::Failed { status }
}

fn run(tools: &Tools) -> Result<String, (String, i32)> {
    let output = tools.step("run", "run").command().output();
    let output = output.map_err(|error| (error.to_string(), 1))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let status = output.status.code().unwrap_or(1);
        return Err((format!("it failed: {said}"), status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Those of [`NOT_IN_IT`] that the program has.
fn symbols(program: &[u8]) -> Vec<&'static str> {
    let has = |name: &&str| {
        let mut windows = program.windows(name.len());
        windows.any(|window| window == name.as_bytes())
    };
    NOT_IN_IT.into_iter().filter(has).collect()
}

fn output_folder() -> PathBuf {
    target_folder().join("thumbv7em")
}

fn program() -> PathBuf {
    output_folder().join(TARGET).join("release/thumbv7em")
}

pub(crate) fn is_missing(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output();
    found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// What the example is built with.
struct Tools {
    /// Whether `core` is built too.
    builds_core: bool,
    /// `None` for the compiler's own.
    linker: Option<&'static str>,
}

impl Tools {
    fn find() -> Result<Self, String> {
        let builds_core = builds_library(TARGET, "libcore-")?;
        let linker = if has_linker()? {
            None
        } else if is_missing("ld.lld") {
            return Err("there is no ld.lld; to get it: apt-get install lld".to_owned());
        } else {
            Some("ld.lld")
        };
        Ok(Self {
            builds_core,
            linker,
        })
    }

    fn step(&self, name: &'static str, command: &str) -> Step {
        let folder = output_folder();
        let args = [
            command,
            "--release",
            "--target-dir",
            &folder.to_string_lossy(),
        ];
        let core = self.builds_core.then_some("core");
        let step = step_with(core, name, &args).in_folder(FOLDER);
        match self.linker {
            Some(linker) => step.env("CARGO_TARGET_THUMBV7EM_NONE_EABI_LINKER", linker),
            None => step,
        }
    }
}

/// Whether the compiler has a linker of its own. Debian has it under another name.
pub(crate) fn has_linker() -> Result<bool, String> {
    let (sysroot, host) = (printed("sysroot")?, printed("host-tuple")?);
    Ok(Path::new(&format!("{sysroot}/lib/rustlib/{host}/bin/rust-lld")).exists())
}

/// Returns whether the target's library has to be built, or else what is missing for that.
pub(crate) fn builds_library(target: &str, part: &str) -> Result<bool, String> {
    let Err(why) = library_of(target, part) else {
        return Ok(false);
    };
    let source = Path::new(&printed("sysroot")?).join("lib/rustlib/src/rust/library/core");
    match source.exists() {
        true => Ok(true),
        false => Err(why + ", or the source: rustup component add rust-src"),
    }
}

/// A step of cargo, which builds these parts of the standard library too.
pub(crate) fn step_with(parts: Option<&str>, name: &'static str, args: &[&str]) -> Step {
    let Some(parts) = parts else {
        return Step::cargo(name, args);
    };
    let parts = format!("-Zbuild-std={parts}");
    Step::cargo(name, &[&args[..1], &[&parts], &args[1..]].concat()).env("RUSTC_BOOTSTRAP", "1")
}

/// What the compiler prints about itself.
fn printed(what: &str) -> Result<String, String> {
    let output = Command::new("rustc").args(["--print", what]).output();
    let output = output.map_err(|error| format!("could not start rustc: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocator_is_found_in_mangled_names() {
        let names = b"\0_RNvCs_7___rustc12___rust_alloc\0_ZN4core3fmt5write\0";
        assert_eq!(symbols(names), ["__rust_alloc", "4core3fmt"]);
        assert!(symbols(b"_RNvNtCs_5joint4task5spawn").is_empty());
    }
}
