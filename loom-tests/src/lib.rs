//! What the models share. Empty unless the crate is built for the model checker (`--cfg joint_loom`).
#![cfg(joint_loom)]

mod asked;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Wake, Waker},
};

use joint::model::{FencesTakeTurns, Weakened, sites_seen};

pub mod lab;
pub mod matrix;

use lab::cell::UnsafeCell;

pub use joint::model::rmw_count;

/// Runs `f` in every order that the model checker knows.
pub fn model(f: impl Fn() + Send + Sync + 'static) {
    check(None, f);
}

/// As [`model`], but only the orders in which threads are preempted no more than `preemptions` times, unless the environment
/// says `JOINT_LOOM_FULL=1`.
pub fn model_bounded(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    let full = std::env::var_os("JOINT_LOOM_FULL").is_some_and(|full| full == "1");
    check((!full).then_some(preemptions), f);
}

fn check(preemptions: Option<usize>, f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    let _asked = asked::Asked::new();
    explained(|| {
        lab::check(&builder, move || {
            let _turns = FencesTakeTurns::new();
            f();
        });
    });
}

/// Runs models, and where the environment says `JOINT_LOOM_EXPLAIN=1` shows the execution in which one fails. It may also name
/// a folder, which then gets a picture.
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

/// How many atomic read-modify-writes `f` makes.
pub fn rmws_of<R>(f: impl FnOnce() -> R) -> usize {
    let before = rmw_count();
    f();
    rmw_count() - before
}

/// Runs a model with one ordering weakened, and demands that it fails. A test calls it once, as all that it does.
///
/// A model that fails may end its whole process: the destructors of what it leaves behind are outside of any model. So the test
/// runs itself again in a process of its own, and there the model. Where something else is changed for the whole process
/// (`cargo xtask mutants`), it does nothing.
///
/// # Panics
/// When the model passes, or never comes to the site: it is no test of that ordering.
pub fn assert_killed<M: FnOnce()>(site: &str, ordering: Ordering, model: M) {
    if asked::is_any() {
        asked::report(asked::WEAKENS);
        return;
    }
    if std::env::var_os(INNER).is_some() {
        std::process::exit(run_weakened(site, ordering, model));
    }
    let status = Command::new(std::env::current_exe().expect("a test is a program"))
        .args([
            &test_name::<M>(),
            "--exact",
            "--include-ignored",
            "--nocapture",
        ])
        .env(INNER, "1")
        .stdout(Stdio::null())
        .stderr(if std::env::var_os(EXPLAIN).is_some() {
            Stdio::inherit()
        } else {
            Stdio::null()
        })
        .status()
        .expect("a test can be run again");
    match status.code() {
        Some(KILLED) | None => {}
        Some(SURVIVED) => panic!("the model passes with `{site}` weakened to {ordering:?}"),
        Some(UNSEEN) => panic!("the model never comes to `{site}`"),
        Some(code) => panic!("the test did not run itself again, but ended with {code}"),
    }
}

/// Set in the process that is to run the weakened model.
const INNER: &str = "JOINT_LOOM_WEAKENED";
/// How that process ends. One that is aborted has no code.
const KILLED: i32 = 90;
const SURVIVED: i32 = 91;
const UNSEEN: i32 = 92;

fn run_weakened(site: &str, ordering: Ordering, model: impl FnOnce()) -> i32 {
    let _weakened = Weakened::new(site, ordering);
    let outcome = catch_unwind(AssertUnwindSafe(model));
    let seen = sites_seen().iter().any(|(name, _)| name == site);
    match outcome {
        _ if !seen => UNSEEN,
        Ok(()) => SURVIVED,
        Err(_) => KILLED,
    }
}

/// The test that is running: the name of its thread, or, where all tests run on the main thread, of the test that `M` is a
/// closure of.
fn test_name<M>() -> String {
    let thread = std::thread::current();
    if let Some(name) = thread.name().filter(|&name| name != "main") {
        return name.to_string();
    }
    let path = std::any::type_name::<M>();
    let (_, path) = path.split_once("::").unwrap_or(("", path));
    path.trim_end_matches("::{{closure}}").to_string()
}

/// A counting waker's other side.
///
/// The counts are not the model's atomics: they make no edges that could hide a missing one. Each wake-up reads a cell that was
/// written where this was made, so a wake-up that does not happen after that is a race which the model reports: make it in the
/// thread that waits.
#[derive(Debug)]
pub struct Wakes {
    count: AtomicUsize,
    made: UnsafeCell<()>,
}

// SAFETY: the cell holds nothing, and is only looked at.
unsafe impl Send for Wakes {}
// SAFETY: as for `Send`.
unsafe impl Sync for Wakes {}

impl Wakes {
    /// No wake-ups yet.
    #[allow(clippy::new_without_default, reason = "where it is made matters")]
    #[track_caller]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            count: AtomicUsize::new(0),
            made: UnsafeCell::new(()).named("waker"),
        })
    }

    /// A waker that counts here. To the crate it is a foreign one.
    pub fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(self.clone())
    }

    /// How many wake-ups there were.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// How many of its wakers, and clones of them, are alive.
    pub fn wakers(self: &Arc<Self>) -> usize {
        Arc::strong_count(self) - 1
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.made.with(|_| ());
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

/// How many values of a kind there were, and how many of them were dropped.
#[derive(Clone, Debug, Default)]
pub struct Drops(Arc<(AtomicUsize, AtomicUsize)>);

impl Drops {
    /// A value that is counted here.
    #[track_caller]
    pub fn value(&self) -> Value {
        self.0.0.fetch_add(1, Ordering::Relaxed);
        Value {
            whole: UnsafeCell::new(()).named("value"),
            drops: self.clone(),
        }
    }

    /// Demands that so many values were made, and each was dropped.
    ///
    /// # Panics
    /// When it was otherwise.
    #[track_caller]
    pub fn assert_all_of(&self, made: usize) {
        assert_eq!(self.0.0.load(Ordering::Relaxed), made, "values made");
        assert_eq!(self.0.1.load(Ordering::Relaxed), made, "values dropped");
    }
}

/// A value that must be seen whole: to look at it, or to drop it, in a thread that it has not properly reached is a race which
/// the model reports.
#[derive(Debug)]
pub struct Value {
    whole: UnsafeCell<()>,
    drops: Drops,
}

// SAFETY: the cell holds nothing; it is looked at by reference, and taken by the one owner.
unsafe impl Send for Value {}
// SAFETY: as for `Send`.
unsafe impl Sync for Value {}

impl Value {
    /// Looks at it.
    #[track_caller]
    pub fn look(&self) {
        self.whole.with(|_| ());
    }

    /// Takes it for itself: whatever others did with it must be over.
    #[track_caller]
    pub fn take(&self) {
        self.whole.with_mut(|_| ());
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        // A model that is failing already is left alone: a second panic would end the test program.
        if !std::thread::panicking() {
            self.whole.with_mut(|_| ());
            self.drops.0.1.fetch_add(1, Ordering::Relaxed);
        }
    }
}
