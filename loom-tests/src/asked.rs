//! What `cargo xtask mutants` asks of a process that runs one test, by its environment:
//!
//! * `JOINT_LOOM_MUTANT=place=change` changes one place for all its models: `completion::complete=acquire`,
//!   `src/completion.rs:202=in_two`, `executor::sleep::sleep_again=blind`;
//! * `JOINT_LOOM_SITES=file` has it write down what its models came to, a line for each.

use std::{env, fs::OpenOptions, io::Write as _, sync::atomic::Ordering};

use joint::model::{Changed, Weakened, places_seen, sites_seen};

const MUTANT: &str = "JOINT_LOOM_MUTANT";
const SITES: &str = "JOINT_LOOM_SITES";

/// What is written down of a test that weakens an ordering by itself.
pub(crate) const WEAKENS: &str = "weakens";
/// What is written down of one whose model fails.
const FAILS: &str = "fails";

/// Whether anything is asked of this process.
pub(crate) fn is_any() -> bool {
    [MUTANT, SITES]
        .iter()
        .any(|name| env::var_os(name).is_some())
}

/// While it lives, a model runs; it is made before, and dropped after.
pub(crate) struct Asked {
    _change: Option<Change>,
}

/// Held for what their drops do.
enum Change {
    Ordering(Weakened),
    Place(Changed),
}

impl Asked {
    pub(crate) fn new() -> Self {
        let _change = env::var(MUTANT).ok().map(|mutant| {
            change(&mutant).unwrap_or_else(|| {
                // Not a panic: that is how a model says that it has found the mutant.
                eprintln!("{MUTANT}={mutant} is not understood");
                std::process::exit(2)
            })
        });
        Self { _change }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if env::var_os(SITES).is_none() {
            return;
        }
        for (site, _) in sites_seen() {
            report(&site);
        }
        for place in places_seen() {
            report(&place);
        }
        if std::thread::panicking() {
            report(FAILS);
        }
    }
}

fn change(mutant: &str) -> Option<Change> {
    let (place, change) = mutant.split_once('=')?;
    let ordering = match change {
        "relaxed" => Ordering::Relaxed,
        "acquire" => Ordering::Acquire,
        "release" => Ordering::Release,
        "acq_rel" => Ordering::AcqRel,
        "in_two" => {
            let (file, line) = place.split_once(':')?;
            return Some(Change::Place(Changed::in_two(file, line.parse().ok()?)));
        }
        "blind" => return Some(Change::Place(Changed::blind(place))),
        _ => return None,
    };
    Some(Change::Ordering(Weakened::new(place, ordering)))
}

/// Adds a line to the file that is asked for, if one is.
pub(crate) fn report(line: &str) {
    let Some(file) = env::var_os(SITES) else {
        return;
    };
    let file = OpenOptions::new().create(true).append(true).open(file);
    let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    written.expect("the file for the sites can be written");
}
