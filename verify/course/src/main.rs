//! The commands of the course. In the folder `verify`:
//!
//! ```sh
//! cargo run -p course -- lesson [NUMBER]
//! cargo run -p course -- grade [--explain] HOMEWORK PATH | --check
//! cargo run -p course -- page [--check]
//! ```

mod checker;
mod grade;
mod lesson;
mod page;

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, exit},
};

const USAGE: &str = "\
Usage: cargo run -p course -- <command>

  lesson [NUMBER]        says whether an exercise of the lessons is solved; if not, shows the failing
                         execution and what is wrong; without a number, all of them in a line each
  grade [--explain] HOMEWORK PATH
                         grades a solution of lock, queue or arc, and says whether it could be weaker;
                         in a folder also models.rs, against changes of the solution in homework;
                         with --explain, shows the execution in which a model fails
  grade --check          grades the files in homework themselves
  page                   writes index.html, and compiles the checker in it if there is the target
                         wasm32-unknown-unknown
  page --check           compares the file with what would be written
  --help, --version      prints this, or the version

Exit code: 0 if all is right, 1 if not, 2 if the words are none of these or something could not be run.
";

fn main() {
    let words: Vec<_> = env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["lesson"] => lesson::run(None),
        ["lesson", number] => lesson::run(Some(number)),
        ["grade", "--check"] => grade::check(),
        ["grade", "--explain", name, path] => grade::grade(name, Path::new(path), true),
        ["grade", name, path] => grade::grade(name, Path::new(path), false),
        ["page"] => page::write(),
        ["page", "--check"] => page::check(),
        ["help" | "-h" | "--help"] => return print!("{USAGE}"),
        ["-V" | "--version"] => return println!("course {}", env!("CARGO_PKG_VERSION")),
        [] => Err(USAGE.to_owned()),
        _ => Err(format!("`{}` is no command\n\n{USAGE}", words.join(" "))),
    };
    match done {
        Ok(passes) => exit(i32::from(!passes)),
        Err(why) => {
            eprintln!("{why}");
            exit(2);
        }
    }
}

/// The folder of the course.
fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the checkers' workspace.
fn workspace() -> &'static Path {
    here().parent().unwrap_or(here())
}

/// The folder with all that is built.
fn target() -> PathBuf {
    workspace().join(env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into()))
}

/// A run of cargo in a folder, with the words of a line.
fn cargo(folder: &Path, line: &str) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(line.split(' ')).current_dir(folder);
    cargo
}

fn tests(mut cargo: Command) -> Result<Vec<String>, String> {
    let output = cargo.args(["--", "--list"]).output();
    let output = output.map_err(|error| format!("could not start cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let names = printed
        .lines()
        .filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(str::to_owned).collect())
}
