//! Every program of the workspace answers `--help` and `--version`, and refuses an option that it
//! does not have. `cargo xtask test` builds them first.

use std::{env, fs, path::Path, process::Command};

use serde_json::Value;

/// Packages without a command line: programs that show an executor and are run by tests as
/// functions; the benches, whose options criterion reads; what runs only under the model checker.
const WITHOUT: [&str; 3] = ["joint", "joint-benches", "loom-tests"];

/// The programs and the examples of the workspace, from the folder that they are built into.
fn programs() -> Vec<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version=1"]);
    let printed = cargo.output().expect("cargo runs").stdout;
    let metadata: Value = serde_json::from_slice(&printed).expect("JSON");
    let all = |value: &Value| value.as_array().expect("a list").clone();
    let is_with = |value: &Value| WITHOUT.iter().all(|name| value["name"] != *name);
    let packages = all(&metadata["packages"]).into_iter().filter(is_with);
    let targets = packages.flat_map(|package| all(&package["targets"]));
    let path = |target: Value| {
        let name = target["name"].as_str().expect("a name");
        match target["kind"][0].as_str() {
            Some("bin") => Some(name.to_owned()),
            Some("example") => Some(format!("examples/{name}")),
            _ => None,
        }
    };
    targets.filter_map(path).collect()
}

#[test]
fn each_program_has_help_and_a_version_and_refuses_the_rest() {
    let built = Path::new(env!("CARGO_BIN_EXE_xtask")).parent();
    let built = built.expect("a folder");
    let folder = env::temp_dir().join(format!("joint-programs-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let programs = programs();
    assert!(programs.len() >= 7, "{programs:?}");
    for program in programs {
        let name = program.rsplit('/').next().expect("a name");
        let version = format!("{name} {}\n", env!("CARGO_PKG_VERSION"));
        for (option, status, says) in [
            ("--help", 0, "Usage: "),
            ("--version", 0, version.as_str()),
            ("--nonsense", 2, "--nonsense"),
        ] {
            let path = built.join(format!("{program}{}", env::consts::EXE_SUFFIX));
            let output = Command::new(&path)
                .arg(option)
                .current_dir(&folder)
                .output();
            let output = output.unwrap_or_else(|error| {
                panic!("{}: {error}; `cargo xtask test` builds it", path.display())
            });
            assert_eq!(output.status.code(), Some(status), "{name} {option}");
            let [out, err] =
                [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
            let (said, silent) = if status == 0 { (out, err) } else { (err, out) };
            assert!(said.contains(says) && silent.is_empty(), "{said}{silent}");
            assert!(status == 0 || said.lines().count() == 1, "{said}");
            let mut written = fs::read_dir(&folder).expect("it is a folder");
            assert!(written.next().is_none(), "{name} {option} writes a file");
        }
    }
    fs::remove_dir(&folder).expect("it is empty");
}
