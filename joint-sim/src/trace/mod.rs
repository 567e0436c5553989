//! [`Trace`]: everything that has happened in a run, for people to read.

mod perfetto;

use std::fmt::{self, Write};

use super::record::{Actor, Event, Named, What, fold, lines};

/// Everything that has happened in a run, if [`Builder::trace`](super::Builder::trace) asked for
/// it.
///
/// `Display` shows it as a list, with one event in each line, and repetitions folded.
/// [`write_perfetto`](Trace::write_perfetto) writes a file for <https://ui.perfetto.dev>, where it
/// is drawn.
///
/// # Example
/// ```
/// let outcome = joint_sim::Builder::new(1).trace(true).run(async {
///     joint_executor::spawn(async {}).await;
/// })?;
/// let trace = outcome.trace.unwrap();
/// let last = trace.events().last().unwrap();
/// assert_eq!((last.task(), last.step()), (Some(0), 3));
/// assert_eq!(last.to_string(), "step 3, 0ns: main finished");
/// # Ok::<(), joint_sim::Failure>(())
/// ```
#[derive(Clone, Default)]
pub struct Trace {
    pub(super) events: Vec<Event>,
    /// The tasks by their numbers. The main future has none.
    pub(super) names: Vec<Option<Named>>,
}

impl Trace {
    /// Returns all events, in the order in which they happened.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    pub(super) fn named(&self, actor: Actor) -> Option<&Named> {
        self.names.get(actor.0 as usize)?.as_ref()
    }

    pub(super) fn shown(&self, actor: Actor) -> String {
        match self.named(actor) {
            Some(named) => format!("{actor}{named}"),
            None => actor.to_string(),
        }
    }

    /// Lists what the run did for real, if it did.
    pub(super) fn real(&self) -> String {
        match lines(self.events.iter().filter(|event| is_real(event))) {
            none if none.is_empty() => none,
            real => format!("done for real, so that another run may differ:\n{real}"),
        }
    }

    /// Says where another run differs that should be the same.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        // Programs give files names that differ from run to run.
        let [own, others] = [self, other].map(|trace| {
            let simulated = trace.events.iter().filter(|event| !is_real(event));
            simulated.collect::<Vec<_>>()
        });
        let pairs = own.iter().zip(&others);
        let same = pairs.take_while(|(one, other)| one == other).count();
        let (first, second) = (own.get(same).copied(), others.get(same).copied());
        if first.is_none() && second.is_none() {
            return None;
        }
        let shown = |run: &Self, event: Option<&Event>| match event {
            Some(event) => format!("{event} ({})", run.shown(event.actor)),
            None => "the end".to_string(),
        };
        let mut text = format!(
            "two runs with the same seed differ, so the seed does not decide everything\n\
            event {same} is the first that differs:\n  in the first run:  {}\n  \
            in the second run: {}\n",
            shown(self, first),
            shown(other, second),
        );
        let ran = |event: &&&Event| matches!(event.what, What::Ran { .. });
        if let Some(before) = own[..same].iter().rfind(ran) {
            let before = self.shown(before.actor);
            let _ = writeln!(text, "the last that ran before it: {before}");
        }
        text += "the usual suspects are hash maps with random state, real time (std::time), \
            threads, addresses as numbers, and state that is left from the run before\n";
        Some(text)
    }

    /// Returns the task's own name, or else the file and the line of its spawn.
    fn short_name(&self, actor: Actor) -> String {
        let Some(named) = self.named(actor) else {
            return String::new();
        };
        match &named.name {
            Some(name) => name.as_ref().into(),
            None => {
                let file = named.spawned.file().rsplit(['/', '\\']).next();
                format!("{}:{}", file.unwrap_or_default(), named.spawned.line())
            }
        }
    }
}

fn is_real(event: &Event) -> bool {
    matches!(event.what, What::Real(_))
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fold(f, &self.events, "")
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace")
            .field("events", &self.events.len())
            .finish_non_exhaustive()
    }
}
