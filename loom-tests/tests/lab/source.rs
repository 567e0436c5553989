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

/// Set in the process that runs the model.
const INNER: &str = "JOINT_LAB_INNER";

/// Returns what the lab says about the model with the site weakened: the missing halves line by
/// line, then the text. `test` is the test that calls this function, which must be the first thing
/// that it does.
fn explained(test: &str, site: &str, weaker: Ordering, f: fn()) -> String {
    if std::env::var_os(INNER).is_some() {
        let _weakened = Weakened::new(site, weaker);
        let _ = explain_with(tell, || model_from_both_sides(f));
        exit(1);
    }
    let output = Command::new(std::env::current_exe().expect("a test is a program"))
        .args([test, "--exact", "--nocapture"])
        .env(INNER, "1")
        .output()
        .expect("a test can be run again");
    let said = String::from_utf8(output.stdout).expect("the lab writes UTF-8");
    assert_eq!(output.status.code(), Some(0), "the model passes: {said}");
    said
}

fn tell(failure: &Counterexample) {
    let mut out = std::io::stdout().lock();
    for (site, half) in failure.missing() {
        writeln!(out, "missing: {site} {half}").expect("the parent process reads the output");
    }
    out.write_all(failure.text().as_bytes())
        .expect("the parent process reads the output");
    out.flush().expect("the parent process reads the output");
    exit(0);
}

fn missing(said: &str) -> Vec<&str> {
    let lines = said.lines();
    lines
        .filter_map(|line| line.split_once("missing: ").map(|(_, half)| half))
        .collect()
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

#[test]
fn a_look_that_does_not_acquire() {
    let said = explained(
        "source::a_look_that_does_not_acquire",
        "completion::poll",
        Relaxed,
        a_value,
    );
    assert_eq!(missing(&said), ["completion::poll acquire"], "{said}");
}

#[test]
fn a_send_that_does_not_release() {
    let said = explained(
        "source::a_send_that_does_not_release",
        "completion::slotted::unobserved",
        Relaxed,
        a_value,
    );
    assert_eq!(
        missing(&said),
        ["completion::slotted::unobserved release"],
        "{said}"
    );
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

#[test]
fn a_handle_that_takes_over_without_an_acquire() {
    let said = explained(
        "source::a_handle_that_takes_over_without_an_acquire",
        "completion::detach",
        Release,
        a_task,
    );
    assert_eq!(missing(&said), ["completion::detach acquire"], "{said}");
}

#[test]
fn a_cancel_that_does_not_release() {
    let said = explained(
        "source::a_cancel_that_does_not_release",
        "task::state::cancel",
        Relaxed,
        a_task,
    );
    assert_eq!(missing(&said), ["task::state::cancel release"], "{said}");
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

#[test]
fn a_result_for_all_that_is_not_released() {
    let said = explained(
        "source::a_result_for_all_that_is_not_released",
        "flow::shared::waiters::done",
        Acquire,
        a_shared_value,
    );
    assert_eq!(
        missing(&said),
        ["flow::shared::waiters::done release"],
        "{said}"
    );
}

#[test]
fn a_list_of_waiters_that_is_not_acquired() {
    let said = explained(
        "source::a_list_of_waiters_that_is_not_acquired",
        "flow::shared::waiters::done",
        Release,
        a_shared_value,
    );
    assert_eq!(
        missing(&said),
        ["flow::shared::waiters::done acquire"],
        "{said}"
    );
}
