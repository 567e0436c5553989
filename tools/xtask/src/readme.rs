//! `cargo xtask bench --readme`: which benches it shows, and where their figures are.

use std::path::PathBuf;

use super::{
    plans,
    size::target,
    step::{Step, root, say},
};

/// The benches whose figures are shown, in the order of the tables.
const BENCHES: [&str; 8] = [
    "task",
    "oneshot",
    "completion",
    "executor",
    "flow",
    "driver",
    "memory",
    "idle",
];

/// Those that run with mimalloc too, each with the part of the tables' titles that selects them.
const WITH_MIMALLOC: [(&str, &str); 4] = [
    ("task", "by hand"),
    ("oneshot", ""),
    ("executor", "tasks, two workers"),
    ("driver", "a million timers"),
];

/// Where the benches write their figures.
pub(crate) fn folder() -> PathBuf {
    target().join("bench")
}

/// Builds all at once, so that no processor is idle while one program is linked, and then runs one
/// after the other.
pub(crate) fn steps() -> Vec<Step> {
    let mut steps = vec![
        plans::bench_build(&BENCHES, false),
        plans::bench_build(&WITH_MIMALLOC.map(|(bench, _)| bench), true),
    ];
    steps.extend(BENCHES.iter().flat_map(|bench| of_one(bench)));
    steps
}

/// One bench, and the same with mimalloc if that is shown.
pub(crate) fn of_one(name: &str) -> Vec<Step> {
    let with_mimalloc = WITH_MIMALLOC.iter().filter(|(bench, _)| *bench == name);
    let with_mimalloc =
        with_mimalloc.map(|(bench, filter)| plans::quick_bench(bench, true, filter));
    let step = plans::quick_bench(name, false, "");
    [step].into_iter().chain(with_mimalloc).collect()
}

/// Writes the figures of the last runs, and returns the status to exit with.
pub(crate) fn run() -> i32 {
    let with_mimalloc = WITH_MIMALLOC.map(|(bench, _)| bench);
    match joint_figures::write(&root(), &folder(), &BENCHES, &with_mimalloc) {
        Ok(files) => {
            say(&format!("{files} have the figures of the last runs"));
            0
        }
        Err(why) => {
            say(&format!("bench --readme failed: {why}"));
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bench_runs_once_and_some_with_mimalloc_too() {
        let lines: Vec<_> = steps().iter().map(Step::to_string).collect();
        let count = |word: &str| lines.iter().filter(|line| line.contains(word)).count();
        assert_eq!(lines.len(), 2 + BENCHES.len() + WITH_MIMALLOC.len());
        assert_eq!(count(" --no-run"), 2);
        assert_eq!(
            count("JOINT_BENCH_QUICK=1 "),
            BENCHES.len() + WITH_MIMALLOC.len()
        );
        assert_eq!(count(" --features mimalloc "), 1 + WITH_MIMALLOC.len());
        assert!(
            lines
                .iter()
                .any(|line| line.ends_with("--bench executor -- 'tasks, two workers'"))
        );
        assert_eq!(of_one("task").len(), 2);
        assert_eq!(of_one("idle").len(), 1);
    }
}
