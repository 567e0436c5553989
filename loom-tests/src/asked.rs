//! The request of `cargo xtask mutants`, through the environment, to a process that runs one test:
//!
//! * `JOINT_LOOM_MUTANT=place=change` changes one place for all its models:
//!   `completion::complete=acquire`, `src/completion.rs:202=in_two`,
//!   `executor::sleep::sleep_again=blind`;
//! * `JOINT_LOOM_SITES=file` appends to the file a line for each site that its models reach.

use std::{env, fs::OpenOptions, io::Write as _, sync::atomic::Ordering};

use joint_switch::model::{Changed, Weakened, places_seen, sites_seen};

const MUTANT: &str = "JOINT_LOOM_MUTANT";
const SITES: &str = "JOINT_LOOM_SITES";

/// Recorded for a test that itself weakens an ordering.
pub(crate) const WEAKENS: &str = "weakens";
/// Recorded for a test whose model fails.
const FAILS: &str = "fails";

/// Whether the environment requests anything from this process.
pub(crate) fn is_any() -> bool {
    [MUTANT, SITES]
        .iter()
        .any(|name| env::var_os(name).is_some())
}

/// Exists while a model runs: it is made before the model and dropped after it.
pub(crate) struct Asked {
    _change: Option<Change>,
}

/// Held only for the effect of its drop.
enum Change {
    Ordering(Weakened),
    Place(Changed),
}

impl Asked {
    pub(crate) fn new() -> Self {
        let _change = env::var(MUTANT).ok().map(|mutant| {
            change(&mutant).unwrap_or_else(|| {
                // Not a panic, because a panic is how a model reports that it has found the mutant.
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

/// Appends a line to the requested file, if there is one.
pub(crate) fn report(line: &str) {
    let Some(file) = env::var_os(SITES) else {
        return;
    };
    let file = OpenOptions::new().create(true).append(true).open(file);
    let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    written.expect("the file for the sites can be written");
}
