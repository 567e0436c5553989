//! Simulation, through the public interface.

mod attack;
mod blocking;
mod bugs;
mod check;
mod clocks;
#[path = "../../../tests/common/mod.rs"]
mod common;
mod disk;
mod drawn;
#[path = "../../../joint-executor/tests/common/example.rs"]
mod example;
mod faults;
mod found;
mod golden;
mod hosts;
mod interleaving;
mod net;
mod night;
mod own;
mod panics;
mod parallel;
mod pauses;
#[path = "../../../joint-executor/tests/common/program.rs"]
mod program;
mod schedulers;
mod snoozing;
mod stuck;
mod swarm;
mod trace;
mod unchanged;
mod unfinished;
mod world;

use std::{
    cell::Cell,
    fs,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use joint_sim::{Check, Found, Verdict};

const SECOND: Duration = Duration::from_secs(1);

/// Demands that a text has this part.
#[track_caller]
fn says(text: impl ToString, part: &str) {
    let text = text.to_string();
    assert!(text.contains(part), "it does not say: {part}\n{text}");
}

/// The failure that a check finds, without its files.
fn found<F: Future<Output: Verdict>>(check: &Check, program: impl Fn() -> F) -> Box<Found> {
    let found = check.find(program).expect_err("a failure");
    remove_files(&found);
    found
}

fn remove_files(found: &Found) {
    for file in found.files() {
        fs::remove_file(file).unwrap();
    }
}

/// Counts the values that are dropped.
struct Counts(Arc<AtomicUsize>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Counts the values that are dropped, on one thread.
struct Dropped(Rc<Cell<usize>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

/// Waits for each task in turn.
async fn join(tasks: impl IntoIterator<Item: Future>) {
    for task in tasks {
        task.await;
    }
}
