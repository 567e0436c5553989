//! The two models of a cell.

use std::{
    sync::{Arc, atomic::Ordering},
    task::{Poll, Waker},
};

use joint::{
    Completion,
    completion::{Completed, Registration},
    waker::ThinWaker,
};
use joint_switch::model::Weakened;

use super::{COMPLETER, WAITER};
use crate::{
    Mark, Wakes,
    lab::{Counterexample, explain_with, name_thread, name_value, thread},
    model,
};

/// The data that must reach the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// The completer's writes before its exchange must reach the waiter that learns of the end.
    Result,
    /// The waker that the waiter made before its exchange must reach the completer that takes it.
    Waker,
}

impl Published {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Result, Self::Waker];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Waker => "waker",
        }
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// Runs the model for `published`, with these orderings of the completer's and the waiter's
/// exchange.
///
/// Calls `tell` with the counterexample as soon as there is one. The process may be aborted before
/// this function returns.
///
/// # Panics
/// If the model never reached both exchanges.
pub(super) fn decide(
    published: Published,
    completer: Ordering,
    waiter: Ordering,
    tell: impl Fn(&Counterexample) + Send + Sync + 'static,
) -> Result<(), Box<Counterexample>> {
    let completer = Weakened::new(COMPLETER, completer);
    let waiter = Weakened::new(WAITER, waiter);
    let outcome = explain_with(tell, || match published {
        Published::Result => model(result),
        Published::Waker => model(waker),
    });
    assert!(
        outcome.is_err() || completer.is_reached() && waiter.is_reached(),
        "the model never came to both exchanges"
    );
    outcome
}

struct Shared {
    word: Completion,
    result: Mark,
}

fn share() -> Arc<Shared> {
    name_thread("waiter");
    for (value, name) in [(0, "PENDING"), (1, "DONE")] {
        name_value(value, name);
    }
    Arc::new(Shared {
        word: Completion::new(),
        result: Mark::named("result"),
    })
}

/// Returns the waker that the completer takes.
fn complete(shared: &Shared) -> Option<ThinWaker> {
    // SAFETY: it is alive because it is borrowed, and the completer calls this once.
    match unsafe { Completion::raw_complete(&raw const shared.word) } {
        Completed::Wake(waker) => Some(waker),
        _ => None,
    }
}

fn poll(shared: &Shared, waker: &Waker) -> bool {
    // SAFETY: it is alive because it is borrowed, and the waiter never detaches.
    let poll =
        unsafe { Completion::raw_poll(&raw const shared.word, waker, &mut Registration::new()) };
    matches!(poll, Poll::Ready(_))
}

/// The waiter that learns of the end looks at what the completer has written. The completer does
/// not look into the waker that it takes, which the waiter drops in the end.
fn result() {
    let shared = share();
    let completers = shared.clone();
    let completer = thread::spawn(move || {
        name_thread("completer");
        completers.result.write();
        complete(&completers)
    });
    if poll(&shared, Waker::noop()) {
        shared.result.read();
    }
    drop(completer.join().expect("a panic ends the model before"));
}

/// The completer that takes the waker looks into it.
fn waker() {
    let shared = share();
    let completers = shared.clone();
    let completer = thread::spawn(move || {
        name_thread("completer");
        if let Some(waker) = complete(&completers) {
            waker.wake();
        }
    });
    let wakes = Wakes::new();
    poll(&shared, &wakes.waker());
    completer.join().expect("a panic ends the model before");
}
