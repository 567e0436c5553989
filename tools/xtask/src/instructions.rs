//! How many instructions each path takes: the program of `benches/instructions`, counted by
//! callgrind.
//!
//! Each row runs twice, with two numbers of repetitions. The difference of the two counts, divided
//! by the difference of the numbers, is free of the program's start and end. The count is that of
//! all threads. A worker acts by the clock in places, so a row of the executor can differ by a
//! percent from run to run.

use std::{
    env,
    path::Path,
    process::{Command, Stdio},
};

use super::{
    size::target,
    step::{root, say},
};

/// How often each row is repeated.
const TIMES: [u32; 2] = [2_000, 22_000];

/// The columns of the table: the name, and the value of the profile's `lto`.
const BUILDS: [(&str, &str); 2] = [("fat LTO", "\"fat\""), ("without LTO", "\"off\"")];

/// Builds the program, prints the table, and returns the status to exit with.
pub(crate) fn run(only_without_lto: bool) -> i32 {
    let valgrind = Command::new("valgrind").arg("--version").output();
    if !valgrind.is_ok_and(|output| output.status.success()) {
        say("instructions skipped: there is no valgrind");
        return 0;
    }
    match table(&BUILDS[usize::from(only_without_lto)..]) {
        Ok(table) => {
            print!("{table}");
            0
        }
        Err(why) => {
            say(&format!("instructions failed: {why}"));
            1
        }
    }
}

fn table(builds: &[(&str, &str)]) -> Result<String, String> {
    let mut titles = Vec::new();
    let mut columns = Vec::new();
    for (name, lto) in builds {
        let folder = target().join("instructions").join(name.replace(' ', "-"));
        build(lto, &folder)?;
        let program = folder.join("release/joint-instructions");
        titles = lines(&mut Command::new(&program))?;
        let counts = titles.iter().map(|row| per_operation(&program, row));
        columns.push(counts.collect::<Result<Vec<_>, _>>()?);
    }
    let names: Vec<_> = builds.iter().map(|(name, _)| *name).collect();
    Ok(rendered(&names, &titles, &columns))
}

fn rendered(names: &[&str], titles: &[String], columns: &[Vec<f64>]) -> String {
    let mut out = format!(
        "| instructions of one operation | {} |\n",
        names.join(" | ")
    );
    out += &format!("|---|{}\n", "---|".repeat(names.len()));
    for (row, title) in titles.iter().enumerate() {
        let cells = columns.iter().map(|column| format!("{:.0}", column[row]));
        let cells: Vec<_> = cells.collect();
        out += &format!("| {title} | {} |\n", cells.join(" | "));
    }
    out
}

fn build(lto: &str, folder: &Path) -> Result<(), String> {
    let cargo = env::var_os("CARGO").unwrap_or("cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--profile", "bench"])
        .args(["--package", "joint-instructions"])
        .args(["--config", &format!("profile.bench.lto={lto}")])
        .arg("--target-dir")
        .arg(folder)
        .current_dir(root())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo build: {status}")),
        Err(error) => Err(format!("could not start cargo: {error}")),
    }
}

/// Returns the lines that a program prints.
fn lines(command: &mut Command) -> Result<Vec<String>, String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("could not start {command:?}: {error}"))?;
    match output.status.success() {
        true => Ok((String::from_utf8_lossy(&output.stdout).lines())
            .map(str::to_owned)
            .collect()),
        false => Err(format!("{command:?}: {}", output.status)),
    }
}

fn per_operation(program: &Path, row: &str) -> Result<f64, String> {
    let [few, many] = TIMES;
    let all = f64::from(many - few);
    Ok((counted(program, row, many)? - counted(program, row, few)?) / all)
}

/// The instructions of one run.
fn counted(program: &Path, row: &str, times: u32) -> Result<f64, String> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([row, &times.to_string()])
        .output();
    let output = output.map_err(|error| format!("could not start valgrind: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stderr);
    let count = collected(&printed).filter(|_| output.status.success());
    count.ok_or_else(|| format!("`{row}` was not counted: {printed}"))
}

/// The count in callgrind's report.
fn collected(report: &str) -> Option<f64> {
    let mut lines = report.lines();
    let count = lines.find_map(|line| line.split_once("Collected :"))?.1;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read() {
        let report = "==7== \n==7== Events    : Ir\n==7== Collected : 123456\n==7== \n";
        assert_eq!(collected(report), Some(123_456.0));
        assert_eq!(collected("==7== \n"), None);
    }

    #[test]
    fn each_build_is_a_column() {
        let titles = ["a".to_owned(), "b".to_owned()];
        let columns = [vec![1.4, 20.0], vec![2.6, 30.0]];
        let text = rendered(&["x", "y"], &titles, &columns);
        let table = "| instructions of one operation | x | y |\n|---|---|---|\n\
                     | a | 1 | 3 |\n| b | 20 | 30 |\n";
        assert_eq!(text, table);
    }
}
