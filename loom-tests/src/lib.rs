//! Helpers that the models share. Empty unless the crate is built for the model checker
//! (`--cfg joint_loom`).
#![cfg(joint_loom)]

#[cfg_attr(
    not(all(
        target_os = "linux",
        target_env = "gnu",
        target_pointer_width = "64",
        not(joint_check)
    )),
    path = "stacks_elsewhere.rs"
)]
mod stacks;

use std::{
    cell::Cell,
    future::{Future, poll_fn},
    panic::resume_unwind,
    path::Path,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::{Duration, Instant},
};

use joint_switch::model::FencesTakeTurns;

pub mod event;
pub mod lab;
pub mod matrix;
mod stopping;

use lab::cell::UnsafeCell;

pub use joint_lab::Wakes;
pub use joint_switch::model::rmw_count;
pub use stopping::{Stop, each_step, stopping};

/// Runs `f` in every order that the model checker explores.
///
/// If the environment variable `JOINT_LOOM_RUNS` is set, every model prints how often it ran, and
/// for how many seconds.
pub fn model(f: impl Fn() + Send + Sync + 'static) {
    check(loom::model::Builder::new(), f);
}

/// Does the same as [`model`], but explores only orders with at most `preemptions` preemptions,
/// unless the environment variable `JOINT_LOOM_FULL` is 1.
pub fn model_bounded(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    let full = std::env::var_os("JOINT_LOOM_FULL").is_some_and(|full| full == "1");
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = (!full).then_some(preemptions);
    check(builder, f);
}

/// Does the same as [`model_bounded`] for runs of many operations, and also if the environment
/// variable is set. It explores nothing until `f` calls `loom::explore`.
pub fn model_window(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.expect_explicit_explore = true;
    check(builder, f);
}

fn check(mut builder: loom::model::Builder, f: impl Fn() + Send + Sync + 'static) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let started = Instant::now();
    if cfg!(joint_check) {
        builder.max_duration = builder.max_duration.map(left);
    }
    explained(|| {
        lab::check(&builder, move || {
            counted.fetch_add(1, Ordering::Relaxed);
            let _turns = FencesTakeTurns::new();
            f();
        });
    });
    if std::env::var_os("JOINT_LOOM_RUNS").is_some() {
        let thread = std::thread::current();
        let is_bounded = builder.preemption_bound.is_some();
        eprintln!(
            "RUNS {} {} {:.4}{}",
            thread.name().unwrap_or("model"),
            runs.load(Ordering::Relaxed),
            started.elapsed().as_secs_f64(),
            if is_bounded { " bounded" } else { "" }
        );
    }
}

/// The part of a limit that is left for the next model of a test, so that a test of many models
/// ends as well. Each has a tenth of the limit at least.
fn left(limit: Duration) -> Duration {
    // Each test runs on a thread of its own.
    std::thread_local!(static STARTED: Instant = Instant::now());
    let elapsed = STARTED.with(Instant::elapsed);
    limit.saturating_sub(elapsed).max(limit / 10)
}

/// Runs models. If the environment variable `JOINT_LOOM_EXPLAIN` is 1, shows the execution in which
/// one fails. If it names a folder, also writes a picture there.
fn explained(models: impl FnOnce()) {
    let Some(folder) = std::env::var_os(EXPLAIN).filter(|_| !lab::is_recording()) else {
        return models();
    };
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("model").replace("::", "-");
    let show = move |failure: &lab::Counterexample| {
        eprint!("{}", failure.text());
        if folder != "1" {
            let file = Path::new(&folder).join(format!("{test}.svg"));
            std::fs::write(&file, failure.svg(&test)).expect("the folder can be written to");
        }
    };
    if let Err(failure) = lab::explain_with(show, models) {
        resume_unwind(Box::new(failure.message().to_owned()));
    }
}

const EXPLAIN: &str = "JOINT_LOOM_EXPLAIN";

/// Does the same as [`model`] twice, so that each side of a handshake comes first once: the thread
/// that calls [`others_first`], and the threads that it has started before.
///
/// loom remembers only the last access of each location. A thread that looks at a location before
/// its exchange thereby hides what another thread has read there before, and the exchange is not
/// tried before that. It is if the thread comes first.
pub fn model_from_both_sides(f: impl Fn() + Send + Sync + 'static) {
    // joint-check tries every order, whichever side comes first.
    if cfg!(joint_check) {
        return model(f);
    }
    let f = Arc::new(f);
    for others in [false, true] {
        OTHERS_FIRST.set(others);
        let f = f.clone();
        model(move || f());
    }
}

/// The place in a [`model_from_both_sides`] where the other threads may come first. It makes no
/// edge from them to the caller.
pub fn others_first() {
    if OTHERS_FIRST.get() {
        // The threads take turns in the order in which they were started.
        lab::thread::spawn(|| {}).join().unwrap();
    }
}

std::thread_local! {
    static OTHERS_FIRST: Cell<bool> = const { Cell::new(false) };
}

/// Returns how many atomic read-modify-writes `f` makes.
pub fn rmws_of<R>(f: impl FnOnce() -> R) -> usize {
    let before = rmw_count();
    f();
    rmw_count() - before
}

/// Makes a test of each row of a table: its name, and the model that it runs.
#[macro_export]
macro_rules! models {
    ($($(#[$attribute:meta])* $name:ident: $model:expr;)*) => {$(
        $(#[$attribute])*
        #[test]
        fn $name() {
            $model;
        }
    )*};
}

/// Makes two tests of each row of a table, with the one argument and with the other.
#[macro_export]
macro_rules! models_of {
    ($one:expr, $other:expr; $($of_one:ident / $of_other:ident: $model:expr;)*) => {$(
        #[test]
        fn $of_one() {
            $model($one);
        }

        #[test]
        fn $of_other() {
            $model($other);
        }
    )*};
}

/// Demands that the model of a test fails, and says these texts. It runs in a process of its own,
/// which a model that fails may end.
///
/// # Panics
/// If it passes, or fails otherwise.
pub fn fails_with(test: &str, texts: &[&str], model: impl FnOnce()) {
    const INNER: &str = "JOINT_LOOM_FAILS";
    if std::env::var_os(INNER).is_some() {
        model();
        std::process::exit(0);
    }
    let inner = std::process::Command::new(std::env::current_exe().expect("a test is a program"))
        .args([test, "--exact", "--nocapture"])
        .env(INNER, "1")
        .output()
        .expect("a test can be run again");
    let said = String::from_utf8_lossy(&inner.stderr);
    assert!(!inner.status.success(), "the model passes: {said}");
    for text in texts {
        assert!(said.contains(text), "it failed otherwise: {said}");
    }
}

/// Runs `f` on a thread of the model, with its own clone of what the threads share.
#[track_caller]
pub fn start<T: Clone + 'static, R: 'static>(
    shared: &T,
    f: impl FnOnce(T) -> R + 'static,
) -> lab::thread::JoinHandle<R> {
    let shared = shared.clone();
    lab::thread::spawn(move || f(shared))
}

/// Waits for the threads of a race.
///
/// # Panics
/// If one of them has panicked.
#[track_caller]
pub fn join_all(threads: impl IntoIterator<Item = lab::thread::JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Polls with the waker of `wakes`.
pub fn poll<F: Future + Unpin>(future: &mut F, wakes: &Arc<Wakes>) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(&wakes.waker()))
}

/// Is ready at its second poll. At the first it gives its waker to `to`.
pub fn second_poll(to: impl FnOnce(Waker)) -> impl Future<Output = ()> {
    let mut to = Some(to);
    poll_fn(move |cx| match to.take() {
        Some(to) => {
            to(cx.waker().clone());
            Poll::Pending
        }
        None => Poll::Ready(()),
    })
}

#[cfg(joint_check)]
use loom::sync::atomic::AtomicBool;
#[cfg(not(joint_check))]
use std::sync::atomic::AtomicBool;

/// A waker that other threads look at.
///
/// joint-check has to see the flag, which is an atomic of the model there. On loom it is none, and
/// threads do not change at a look. If they did, loom would unpark a worker of the driver that is
/// blocked in a lock, which it does not allow.
#[derive(Debug)]
pub struct Flag(AtomicBool);

impl Flag {
    /// Starts before the wake-up.
    #[allow(clippy::new_without_default, reason = "as for `Wakes`")]
    #[track_caller]
    pub fn new() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(false)))
    }

    /// Returns whether it was woken.
    pub fn is_up(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A place that one thread writes and others read. It is not atomic and orders nothing, so accesses
/// that nothing else orders are a race, which the model reports.
#[derive(Debug)]
pub struct Mark(UnsafeCell<()>);

// SAFETY: the cell holds nothing, and the model reports accesses that race.
unsafe impl Send for Mark {}
// SAFETY: as for `Send`.
unsafe impl Sync for Mark {}

impl Mark {
    /// Starts unwritten. Explanations show it by this name.
    #[track_caller]
    pub fn named(name: &'static str) -> Self {
        Self(UnsafeCell::new(()).named(name))
    }

    /// Reads the mark.
    #[track_caller]
    pub fn read(&self) {
        self.0.with(|_| ());
    }

    /// Writes the mark.
    #[track_caller]
    pub fn write(&self) {
        self.0.with_mut(|_| ());
    }
}

/// Counts how many values were made, and how many of them were dropped.
#[derive(Clone, Debug, Default)]
pub struct Drops(Arc<(AtomicUsize, AtomicUsize)>);

impl Drops {
    /// Makes a value that is counted here.
    #[track_caller]
    pub fn value(&self) -> Value {
        self.0.0.fetch_add(1, Ordering::Relaxed);
        Value {
            whole: Mark::named("value"),
            drops: self.clone(),
        }
    }

    /// Demands that `made` values were made, and that each was dropped.
    ///
    /// # Panics
    /// If the counts are different.
    #[track_caller]
    pub fn assert_all_of(&self, made: usize) {
        assert_eq!(self.0.0.load(Ordering::Relaxed), made, "values made");
        assert_eq!(self.0.1.load(Ordering::Relaxed), made, "values dropped");
    }
}

/// A value that must be seen whole. If a thread looks at it or drops it without having received it
/// properly, that is a race, which the model reports.
#[derive(Debug)]
pub struct Value {
    whole: Mark,
    drops: Drops,
}

impl Value {
    /// Looks at the value.
    #[track_caller]
    pub fn look(&self) {
        self.whole.read();
    }

    /// Accesses the value exclusively: every other use of it must happen before this.
    #[track_caller]
    pub fn take(&self) {
        self.whole.write();
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        // A model that is failing already is left alone, because a second panic would abort the
        // test program.
        if !std::thread::panicking() {
            self.whole.write();
            self.drops.0.1.fetch_add(1, Ordering::Relaxed);
        }
    }
}
