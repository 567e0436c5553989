//! The record of what the clients have called and found, which they share.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::history::{Call, History, LINEARIZABILITY, Operation, Shown};

/// The history of the register. A clone is another handle to the same record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    history: History<Name>,
    /// The number of calls and returns so far. It is the time of the history.
    now: usize,
    /// The first return that no order explains: when it was, and what it was.
    violation: Option<(usize, String)>,
}

/// The number of a client.
#[derive(Clone, Copy, Debug)]
struct Name(u64);

const NOT_LINEARIZABLE: &str = "the history is not linearizable";

/// There is one register.
const KEY: u64 = 0;

impl Record {
    /// Notes that a client calls an operation, and returns the number of the call.
    pub(crate) fn called(&self, client: u64, operation: Operation) -> usize {
        let mut state = self.lock();
        state.now += 1;
        let now = state.now;
        state.history.call(now, Name(client), KEY, operation)
    }

    /// Notes that an operation has returned what it has found, if it tells.
    ///
    /// # Panics
    /// If no order of the operations explains it. The message is the same for all histories, so
    /// that a shorter one counts as the same failure.
    pub(crate) fn returned(&self, call: usize, found: Option<u64>) {
        let mut state = self.lock();
        state.now += 1;
        let now = state.now;
        let returned = state.history.returned(now, call, found);
        let violation = returned.err().map(|text| (now, text));
        state.violation = state.violation.take().or(violation);
        assert!(state.violation.is_none(), "{}", NOT_LINEARIZABLE);
    }

    /// Returns how many operations were called, and how many of them have returned.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.history.calls().len(), state.history.len())
    }

    /// # Errors
    /// If no order of the operations explains what was found: how that shows, and a picture.
    pub(crate) fn check(&self) -> Result<(), (String, String)> {
        let State {
            history, violation, ..
        } = &*self.lock();
        violation.as_ref().map_or(Ok(()), |(end, text)| {
            let text = format!("{LINEARIZABILITY}: {text}");
            Err((text, picture(history.calls(), *end)))
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

/// Draws each operation up to this moment as a line, from its call to its return.
fn picture(calls: &[Call<Name>], end: usize) -> String {
    let until_then = calls.iter().filter(|call| call.called <= end);
    let lines = until_then.map(|call| {
        let returned = call.returned.filter(|&(at, _)| at <= end);
        let found = match returned {
            Some((_, Some(found))) => format!(" found {found}"),
            Some((_, None)) => String::new(),
            None => " ...".to_owned(),
        };
        let till = returned.map_or(end, |(at, _)| at);
        format!(
            "{:<4}{:<8}{}|{}|{found}\n",
            call.client.to_string(),
            Shown(call.key, call.operation).to_string(),
            " ".repeat(call.called - 1),
            "-".repeat(till - call.called)
        )
    });
    lines.collect()
}
