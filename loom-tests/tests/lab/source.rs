//! Models of the real source with one site weakened: the counterexample names exactly the half that
//! was taken away.
//!
//! Each runs in a process of its own, because a failed model can abort the process later.

use std::{
    future::{Future, ready},
    io::Write,
    pin::pin,
    process::{Command, exit},
    sync::atomic::Ordering::{self, Acquire, Relaxed, Release},
    task::{Context, Waker},
};

use joint::{oneshot, task};
use joint_flow::shared;
use joint_switch::model::Weakened;
use loom_tests::{
    Drops,
    lab::{Counterexample, explain_with, thread},
    model_from_both_sides, others_first,
};

/// Set to the number of a row in the process that runs its model.
const INNER: &str = "JOINT_LAB_INNER";

/// The site that is weakened, to which ordering, the half that it lacks then, and the model.
type Row = (&'static str, Ordering, &'static str, fn());

const ROWS: [Row; 6] = [
    ("completion::poll", Relaxed, "acquire", a_value),
    (
        "completion::slotted::unobserved",
        Relaxed,
        "release",
        a_value,
    ),
    ("completion::detach", Release, "acquire", a_task),
    ("task::state::cancel", Relaxed, "release", a_task),
    (
        "flow::shared::waiters::done",
        Acquire,
        "release",
        a_shared_value,
    ),
    (
        "flow::shared::waiters::done",
        Release,
        "acquire",
        a_shared_value,
    ),
];

#[test]
fn a_weakened_site_lacks_exactly_the_half_that_was_taken_away() {
    if let Ok(row) = std::env::var(INNER) {
        let (site, weaker, _, model) = ROWS[row.parse::<usize>().expect("a number")];
        let _weakened = Weakened::new(site, weaker);
        let _ = explain_with(tell, || model_from_both_sides(model));
        exit(1);
    }
    for (row, (site, _, half, _)) in ROWS.iter().enumerate() {
        let output = Command::new(std::env::current_exe().expect("a test is a program"))
            .args(["source::", "--nocapture"])
            .env(INNER, row.to_string())
            .output()
            .expect("a test can be run again");
        let said = String::from_utf8(output.stdout).expect("the lab writes UTF-8");
        assert_eq!(output.status.code(), Some(0), "the model passes: {said}");
        let missing = said.lines().filter_map(|line| line.split_once("missing: "));
        let missing: Vec<_> = missing.map(|(_, half)| half).collect();
        assert_eq!(missing, [format!("{site} {half}")], "{said}");
    }
}

fn tell(failure: &Counterexample) {
    let mut out = std::io::stdout().lock();
    for (site, half) in failure.missing() {
        writeln!(out, "missing: {site} {half}").expect("the parent process reads the output");
    }
    out.flush().expect("the parent process reads the output");
    exit(0);
}

/// A value that is sent while its receiver looks for it.
fn a_value() {
    let drops = Drops::default();
    let (sender, mut receiver) = oneshot::channel();
    thread::spawn(move || drop(sender.send(drops.value())));
    others_first();
    if let Ok(value) = receiver.try_recv() {
        value.look();
    }
}

/// A task that ends while its handle is dropped.
fn a_task() {
    let drops = Drops::default();
    let value = drops.value();
    let (runnable, handle) = task::spawn(ready(value), |_| ());
    let runner = thread::spawn(move || {
        runnable.run();
    });
    drop(handle);
    runner.join().expect("a panic ends the model before");
}

/// A shared result whose waiter registers meanwhile.
fn a_shared_value() {
    let drops = Drops::default();
    let (sender, shared) = shared::channel();
    thread::spawn(move || sender.send(drops.value()));
    let mut wait = pin!(shared.wait());
    let _ = wait.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    if let Ok(Some(value)) = shared.try_get() {
        value.look();
    }
}
