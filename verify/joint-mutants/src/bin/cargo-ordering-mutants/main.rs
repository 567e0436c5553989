//! `cargo ordering-mutants`: changes one atomic operation of a crate at a time, and demands that
//! one of the crate's loom tests fails.

mod job;
mod names;
mod options;
mod page;
mod programs;
mod reasons;
mod report;
mod unreached;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::atomic::{AtomicBool, Ordering},
};

use joint_mutants::place::Place;

use job::{Job, work};
use names::Named;
use options::{Options, USAGE};
use page::Page;
use programs::{Ended, Test};
use reasons::Reasons;
use report::Report;

fn main() -> ExitCode {
    let mut words: Vec<_> = std::env::args().skip(1).collect();
    // cargo passes the name of the subcommand.
    if words.first().is_some_and(|word| word == "ordering-mutants") {
        words.remove(0);
    }
    // What follows `--` is for cargo.
    let mut own = words.iter().take_while(|word| *word != "--");
    let answer = own.find_map(|word| match &**word {
        "-h" | "--help" => Some(USAGE),
        "-V" | "--version" => Some(concat!(
            "cargo-ordering-mutants ",
            env!("CARGO_PKG_VERSION")
        )),
        _ => None,
    });
    if let Some(answer) = answer {
        println!("{answer}");
        return ExitCode::SUCCESS;
    }
    match Options::read(words).and_then(|options| run(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether every change was found or has a reason.
fn run(options: &Options) -> Result<bool, String> {
    let reasons = match fs::read_to_string(&options.reasons) {
        Ok(text) => Reasons::read(&text).map_err(|why| format!("{}: {why}", options.reasons))?,
        Err(_) => Reasons::default(),
    };
    let root = workspace()?;
    let page_text = options.page.as_ref().map(fs::read_to_string);
    let page_text = page_text.and_then(Result::ok).unwrap_or_default();
    let page = Page::read(&page_text);
    let mut tests = programs::tests(options, &root)?;
    let is_by_page = options.smoke && options.page.is_some();
    if is_by_page {
        tests.retain(|test| page.has(&test.name));
    }
    let tests = as_they_are(tests, options)?;
    let places = places(&tests, &root);
    if places.is_empty() {
        return Err(
            "no test reaches an atomic of joint-mutants; does the crate import them?".into(),
        );
    }
    let files = places.iter().map(|named| &*named.place.file);
    let files = files.filter(|_| !is_by_page).collect();
    let unreached = unreached::unreached(files, &root, |file, lines| {
        let reached = tests.iter().flat_map(|test| &test.reached);
        unreached::is_call(reached, file, lines)
    });
    let part = options.place.as_deref().unwrap_or_default();
    let wanted = places.iter().filter(|named| named.name.contains(part));
    let wanted: Vec<_> = wanted.cloned().collect();
    if options.list {
        report::list(&wanted, &tests, &unreached);
        return Ok(true);
    }
    let stop = AtomicBool::new(false);
    let jobs = match is_by_page {
        true => known(&wanted, &page),
        false => jobs(&wanted, options),
    };
    let results = work(jobs, options.jobs, |job| {
        if stop.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        let rows = job.run(&tests, &page, options)?;
        for row in &rows {
            eprintln!("{} {}: {}", job.place.name, row.change, row.verdict.said());
            let is_open =
                row.verdict.is_survivor() && reasons.of(&job.place.name, row.change).is_none();
            if is_open && options.smoke {
                stop.store(true, Ordering::Relaxed);
            }
        }
        Ok(rows)
    });
    let rows = results.into_iter().collect::<Result<Vec<_>, String>>()?;
    let rows = rows.into_iter().flatten().collect::<Vec<_>>();
    let is_whole = options.place.is_none() && !options.smoke;
    let stale = match is_whole {
        true => reasons.stale(&rows),
        false => Vec::new(),
    };
    let changed = match is_by_page {
        true => page.stale(&places, &root),
        false => Vec::new(),
    };
    let report = Report {
        places: &wanted,
        rows: &rows,
        reasons: &reasons,
        stale: &stale,
        tests: &tests,
        unreached: &unreached,
    };
    let table = report.table();
    match options.page {
        Some(_) => print!("{}", report.summary()),
        None => print!("{table}"),
    }
    let write =
        |file: &str, text| fs::write(file, text).map_err(|error| format!("{file}: {error}"));
    if let Some(file) = &options.table {
        write(file, &table)?;
    }
    let file = options.page.as_deref().unwrap_or_default();
    if !file.is_empty() && !options.smoke {
        let up = up(Path::new(file), &root);
        let text = page.after(&places, &rows, &reasons, (&root, &up));
        if text != page_text {
            write(file, &text)?;
            eprintln!("{file} is written");
        }
    }
    for place in &changed {
        eprintln!("{file} is out of date: `{place}` is not as it says");
    }
    Ok(report.is_clean(&options.reasons) && changed.is_empty())
}

/// The relative path from a file's folder to the root.
fn up(file: &Path, root: &Path) -> String {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).unwrap_or_default();
    let below = fs::canonicalize(root).map(|root| folder.strip_prefix(root).map(Path::to_owned));
    let depth = below.map(|below| below.map_or(0, |below| below.components().count()));
    "../".repeat(depth.unwrap_or(0))
}

/// The folder to which the compiler's paths are relative.
fn workspace() -> Result<PathBuf, String> {
    let output = Command::new(programs::cargo())
        .args(["locate-project", "--workspace", "--message-format", "plain"])
        .output();
    let output = output.map_err(|error| format!("cargo could not be run: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let manifest = Path::new(printed.trim_end());
    let folder = manifest.parent().filter(|_| output.status.success());
    folder
        .map(Path::to_owned)
        .ok_or_else(|| "there is no Cargo.toml here".to_owned())
}

/// Runs each test without a change, and records which places it reaches.
fn as_they_are(tests: Vec<Test>, options: &Options) -> Result<Vec<Test>, String> {
    let looked = work(tests, options.jobs, |mut test| {
        let ended = test.look(options.timeout);
        eprintln!("{}: {:.1} s", test.name, test.took.as_secs_f64());
        ended.map(|ended| (test, ended))
    });
    let mut tests = Vec::new();
    for one in looked {
        let (test, ended) = one?;
        match ended {
            Ended::Passed if test.is_left_out => {}
            Ended::Passed => tests.push(test),
            Ended::Failed => return Err(format!("{} fails without a change", test.name)),
            Ended::Endless => {
                let limit = options.timeout.as_secs();
                return Err(format!(
                    "{} takes more than {limit} s without a change: raise `--timeout`, or leave it \
                     out with `-- ... -- --skip {}`",
                    test.name,
                    test.own_name(),
                ));
            }
        }
    }
    // The first test that finds a change ends the search for it.
    tests.sort_by_key(|test| test.took);
    Ok(tests)
}

/// The places outside of tests that the tests reach, in the order of the source.
fn places(tests: &[Test], root: &Path) -> Vec<Named> {
    let mut places: Vec<Place> = Vec::new();
    for place in tests.iter().flat_map(|test| &test.reached) {
        let is_test = place.file.starts_with("tests/") || place.file.contains("/tests/");
        if !is_test && !places.contains(place) {
            places.push(place.clone());
        }
    }
    places.sort_by(|a, b| {
        let by = |place: &Place| (place.file.clone(), place.line, place.column);
        by(a).cmp(&by(b))
    });
    names::named(places, root)
}

/// One job for each change that the page says is found.
fn known<'a>(places: &'a [Named], page: &Page) -> Vec<Job<'a>> {
    let of = |place: &'a Named| {
        let changes = place.place.changes().into_iter().flatten().flatten();
        let found =
            changes.filter(|change| page.finder(&place.name, &change.to_string()).is_some());
        let found: Vec<_> = found.collect();
        found.into_iter().map(move |change| Job {
            place,
            steps: vec![vec![change]],
        })
    };
    places.iter().flat_map(of).collect()
}

/// One job for each row of changes of a place; with `--smoke`, one for each place.
fn jobs<'a>(places: &'a [Named], options: &Options) -> Vec<Job<'a>> {
    let of = |(n, place): (usize, &'a Named)| {
        let mut rows = place.place.changes();
        if options.smoke && !rows.is_empty() {
            // A different one at each place, so that a sample has changes of all kinds.
            let mut steps = rows.swap_remove(n % rows.len());
            steps.truncate(1);
            steps[0].truncate(1);
            rows = vec![steps];
        }
        rows.into_iter().map(move |steps| Job { place, steps })
    };
    places.iter().enumerate().flat_map(of).collect()
}
