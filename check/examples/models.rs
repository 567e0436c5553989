//! Writes the table of joint's models on loom and on joint-check into the README, from what
//! `cargo xtask loom` has printed about each.

use std::{collections::BTreeMap, env, fmt::Write as _, fs, process::exit};

const BEGIN: &str = "<!-- models -->\n";
const END: &str = "<!-- models end -->";
const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");

/// The counts of the models of a test.
#[derive(Clone, Copy, Default)]
struct Count {
    executions: u64,
    seconds: f64,
    is_cut: bool,
}

/// The counts of each test, from lines such as `file::test: RUNS model 12 0.1` of loom, and
/// `file::test: COUNT model 12 1 0 0 80 0.1 cut` of joint-check.
fn counts(text: &str) -> BTreeMap<&str, Count> {
    let mut all = BTreeMap::<_, Count>::new();
    for line in text.lines() {
        let Some((test, words)) = line.split_once(": ") else {
            continue;
        };
        let words: Vec<_> = words.split(' ').collect();
        let (executions, seconds) = match words[..] {
            ["RUNS", _, runs, seconds, ..] => (runs.parse().ok(), seconds),
            ["COUNT", _, complete, blocked, _, _, _, seconds, ..] => {
                let [complete, blocked] = [complete, blocked].map(|n| n.parse::<u64>().ok());
                (complete.zip(blocked).map(|(a, b)| a + b), seconds)
            }
            _ => continue,
        };
        let count = all.entry(test).or_default();
        count.executions += executions.unwrap_or(0);
        count.seconds += seconds.parse().unwrap_or(0.0);
        count.is_cut |= line.ends_with(" cut");
    }
    all
}

fn table(loom: &BTreeMap<&str, Count>, check: &BTreeMap<&str, Count>) -> String {
    let file = |test: &str| test.split("::").next().unwrap_or("").to_owned();
    let mut rows = BTreeMap::<String, [Count; 2]>::new();
    let mut tests = BTreeMap::<String, [u32; 2]>::new();
    for (test, ours) in check {
        for name in [file(test), "**all**".to_owned()] {
            let [ended, cut] = tests.entry(name.clone()).or_default();
            match (ours.is_cut, loom.get(test).filter(|theirs| !theirs.is_cut)) {
                (false, Some(theirs)) => {
                    *ended += 1;
                    let row = rows.entry(name).or_default();
                    for (sum, one) in row.iter_mut().zip([theirs, ours]) {
                        sum.executions += one.executions;
                        sum.seconds += one.seconds;
                    }
                }
                (true, _) => *cut += 1,
                (false, None) => {}
            }
        }
    }
    let mut text = "| models | ended on both | loom: executions | seconds | joint-check: executions | seconds | fewer | without an end on joint-check |
|---|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for (name, [ended, cut]) in tests {
        let [theirs, ours] = rows.remove(&name).unwrap_or_default();
        let fewer = theirs.executions as f64 / ours.executions.max(1) as f64;
        _ = writeln!(
            text,
            "| {name} | {ended} | {} | {:.1} | {} | {:.1} | {fewer:.1} | {cut} |",
            theirs.executions, theirs.seconds, ours.executions, ours.seconds
        );
    }
    text
}

fn main() {
    let files: Vec<_> = env::args().skip(1).collect();
    let [loom, check] = &files[..] else {
        eprintln!("give what `cargo xtask loom` has printed: of loom, then of joint-check");
        exit(2);
    };
    let read = |file: &str| fs::read_to_string(file).expect("the file can be read");
    let (loom, check, readme) = (read(loom), read(check), read(README));
    let (before, rest) = readme.split_once(BEGIN).expect("the README has a place");
    let (_, after) = rest.split_once(END).expect("the place has an end");
    let table = table(&counts(&loom), &counts(&check));
    let text = format!("{before}{BEGIN}{table}{END}{after}");
    fs::write(README, text).expect("the README can be written");
}
