//! Grades a student's homework by the models of the folder `homework`, and a student's models by
//! changes of the solution there.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{cargo, here, target, tests, workspace};

fn folder() -> PathBuf {
    here().join("homework")
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Grades the given file, or the files `solution.rs` and `models.rs` of a folder. Returns whether
/// nothing is wrong.
pub(crate) fn grade(name: &str, path: &Path, explains: bool) -> Result<bool, String> {
    let homework = folder().join(name);
    if !homework.is_dir() {
        return Err(format!(
            "there is no homework {name} in {}",
            folder().display()
        ));
    }
    let (solution, models) = match path.is_dir() {
        true => (path.join("solution.rs"), path.join("models.rs")),
        false => (path.to_path_buf(), PathBuf::new()),
    };
    if !solution.is_file() && !models.is_file() {
        return Err(format!("{}: nothing to grade", path.display()));
    }
    let mut passes = true;
    if solution.is_file() {
        let package = Package::write(name, &read(&solution)?, &read(&homework.join("models.rs"))?)?;
        println!("\n{}", solution.display());
        passes &= package.passes(explains)?;
        if passes {
            let changes = package.changes()?;
            println!("{}", changes.of_a_solution());
        }
    }
    if models.is_file() {
        let package = Package::write(name, &read(&homework.join("solution.rs"))?, &read(&models)?)?;
        println!("\n{}", models.display());
        let on_the_solution = package.passes(explains)?;
        passes &= on_the_solution;
        if on_the_solution {
            let changes = package.changes()?;
            println!("{}", changes.of_models());
            passes &= changes.survivors.is_empty();
        }
    }
    Ok(passes)
}

/// Whether each homework's own files are right: what is given fails, and the solution passes, also
/// with the strongest ordering everywhere or with another operation, and leaves no change that its
/// models do not find.
pub(crate) fn check() -> Result<bool, String> {
    for name in ["lock", "queue", "arc"] {
        let file = |file: &str| folder().join(name).join(file);
        if grade(name, &file("given.rs"), false)? {
            return Err(format!("what is given for {name} passes"));
        }
        if !grade(name, &folder().join(name), false)? {
            return Err(format!(
                "the solution of {name}, or its models, are not good enough"
            ));
        }
        let solution = read(&file("solution.rs"))?;
        let models = read(&file("models.rs"))?;
        let swapped = solution.replace(EXCHANGE, "swap(true, Ordering::Acquire);\n        !taken");
        if swapped != solution {
            println!("\n{name} with swap");
            if !Package::write(name, &swapped, &models)?.passes(false)? {
                return Err(format!("the solution of {name} does not pass with swap"));
            }
        }
        println!("\n{name} with SeqCst");
        let package = Package::write(name, &strongest(&solution), &models)?;
        if !package.passes(false)? {
            return Err(format!("the solution of {name} does not pass with SeqCst"));
        }
        let changes = package.changes()?;
        println!("{}", changes.of_a_solution());
        if changes.survivors.is_empty() {
            return Err(format!(
                "{name}: no ordering is found to be stronger than it has to be"
            ));
        }
    }
    Ok(true)
}

/// The lock file of the workspace without loom, so that cargo takes joint-check in its place, and
/// all others in the same versions.
fn without_loom(lock: &str) -> String {
    let kept = lock
        .split("\n\n")
        .filter(|package| !package.contains("name = \"loom\"\n"));
    kept.collect::<Vec<_>>().join("\n\n")
}

/// How the lock is taken, for which a swap would do.
const EXCHANGE: &str = "compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()";

/// The same source with `SeqCst` in the place of each other ordering.
fn strongest(source: &str) -> String {
    let weaker = ["Relaxed", "Acquire", "Release", "AcqRel"];
    weaker.iter().fold(source.to_owned(), |source, ordering| {
        source.replace(&format!("Ordering::{ordering}"), "Ordering::SeqCst")
    })
}

/// A package outside the workspace: a solution, and the models that it has to pass.
struct Package(PathBuf);

impl Package {
    fn write(name: &str, solution: &str, models: &str) -> Result<Self, String> {
        let folder = target().join("grade").join(name);
        let [mutants, check] =
            ["joint-mutants", "joint-check/as-loom"].map(|folder| workspace().join(folder));
        let manifest = format!(
            "[package]\nname = \"homework\"\nedition = \"2024\"\n\n[dependencies]\n\
             loom = {{ package = \"joint-mutants\", path = {mutants:?} }}\n\n[workspace]\n\n\
             [patch.crates-io]\nloom = {{ path = {check:?} }}\n\n\
             [profile.release]\nopt-level = 0 # the models take less time than the checker would\n"
        );
        let lock = without_loom(&read(&workspace().join("Cargo.lock"))?);
        for (path, content) in [
            ("Cargo.toml", manifest.as_str()),
            ("Cargo.lock", &lock),
            ("src/lib.rs", solution),
            ("tests/models.rs", models),
            // No change has a reason to survive.
            ("ordering-mutants.txt", ""),
        ] {
            let path = folder.join(path);
            let written = fs::create_dir_all(path.parent().unwrap_or(&folder))
                .and_then(|()| fs::write(&path, content));
            written.map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(Self(folder))
    }

    fn models(&self) -> Command {
        let mut cargo = cargo(&self.0, "test --quiet --release --offline --test models");
        cargo
            .env("CARGO_TARGET_DIR", self.0.with_file_name("target"))
            .env("RUSTFLAGS", "--cfg loom");
        cargo
    }

    /// Runs each model in a process of its own, prints a row for each, and returns whether all
    /// pass. If it explains, a failing model also shows what it said.
    fn passes(&self, explains: bool) -> Result<bool, String> {
        let mut all = true;
        for test in tests(self.models())? {
            let mut models = self.models();
            models.args(["--", &test, "--exact"]);
            let output = models.env("RUST_BACKTRACE", "0").output();
            let output = output.map_err(|error| format!("{test}: {error}"))?;
            let passes = output.status.success();
            println!("  {test:<66} {}", if passes { "passes" } else { "fails" });
            if explains && !passes {
                println!("\n{}\n", panic_in(&String::from_utf8_lossy(&output.stdout)));
            }
            all &= passes;
        }
        Ok(all)
    }

    /// Changes one operation of the solution at a time, and runs the models against it.
    fn changes(&self) -> Result<Changes, String> {
        let build = "build --quiet --offline -p joint-mutants";
        let built = cargo(workspace(), build).status();
        if !built.is_ok_and(|status| status.success()) {
            return Err("the command ordering-mutants was not built".to_owned());
        }
        let program = target().join("debug/cargo-ordering-mutants");
        let output = Command::new(&program)
            .args(["ordering-mutants", "--place", "src/lib.rs", "--"])
            .args(["--release", "--offline", "--test", "models"])
            .current_dir(&self.0)
            .env("CARGO_TARGET_DIR", self.0.with_file_name("target"))
            .env_remove("RUSTFLAGS")
            .output();
        let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        match output.status.code() {
            Some(0 | 1) => Ok(Changes::of(&printed)),
            _ => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }
}

/// What the panic of a failing test said, or all that it printed if it did not panic.
fn panic_in(printed: &str) -> &str {
    let after = printed.split_once(" panicked at ");
    let message = after.and_then(|(_, message)| Some(message.split_once('\n')?.1));
    let message = message.and_then(|message| Some(message.split_once("\nnote: ")?.0));
    message.unwrap_or(printed).trim()
}

#[derive(Debug, PartialEq)]
struct Changes {
    tried: usize,
    /// Those that no model finds: the place, the line, the ordering and the change.
    survivors: Vec<String>,
}

impl Changes {
    fn of(table: &str) -> Self {
        let rows = table.lines().filter(|line| line.starts_with("| `"));
        let rows: Vec<Vec<_>> = rows.map(|row| row.split(" | ").collect()).collect();
        let survives = |row: &&Vec<&str>| row.get(4).is_some_and(|found| found.starts_with("**"));
        let shown = |row: &Vec<&str>| {
            let place = row[0]
                .trim_start_matches("| `src/lib.rs ")
                .trim_end_matches('`');
            format!("{place}, line {}: {} can be {}", row[1], row[2], row[3])
        };
        Self {
            tried: rows.len(),
            survivors: rows.iter().filter(survives).map(shown).collect(),
        }
    }

    fn listed(&self) -> String {
        let lines = self.survivors.iter().map(|line| format!("\n    {line}"));
        lines.collect()
    }

    fn of_a_solution(&self) -> String {
        match self.survivors.len() {
            0 => format!(
                "  right, and no ordering is stronger than it has to be ({} changes)",
                self.tried
            ),
            _ => format!("  right; these could be weaker:{}", self.listed()),
        }
    }

    fn of_models(&self) -> String {
        let found = self.tried - self.survivors.len();
        let rest = if self.survivors.is_empty() {
            ""
        } else {
            "; not found:"
        };
        format!(
            "  {found} of {} changes of the solution are found{rest}{}",
            self.tried,
            self.listed()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| place | line | ordering | change | found by | seconds |
|---|---|---|---|---|---|
| `src/lib.rs try_lock swap` | 28 | SeqCst | acquire | **survives** | 0.1 |
| `src/lib.rs try_lock swap` | 28 | SeqCst | split | `models::two` | 0.1 |

1 places, 3 tests, 2 changes tried: 1 found, 0 survive with a reason, 1 without
";

    #[test]
    fn the_message_of_a_panic_is_cut_out() {
        let printed = "\nthread 'a' (7) panicked at model.rs:1:9:\nrace\n\n 1 load\n\nnote: run\n";
        assert_eq!(panic_in(printed), "race\n\n 1 load");
        assert_eq!(panic_in("aborted\n"), "aborted");
    }

    #[test]
    fn survivors_are_read_from_the_table() {
        let changes = Changes::of(TABLE);
        let line = "try_lock swap, line 28: SeqCst can be acquire";
        assert_eq!(
            (changes.tried, &*changes.survivors),
            (2, &[line.to_owned()][..])
        );
        let said = changes.of_a_solution();
        assert_eq!(said, format!("  right; these could be weaker:\n    {line}"));
        let said = changes.of_models();
        let expected = "  1 of 2 changes of the solution are found; not found:\n    ";
        assert_eq!(said, format!("{expected}{line}"));
    }
}
