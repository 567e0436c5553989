//! Finds where two runs differ that should be the same.

use std::fmt::Write;

use super::super::{
    record::{Event, What},
    trace::Trace,
};

pub(super) fn difference(one: &Trace, other: &Trace) -> Option<String> {
    let pairs = one.events.iter().zip(&other.events);
    let same = pairs.take_while(|(one, other)| one == other).count();
    let (first, second) = (one.events.get(same), other.events.get(same));
    if first.is_none() && second.is_none() {
        return None;
    }
    let shown = |run: &Trace, event: Option<&Event>| match event {
        Some(event) => format!("{event} ({})", run.shown(event.actor)),
        None => "the end".to_string(),
    };
    let mut text = format!(
        "two runs with the same seed differ, so the seed does not decide everything\n\
        event {same} is the first that differs:\n  in the first run:  {}\n  in the second run: {}\n",
        shown(one, first),
        shown(other, second),
    );
    let ran = |event: &&Event| matches!(event.what, What::Ran { .. });
    if let Some(before) = one.events[..same].iter().rfind(ran) {
        let _ = writeln!(
            text,
            "the last that ran before it: {}",
            one.shown(before.actor)
        );
    }
    text += "the usual suspects are hash maps with random state, real time (std::time), threads, \
        addresses as numbers, and state that is left from the run before\n";
    Some(text)
}
