//! `cargo xtask budget`: how large each package is, and how large it may be.

use std::{collections::BTreeSet, fs, io, path::PathBuf};

use super::{
    source::Source,
    step::{Step, root, say},
};

/// A package and its limits.
struct Budget {
    /// Its name, also while it has no manifest of its own.
    package: &'static str,
    /// The package that cargo builds it in.
    built_as: &'static str,
    folder: &'static str,
    /// Files and folders in `folder` that are not counted, because another row counts them, or
    /// because only tests and models compile them.
    without: &'static [&'static str],
    /// Lines of code, without comments, blank lines and tests.
    lines: usize,
    /// The crates that a dependent builds, with the features that are named, on this system.
    crates: usize,
    features: &'static [&'static str],
}

const BUDGETS: [Budget; 9] = [
    Budget {
        package: "joint",
        built_as: "joint",
        folder: "src",
        without: &[],
        // Of these, 330 are names that users of tokio look for: ids, abort handles, closed senders;
        // 270 are for machines without an allocator or without atomics of 64 bits; 65 for values
        // that only some tasks of an executor have; and 100 for reports: which panics were looked
        // at, and which oneshot a task waits for.
        lines: 5_260,
        crates: 2,
        features: &["std"],
    },
    Budget {
        package: "joint-switch",
        built_as: "joint-switch",
        folder: "switch/src",
        without: &[],
        // Of these, 25 are numbers for ids, in blocks for each thread.
        lines: 1_020,
        crates: 1,
        features: &["std"],
    },
    Budget {
        package: "joint-executor",
        built_as: "joint-executor",
        folder: "executor/src",
        without: &["model", "worker/harness.rs"],
        // Of these, 1,020 are names that users of tokio look for, most of them for sockets, 640 the
        // dump and what runs on the current thread, 500 the sockets of a host's own network, 90 the
        // data of tasks for hooks, and 45 the report that all workers are blocked.
        lines: 12_240,
        crates: 12,
        features: &["io"],
    },
    Budget {
        package: "joint-sim",
        built_as: "joint-sim",
        folder: "sim/src",
        without: &[],
        // Of these, 380 are disks, 350 the search that goes on for a night, 300 the panics and the
        // tasks that a report lists, 165 what finds the next of thousands of hosts, 150 several
        // threads, and 130 the report of futures that snooze.
        lines: 8_500,
        crates: 24,
        features: &[],
    },
    Budget {
        package: "joint-flow",
        built_as: "joint-flow",
        folder: "flow/src",
        without: &[],
        // Of these, 90 cancel chains of tasks of any length on a bounded stack, and 80 are for
        // outputs that are not `Clone` and futures that are not `Send`.
        lines: 3_530,
        crates: 24,
        features: &[],
    },
    Budget {
        package: "joint-ring",
        built_as: "joint-ring",
        folder: "ring/src",
        without: &["model.rs"],
        lines: 1_200,
        crates: 16,
        features: &[],
    },
    Budget {
        package: "joint-mutants",
        built_as: "joint-mutants",
        folder: "mutants/src",
        without: &[],
        // Of these, 500 are the atomics and what is changed about them; the others are the command.
        lines: 1_670,
        crates: 30,
        features: &["loom"],
    },
    Budget {
        package: "joint-lab",
        built_as: "joint-lab",
        folder: "lab/src",
        without: &[],
        // Of these, 800 are the recorded types.
        lines: 3_200,
        crates: 26,
        features: &[],
    },
    Budget {
        package: "joint-check",
        built_as: "joint-check",
        folder: "check/src",
        without: &[],
        // Of these, 1,350 are loom's names, which a crate finds here when it changes the checker.
        lines: 4_100,
        crates: 6,
        features: &[],
    },
];

/// The size of a package.
#[derive(Debug, Default, PartialEq)]
struct Size {
    files: usize,
    lines: usize,
    unsafe_blocks: usize,
    sites: usize,
}

impl Size {
    fn add(&mut self, source: &Source) {
        let lines: BTreeSet<_> = source
            .shipped()
            .flat_map(|(_, token)| token.line..=token.last_line)
            .collect();
        self.lines += lines.len();
        for (at, _) in source.shipped() {
            self.unsafe_blocks += usize::from(source.reads(at, &["unsafe", "{"]));
            self.sites += usize::from(source.reads(at, &["order", "!", "("]));
        }
        self.files += 1;
    }
}

/// Prints the table, and returns the status to exit with.
pub(crate) fn run() -> i32 {
    match table() {
        Ok((text, over)) => {
            print!("{text}");
            over.iter().for_each(|line| say(line));
            i32::from(!over.is_empty())
        }
        Err(why) => {
            say(&format!("budget failed: {why}"));
            1
        }
    }
}

fn table() -> Result<(String, Vec<String>), String> {
    let mut text = "| package | files | lines of code | of at most | unsafe blocks | atomic sites | crates | of at most |\n\
         |---|---|---|---|---|---|---|---|\n"
        .to_owned();
    let mut over = Vec::new();
    for budget in BUDGETS {
        let size = size(&budget).map_err(|error| error.to_string())?;
        let crates = crates(&budget)?;
        text += &format!(
            "| `{}` | {} | {} | {} | {} | {} | {} | {} |\n",
            budget.package,
            size.files,
            size.lines,
            budget.lines,
            size.unsafe_blocks,
            size.sites,
            crates,
            budget.crates,
        );
        for (what, is, most) in [
            ("lines of code", size.lines, budget.lines),
            ("crates", crates, budget.crates),
        ] {
            if is > most {
                over.push(format!(
                    "`{}` has {is} {what}, and {most} are the most",
                    budget.package
                ));
            }
        }
    }
    Ok((text, over))
}

/// How many crates a dependent of a package may build, the package itself included.
pub(crate) fn most_crates(package: &str) -> Option<usize> {
    let budget = BUDGETS.iter().find(|budget| budget.package == package);
    budget.map(|budget| budget.crates)
}

fn size(budget: &Budget) -> io::Result<Size> {
    let top = root().join(budget.folder);
    let without: Vec<_> = budget.without.iter().map(|name| top.join(name)).collect();
    if let Some(missing) = without.iter().find(|path| !path.exists()) {
        let what = format!("`{}` does not exist; update `BUDGETS`", missing.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, what));
    }
    let mut size = Size::default();
    let mut folders = vec![top];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path: PathBuf = entry?.path();
            if without.contains(&path) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                size.add(&Source::new(
                    &path.to_string_lossy(),
                    &fs::read_to_string(&path)?,
                ));
            }
        }
    }
    Ok(size)
}

/// The crates that a dependent builds, the package itself included.
fn crates(budget: &Budget) -> Result<usize, String> {
    let features = budget.features.join(",");
    let args = [
        "tree",
        "--package",
        budget.built_as,
        "--no-default-features",
        "--features",
        &features,
        "--edges",
        "normal,build",
        "--prefix",
        "none",
    ];
    let output = Step::cargo("tree", &args).command().output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(names(&String::from_utf8_lossy(&output.stdout)))
}

/// How many crates `cargo tree` names: each line begins with the name and the version of one.
pub(crate) fn names(tree: &str) -> usize {
    let names = tree.lines().filter(|line| !line.is_empty());
    let names = names.map(|line| line.split(' ').take(2).collect::<Vec<_>>());
    names.collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blank_lines_and_tests_are_not_counted() {
        let text = "//! a\n\nfn f() {\n    // b\n    unsafe { g(order!(x: Relaxed)) }\n}\n\
            #[cfg(test)]\nmod tests {\n    fn t() { unsafe {} }\n}\n";
        let mut size = Size::default();
        size.add(&Source::new("src/a.rs", text));
        let expected = Size {
            files: 1,
            lines: 3,
            unsafe_blocks: 1,
            sites: 1,
        };
        assert_eq!(size, expected);
    }

    #[test]
    fn a_crate_counts_once() {
        assert_eq!(names("a v1.0.0 (/x)\nb v2.0.0\nb v2.0.0 (*)\n\n"), 2);
    }
}
