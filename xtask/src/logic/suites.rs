//! Which tests and models could find a change of the source. They are read from the folders of the
//! tests, and from the index of handshakes in CONTRIBUTING.md.

use std::{collections::BTreeSet, fs, path::Path};

use crate::step::{Step, root};

/// A package that is shipped.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Package {
    pub(super) name: &'static str,
    /// Its folder, with a slash at the end, or nothing for the root.
    pub(super) folder: &'static str,
    /// The packages whose integration tests run it, in this order.
    tested_by: &'static [&'static str],
}

pub(super) const PACKAGES: [Package; 6] = [
    Package {
        name: "joint-executor",
        folder: "executor/",
        tested_by: &["joint-executor"],
    },
    Package {
        name: "joint-flow",
        folder: "flow/",
        tested_by: &["joint-flow"],
    },
    Package {
        name: "joint-ring",
        folder: "ring/",
        tested_by: &["joint-ring"],
    },
    Package {
        name: "joint-sim",
        folder: "sim/",
        tested_by: &["joint-sim"],
    },
    Package {
        name: "joint-switch",
        folder: "switch/",
        tested_by: &["joint", "joint-executor"],
    },
    Package {
        name: "joint",
        folder: "",
        tested_by: &["joint", "joint-executor"],
    },
];

/// Takes longer than all other unit tests together, and runs only the timers.
const SLOW: &str = "a_million_are_fired_in_order_and_their_memory_is_given_back";
const RUN_BY_SLOW: &str = "executor/src/driver/timers";

/// The integration tests that read the source, or run examples, which are not built. The soak takes
/// too long.
const NOT_RUN: [&str; 4] = ["golden", "soak", "tidy", "treehash"];

/// The models that are about no file.
const ABOUT_MODELS: [&str; 5] = ["golden", "guide", "lab_matrix", "lab_source", "lessons"];

/// Without debug information, because the changed code is not debugged.
const QUICK: [&str; 4] = [
    "--cargo-arg",
    "--config",
    "--cargo-arg",
    "profile.dev.debug=0",
];

/// What can find a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// With the slow one among them, or without it.
    Units {
        slow: bool,
    },
    /// The integration tests of this package.
    Tests(&'static str),
    Models,
}

/// Tests that are run together, for changes of one package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Suite {
    package: &'static str,
    kind: Kind,
    /// None for the unit tests.
    targets: Vec<String>,
}

impl Suite {
    pub(super) fn name(&self) -> &'static str {
        match self.kind {
            Kind::Units { .. } => "unit tests",
            Kind::Tests(_) => "integration tests",
            Kind::Models => "models",
        }
    }

    /// Tries the changes that the configuration file names.
    pub(super) fn step(&self, config: &Path, folder: &Path) -> Step {
        let (config, output) = (config.to_string_lossy(), folder.to_string_lossy());
        let mut args = vec!["mutants", "--package", self.package];
        args.extend(["--config", &config, "--output", &output]);
        // Most changes that do not end are not found in any other way.
        args.extend(["--minimum-test-timeout", "10"]);
        args.extend(QUICK);
        // Also for the build, which compiles all tests if only the run is told.
        for target in &self.targets {
            args.extend(["--cargo-arg", "--test", "--cargo-arg", target]);
        }
        // In release mode, because a model runs its closure thousands of times. The package is
        // named twice: the first says what is run, the second what is built.
        let elsewhere = match self.kind {
            Kind::Units { .. } => {
                args.extend(["--cargo-arg", "--lib", "--all-features"]);
                None
            }
            Kind::Tests(package) => {
                args.push("--all-features");
                (package != self.package).then_some(package)
            }
            Kind::Models => {
                args.extend(["--profile", "release"]);
                Some("loom-tests")
            }
        };
        if let Some(package) = elsewhere {
            args.extend(["--test-package", package]);
            args.extend(["--cargo-arg", "--package", "--cargo-arg", package]);
        }
        // For the tests themselves, and therefore last.
        if let Kind::Units { slow: false } = self.kind {
            args.extend(["--", "--", "--skip", SLOW]);
        }
        let step = Step::cargo(self.name(), &args);
        let (step, build) = match self.kind {
            Kind::Models => (step.cfg("joint_loom"), "models"),
            _ => (step, "build"),
        };
        // Kept, so that a later run does not compile the dependencies of the tests.
        step.env("CARGO_TARGET_DIR", folder.join(build).to_string_lossy())
    }
}

/// The package in which a change is.
fn package(change: &str) -> &'static Package {
    let own = PACKAGES.iter().find(|one| change.starts_with(one.folder));
    own.expect("the root has every file")
}

/// The suites that could find a change, in the order in which they are tried: of each package first
/// the integration tests that are named after the file or its folder, then the others.
pub(super) fn suites(change: &str) -> Vec<Suite> {
    let Package {
        name: package,
        tested_by,
        ..
    } = package(change);
    let suite = |kind, targets| Suite {
        package,
        kind,
        targets,
    };
    let slow = change.starts_with(RUN_BY_SLOW);
    let mut suites = vec![suite(Kind::Units { slow }, Vec::new())];
    for &tests in *tested_by {
        let (near, others) = tests_of(tests)
            .into_iter()
            .partition(|test| is_near(test, change));
        suites.extend([near, others].map(|targets| suite(Kind::Tests(tests), targets)));
    }
    suites.push(suite(Kind::Models, models(change)));
    suites.retain(|suite| matches!(suite.kind, Kind::Units { .. }) || !suite.targets.is_empty());
    suites
}

/// The integration tests of a package.
fn tests_of(package: &str) -> Vec<String> {
    let own = PACKAGES.iter().find(|one| one.name == package);
    let folder = own.map_or("", |own| own.folder);
    targets(&root().join(folder).join("tests"), &NOT_RUN)
}

/// The test targets in a folder, without some.
fn targets(folder: &Path, without: &[&str]) -> Vec<String> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let targets = files.filter_map(|file| {
        let path = file.path();
        let is_target = path.join("main.rs").exists() || path.extension()? == "rs";
        let name = path.file_stem()?.to_str()?;
        (is_target && !without.contains(&name)).then(|| name.to_owned())
    });
    Vec::from_iter(targets.collect::<BTreeSet<_>>())
}

/// The file, below the folder `src` of its package.
fn below_src(change: &str) -> &str {
    let file = change.split(".rs").next().unwrap_or_default();
    file.split_once("src/").map_or(file, |(_, file)| file)
}

/// Whether a test is named after the file or one of its folders.
fn is_near(test: &str, change: &str) -> bool {
    let mut names = below_src(change).split('/');
    names.any(|name| format!("_{test}_").contains(&format!("_{name}_")))
}

/// The models that run a change: those of its folder's handshakes, those that are named after it,
/// and for the executor those of a whole one.
fn models(change: &str) -> Vec<String> {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap_or_default();
    let package = package(change).name;
    let of_handshakes = handshakes(&page, change);
    let mut models = targets(&root().join("loom-tests/tests"), &ABOUT_MODELS);
    models.retain(|model| {
        let is_flows = package == "joint-flow";
        let is_own = match model.as_str() {
            "executor" | "two_workers" => package == "joint-executor",
            _ => model.starts_with("flow_") == is_flows && is_near(model, change),
        };
        is_own || of_handshakes.contains(&model.as_str())
    });
    models
}

/// The models in the index of handshakes for the folder of a change, or for its file if that is at
/// the top.
fn handshakes<'a>(page: &'a str, change: &str) -> Vec<&'a str> {
    let top = |file: &'a str| below_src(file).split('/').next();
    let own = (package(change).folder, below_src(change).split('/').next());
    let (_, index) = page.split_once("\n## The handshakes\n").unwrap_or_default();
    let index = index.split("\n## ").next().unwrap_or_default();
    let rows = index.lines().filter_map(|row| {
        let (file, models) = (row.strip_prefix("| `")?, row.rsplit(" | ").next()?);
        let is_own = (package(file).folder, top(file)) == own;
        is_own.then(|| models.split('`').skip(1).step_by(2))
    });
    rows.flatten()
        .map(|model| model.trim_end_matches('/'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(suites: &[Suite], kind: Kind) -> Vec<&[String]> {
        let own = suites.iter().filter(|suite| suite.kind == kind);
        own.map(|suite| &*suite.targets).collect()
    }

    #[test]
    fn tests_named_after_the_file_run_first_and_then_all_others_of_the_package() {
        let own = suites("executor/src/scope/mod.rs:1:1: x");
        let tests = named(&own, Kind::Tests("joint-executor"));
        assert_eq!(tests[0], ["scope", "scope_alloc"]);
        for test in ["strangers", "fork_inherited", "net", "tracing"] {
            assert!(tests[1].iter().any(|name| name == test), "{test}");
        }
        let all = [tests[0], tests[1]].concat();
        assert!(
            NOT_RUN
                .iter()
                .all(|test| !all.iter().any(|name| name == test))
        );

        let waker = suites("src/waker/budget.rs:1:1: x");
        assert_eq!(named(&waker, Kind::Tests("joint-executor"))[0], ["budget"]);
        assert!(!named(&waker, Kind::Tests("joint"))[0].is_empty());
    }

    #[test]
    fn each_package_has_its_own_tests_or_those_of_its_dependents() {
        for package in &PACKAGES {
            for &tests in package.tested_by {
                assert!(!tests_of(tests).is_empty(), "{tests}");
            }
            assert!(root().join(package.folder).join("src/lib.rs").exists());
        }
        let of = |change| package(change).name;
        assert_eq!(of("flow/src/race.rs:1:1: x"), "joint-flow");
        assert_eq!(of("src/waker.rs:1:1: x"), "joint");
    }

    #[test]
    fn what_is_left_out_exists() {
        let exists = |path: &str| root().join(path).exists();
        for test in NOT_RUN {
            let is_there = |package: &Package| {
                let path = format!("{}tests/{test}", package.folder);
                exists(&path) || exists(&format!("{path}.rs"))
            };
            assert!(PACKAGES.iter().any(is_there), "{test}");
        }
        for model in ABOUT_MODELS {
            let path = format!("loom-tests/tests/{model}");
            assert!(exists(&path) || exists(&format!("{path}.rs")), "{path}");
        }
    }

    #[test]
    fn a_change_runs_the_models_of_its_folder_and_its_name() {
        let of = |file: &str| models(&format!("{file}:1:1: x"));
        assert_eq!(
            of("executor/src/ring.rs"),
            [
                "deques",
                "executor",
                "fork_join",
                "sleep_queues",
                "two_workers"
            ]
        );
        let of_all = ["executor", "two_workers"];
        let of_deques = ["deques", of_all[0], "sleep_queues", of_all[1]];
        assert_eq!(of("executor/src/deques/mod.rs"), of_deques);
        assert_eq!(of("executor/src/worker/closing.rs"), of_all);
        assert_eq!(of("src/task/cell.rs"), ["task"]);
        assert_eq!(of("flow/src/task/cell.rs"), ["flow_cancel"]);
        assert_eq!(of("flow/src/variable.rs"), ["flow_variable"]);
        assert!(of("sim/src/world/step.rs").is_empty());
    }

    #[test]
    fn the_command_line_names_what_is_built_and_what_is_run() {
        let line = |kind, targets: &[&str]| {
            let suite = Suite {
                package: "joint",
                kind,
                targets: targets.iter().map(|&name| name.to_owned()).collect(),
            };
            suite.step(Path::new("c"), Path::new("f")).to_string()
        };
        let models = line(Kind::Models, &["sleep"]);
        for part in [
            "--cargo-arg --test --cargo-arg sleep",
            "--test-package loom-tests",
            "--cfg joint_loom",
        ] {
            assert!(models.contains(part), "{models}");
        }
        let own = line(Kind::Tests("joint"), &["task"]);
        assert!(own.contains("--cargo-arg --test --cargo-arg task"), "{own}");
        assert!(!own.contains("--test-package"), "{own}");
        let dependents = line(Kind::Tests("joint-executor"), &["time"]);
        assert!(
            dependents.contains("--test-package joint-executor"),
            "{dependents}"
        );
        let units = line(Kind::Units { slow: false }, &[]);
        assert!(units.contains("--cargo-arg --lib"), "{units}");
        assert!(units.ends_with(&format!("-- -- --skip {SLOW}")), "{units}");
        assert!(!line(Kind::Units { slow: true }, &[]).contains("--skip"));
    }
}
