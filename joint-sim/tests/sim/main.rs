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
mod faults;
mod found;
mod hosts;
mod net;
mod night;
mod panics;
mod parallel;
mod pauses;
mod prelude;
mod schedulers;
mod services;
mod snoozing;
mod spinning;
mod stuck;
#[cfg(target_os = "linux")]
mod system;
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

use joint::oneshot;
use joint_executor::Executor;
use joint_sim::{self as sim, Check, Found, Host, HostEnd, Verdict};

const SECOND: Duration = Duration::from_secs(1);

/// Demands that a text has this part.
#[track_caller]
fn says(text: impl ToString, part: &str) {
    let text = text.to_string();
    assert!(text.contains(part), "it does not say: {part}\n{text}");
}

/// The failure that a check finds, without its files.
fn found<F: IntoFuture<Output: Verdict>>(check: &Check, program: impl Fn() -> F) -> Box<Found> {
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

/// An executor of this thread's world, or a real one.
fn executor(workers: usize) -> Executor {
    Executor::builder().workers(workers).build().unwrap()
}

/// Runs this once as the program of a host.
fn run_once<F: Future<Output = ()> + 'static>(host: &Host, program: impl FnOnce() -> F + 'static) {
    let mut program = Some(program);
    host.run(move || program.take().expect("it is not started again")());
}

/// Runs this once as the program of a host, and returns its output.
async fn on_host<F: Future + 'static>(
    host: &Host,
    program: impl FnOnce() -> F + 'static,
) -> F::Output {
    let output = Rc::new(Cell::new(None));
    let own = output.clone();
    run_once(host, || async move { own.set(Some(program().await)) });
    assert_eq!(host.ended().await, HostEnd::Returned);
    output.take().expect("it has returned")
}

/// Waits for ever. A waker of the task exists meanwhile, or the task would end.
async fn forever() {
    let (_sender, receiver) = oneshot::channel::<()>();
    let _ = receiver.await;
}

/// Runs a program with this number of seeds.
fn each_seed<F: Future>(seeds: u64, program: impl Fn() -> F) {
    for seed in 0..seeds {
        sim::run(seed, program());
    }
}

/// Waits for each task in turn.
async fn join(tasks: impl IntoIterator<Item: Future>) {
    for task in tasks {
        task.await;
    }
}
