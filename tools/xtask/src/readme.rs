//! `cargo xtask bench`: which benches run, which of them the README shows, and where their figures
//! are.

use super::{
    step::{Done, Step, root, run_all, say, target},
    words::Words,
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

pub(crate) fn bench(words: &Words) -> Done {
    let (readme, write) = (words.has("--readme"), words.has("--write"));
    let mimalloc = words.has("--mimalloc");
    let steps = match words.word(0) {
        _ if write => Vec::new(),
        // All are built at once, so that no processor is idle while one program is linked.
        None if readme => {
            let built = |names: &[&str], mimalloc| benches(names, mimalloc).arg("--no-run");
            let with_mimalloc = WITH_MIMALLOC.map(|(bench, _)| bench);
            let built = [built(&BENCHES, false), built(&with_mimalloc, true)];
            built
                .into_iter()
                .chain(BENCHES.into_iter().flat_map(shown))
                .collect()
        }
        // In all of them but the simulations', their feature would enable tokio's `test-util` in
        // what is measured.
        None => vec![
            benches(&["*"], mimalloc),
            benches(&["simulation"], mimalloc),
        ],
        Some(name) if readme => shown(name),
        Some(name) => vec![benches(&[name], mimalloc)],
    };
    let status = run_all("bench", steps);
    if status != 0 || !readme && !write {
        return Ok(status);
    }
    let with_mimalloc = WITH_MIMALLOC.map(|(bench, _)| bench);
    let folder = target().join("bench");
    let files = joint_figures::write(&root(), &folder, &BENCHES, &with_mimalloc)?;
    say(&format!("{files} have the figures of the last runs"));
    Ok(0)
}

/// One bench, quickly: about a second for each row. And the same with mimalloc if that is shown.
fn shown(name: &str) -> Vec<Step> {
    let quick = |mimalloc| benches(&[name], mimalloc).env("JOINT_BENCH_QUICK", "1");
    let with_mimalloc = WITH_MIMALLOC.iter().filter(|(bench, _)| *bench == name);
    let filtered = with_mimalloc.map(|&(_, filter)| match filter {
        "" => quick(true),
        filter => quick(true).args(["--", filter]),
    });
    [quick(false)].into_iter().chain(filtered).collect()
}

/// With the peers that plain `cargo bench` leaves out, one of which asks for a newer compiler than
/// it needs.
fn benches(names: &[&str], mimalloc: bool) -> Step {
    let mut step = Step::cargo("bench", "bench -p joint-benches --ignore-rust-version");
    let mut folder = target().join("bench");
    if names.contains(&"simulation") {
        step = step.args(["--features", "sim"]);
    }
    if mimalloc {
        step = step.args(["--features", "mimalloc"]);
        folder.push(joint_figures::MIMALLOC);
    }
    step.args(names.iter().flat_map(|&name| ["--bench", name]))
        .rustc("--cfg joint_peers")
        .env("JOINT_BENCH_OUT", folder.to_string_lossy())
}

/// Each row of each bench once, as a test.
pub(crate) fn once() -> Step {
    Step::cargo("benches", "test -p joint-benches --benches --features sim")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bench_runs_once_and_some_with_mimalloc_too() {
        let lines: Vec<_> = BENCHES.into_iter().flat_map(shown).collect();
        let lines: Vec<_> = lines.iter().map(Step::to_string).collect();
        let count = |word: &str| lines.iter().filter(|line| line.contains(word)).count();
        assert_eq!(count("--bench "), BENCHES.len() + WITH_MIMALLOC.len());
        assert_eq!(count("/bench/mimalloc "), WITH_MIMALLOC.len());
        assert_eq!(
            (count(" sim "), count("--cfg joint_peers")),
            (0, lines.len())
        );
    }
}
