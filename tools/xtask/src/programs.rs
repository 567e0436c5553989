//! The programs that the models are built into, and the tests in each of them.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use super::step::{Step, root};

/// What cargo does to build models. In release, because a model runs its closure thousands of
/// times.
pub(crate) const BUILD: [&str; 4] = [
    "test",
    "--release",
    "--no-run",
    "--message-format=json-render-diagnostics",
];

/// Builds the models.
pub(crate) fn build() -> Step {
    Step::cargo("models", &BUILD).in_models()
}

/// One of the programs that tests are built into.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

/// Runs a step that builds programs, and returns those with tests.
pub(crate) fn programs_of(build: &Step) -> Result<Vec<Program>, String> {
    let output = build.command().stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("could not start cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("the models were not built: {}", output.status));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    Ok(printed.lines().filter_map(program).collect())
}

/// The program that one of cargo's messages reports.
fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_test = message["profile"]["test"].as_bool()?;
    let path = message["executable"].as_str()?.into();
    let name = message["target"]["name"].as_str()?.to_owned();
    is_test.then_some(Program { name, path })
}

impl Program {
    /// The names of its tests.
    pub(crate) fn tests(&self) -> Result<Vec<String>, String> {
        let failed = |why: String| format!("the tests of {} were not listed: {why}", self.name);
        let output = Command::new(&self.path).arg("--list").output();
        let output = output.map_err(|error: io::Error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(output.status.to_string()));
        }
        let printed = String::from_utf8_lossy(&output.stdout);
        let names = printed
            .lines()
            .filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    }
}

/// A run of one test, in a process of its own, in the folder in which cargo runs it.
pub(crate) fn one_test(program: &Path, name: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args([name, "--exact"])
        .current_dir(root().join("loom-tests"))
        .stdin(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_read_from_cargos_messages() {
        let test = r#"{"reason":"compiler-artifact","target":{"name":"sleep"},"profile":{"test":true},"executable":"/x/sleep-1"}"#;
        let found = program(test).expect("a test");
        assert_eq!((&*found.name, found.path), ("sleep", "/x/sleep-1".into()));
        for other in [
            r#"{"reason":"compiler-artifact","target":{"name":"joint"},"profile":{"test":false},"executable":null}"#,
            r#"{"reason":"build-finished","success":true}"#,
            "Compiling",
        ] {
            assert!(program(other).is_none(), "{other}");
        }
    }
}
