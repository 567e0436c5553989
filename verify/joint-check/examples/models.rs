//! Runs joint's models on loom and on joint-check, and writes the table of both into the README.
//! From the root of the repository:
//!
//! ```sh
//! cargo run --manifest-path verify/Cargo.toml -p joint-check --example models [SECONDS]
//! ```
//!
//! It explores each test on joint-check for at most `SECONDS`, which is 10 by default.

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio, exit},
};

const BEGIN: &str = "<!-- models -->\n";
const END: &str = "<!-- models end -->";
const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const ALL: &str = "**all**";

/// The counts of the models of a test.
#[derive(Clone, Copy, Default)]
struct Count {
    executions: u64,
    seconds: f64,
    is_cut: bool,
    /// On loom: whether preemptions are bounded.
    is_bounded: bool,
}

/// The counts of each test, from lines such as `RUNS test 12 0.1 bounded` of loom, and
/// `COUNT test 12 1 0 0 80 0.1 cut` of joint-check. cargo writes before them which file runs.
fn counts(text: &str) -> BTreeMap<String, Count> {
    let mut all = BTreeMap::<_, Count>::new();
    let mut file = "";
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once(" Running ") {
            let (path, _) = rest.split_once(' ').unwrap_or((rest, ""));
            let (_, path) = path.rsplit_once("tests/").unwrap_or(("", path));
            file = path.split(['.', '/']).next().unwrap_or_default();
        }
        let words: Vec<_> = line.split(' ').collect();
        let (test, executions, seconds) = match words[..] {
            ["RUNS", test, runs, seconds, ..] => (test, runs.parse().ok(), seconds),
            ["COUNT", test, complete, blocked, _, _, _, seconds, ..] => {
                let [complete, blocked] = [complete, blocked].map(|n| n.parse::<u64>().ok());
                (test, complete.zip(blocked).map(|(a, b)| a + b), seconds)
            }
            _ => continue,
        };
        let count = all.entry(format!("{file}::{test}")).or_default();
        count.executions += executions.unwrap_or(0);
        count.seconds += seconds.parse().unwrap_or(0.0);
        count.is_cut |= line.ends_with(" cut");
        count.is_bounded |= line.ends_with(" bounded");
    }
    all
}

/// A row of the table: a file, or all.
#[derive(Default)]
struct Row {
    loom: Count,
    check: Count,
    ended: u32,
    cut: u32,
    bounded: u32,
    /// The tests that loom bounds and that have ended here.
    unbounded: u32,
}

fn table(loom: &BTreeMap<String, Count>, check: &BTreeMap<String, Count>) -> String {
    let mut rows = BTreeMap::<&str, Row>::new();
    for (test, ours) in check {
        let Some(theirs) = loom.get(test) else {
            continue;
        };
        let file = test.split("::").next().unwrap_or_default();
        for name in [file, ALL] {
            let row = rows.entry(name).or_default();
            row.bounded += u32::from(theirs.is_bounded);
            if ours.is_cut {
                row.cut += 1;
                continue;
            }
            row.ended += 1;
            row.unbounded += u32::from(theirs.is_bounded);
            for (sum, one) in [(&mut row.loom, theirs), (&mut row.check, ours)] {
                sum.executions += one.executions;
                sum.seconds += one.seconds;
            }
        }
    }
    let mut text = "\
| models | ended | loom: executions | seconds | joint-check: executions | seconds | fewer | bounded on loom, ended here | not ended |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
"
    .to_owned();
    for (name, row) in rows {
        let [theirs, ours] = [row.loom, row.check];
        let fewer = theirs.executions as f64 / ours.executions.max(1) as f64;
        _ = writeln!(
            text,
            "| {name} | {} | {} | {:.1} | {} | {:.1} | {fewer:.1} | {} of {} | {} |",
            row.ended,
            theirs.executions,
            theirs.seconds,
            ours.executions,
            ours.seconds,
            row.unbounded,
            row.bounded,
            row.cut
        );
    }
    text += "
The sums are over the tests that have ended on joint-check within the limit of time. The last column
but one counts those whose preemptions loom bounds: joint-check has explored all of their executions,
loom those within the bound.
";
    text
}

/// Runs the models, shows what is printed, and returns it.
fn run(engine: &str, seconds: Option<&str>) -> String {
    let mut command = Command::new(env::var("CARGO").unwrap_or("cargo".into()));
    command
        .args(["xtask", "loom", "--engine", engine])
        .current_dir(ROOT);
    match seconds {
        None => command.env("JOINT_LOOM_RUNS", "1"),
        Some(seconds) => command
            .env("JOINT_CHECK_LOG", "1")
            .env("LOOM_MAX_DURATION", seconds),
    };
    let mut child = command.stderr(Stdio::piped()).spawn().expect("cargo runs");
    let mut text = String::new();
    for line in BufReader::new(child.stderr.take().expect("it is piped")).lines() {
        let line = line.expect("cargo writes text");
        let is_count = line.starts_with("RUNS ") || line.starts_with("COUNT ");
        if !is_count {
            eprintln!("{line}");
        }
        text += &line;
        text.push('\n');
    }
    let status = child.wait().expect("cargo ends");
    if !status.success() {
        eprintln!("the models fail on {engine}: {status}");
        exit(1);
    }
    text
}

fn main() {
    let seconds = env::args().nth(1).unwrap_or("10".to_owned());
    let (loom, check) = (run("loom", None), run("check", Some(&seconds)));
    let (loom, check) = (counts(&loom), counts(&check));
    let readme = fs::read_to_string(README).expect("the README can be read");
    let (before, rest) = readme.split_once(BEGIN).expect("the README has a place");
    let (_, after) = rest.split_once(END).expect("the place has an end");
    let text = format!("{before}{BEGIN}{}{END}{after}", table(&loom, &check));
    fs::write(README, text).expect("the README can be written");
}
