//! The sentences about threads that never return and about handles that are never dropped.

use super::{
    counterexample::Counterexample,
    event::{Event, Step},
    text, verdict,
};

impl Counterexample {
    /// Says for each thread why it never returns. Threads that only wait for others come last.
    pub(super) fn stuck_sentence(&self, steps: &[usize]) -> String {
        let joins = |step: &&usize| matches!(self.trace.events[**step].step, Step::Join(_));
        let causes = steps.iter().filter(|step| !joins(step));
        let all = causes.chain(steps.iter().filter(joins));
        let mut said: Vec<_> = all.map(|&step| self.blocked(step)).collect();
        let blocked = self.message.matches("Blocked").count();
        if let Some(others @ 1..) = blocked.checked_sub(steps.len()) {
            said.push(format!(
                "Threads that never return from an operation that is not recorded: {others}."
            ));
        }
        said.join(" ")
    }

    fn blocked(&self, step: usize) -> String {
        let event = &self.trace.events[step];
        let (thread, at) = (self.thread(event.lane), text::source(event.source));
        let place = || text::place(&self.trace, event.place);
        let cause = self.cause(step);
        match event.step {
            Step::Park => {
                let why = match cause {
                    Some(unpark) => self.too_early("unpark", unpark, event),
                    None => "no thread unparks it".to_owned(),
                };
                format!("{thread} parks at {at} and is never unparked: {why}.")
            }
            Step::Wait => {
                let why = match cause {
                    Some(late) if late >= event.after => {
                        format!("{} woke another thread", self.at("the notification", late))
                    }
                    Some(early) => self.too_early("notification", early, event),
                    None => "no thread notifies it".to_owned(),
                };
                format!(
                    "{thread} waits for {} at {at} and is never notified: {why}.",
                    place()
                )
            }
            Step::Lock => {
                let locks = format!("{thread} locks {} at {at}", place());
                match cause.map(|lock| (lock, self.trace.events[lock].lane)) {
                    Some((lock, lane)) => {
                        let holder = if lane == event.lane {
                            "it has held itself".to_owned()
                        } else {
                            format!("{} has held", self.thread(lane))
                        };
                        let (row, at) = (self.row(lock), self.source_of(lock));
                        format!("{locks}, which {holder} since step {row} ({at}).")
                    }
                    None => format!("{locks}, which is never unlocked."),
                }
            }
            Step::Join(token) => {
                let joined = text::lane_of(self, token);
                format!("{thread} joins {joined} at {at}, which never ends.")
            }
            _ => format!("{thread} never returns from {at}."),
        }
    }

    /// Says that a wake-up came before the thread began to wait, and what it woke instead.
    fn too_early(&self, what: &str, wake: usize, waits: &Event) -> String {
        let lane = self.trace.events[wake].lane;
        let early = format!(
            "the last {what} came at step {} ({}, {}), before it",
            self.row(wake),
            self.thread(lane),
            self.source_of(wake)
        );
        let later = self.trace.events.iter().enumerate().skip(wake + 1);
        let mut woken = later.filter(|(_, event)| {
            (event.step, event.lane, event.place) == (waits.step, waits.lane, waits.place)
                && !event.stuck
        });
        match woken.next() {
            Some((woken, _)) if waits.step == Step::Park => {
                let (row, at) = (self.row(woken), self.source_of(woken));
                format!("{early}, and woke its park at step {row} ({at})")
            }
            _ => early,
        }
    }

    fn at(&self, what: &str, step: usize) -> String {
        format!(
            "{what} at step {} ({})",
            self.row(step),
            self.source_of(step)
        )
    }

    fn source_of(&self, step: usize) -> String {
        text::source(self.trace.events[step].source)
    }

    /// The last step that could have woken a thread which never returns, or the lock of the mutex
    /// that it waits for.
    pub(super) fn cause(&self, stuck: usize) -> Option<usize> {
        let events = &self.trace.events;
        let event = &events[stuck];
        let same = |other: &Event| other.place == event.place && !other.stuck;
        match event.step {
            Step::Park => events
                .iter()
                .rposition(|other| other.step == Step::Unpark(Some(event.lane))),
            Step::Wait => events
                .iter()
                .rposition(|other| same(other) && matches!(other.step, Step::Notify { .. })),
            Step::Lock => {
                let last = events.iter().rposition(|other| {
                    same(other) && matches!(other.step, Step::Lock | Step::Unlock)
                });
                last.filter(|&last| events[last].step == Step::Lock)
            }
            _ => None,
        }
    }

    pub(super) fn leak_sentence(&self, made: &[usize]) -> String {
        let handles: Vec<_> = made.iter().map(|&step| self.leaked(step)).collect();
        let place = made.first().and_then(|&step| self.trace.events[step].place);
        let name = text::place(&self.trace, place);
        let never = match handles.len() {
            1 => "is never dropped",
            _ => "are never dropped",
        };
        format!("{name} leaks: {} {never}.", handles.join(" and "))
    }

    fn leaked(&self, step: usize) -> String {
        let event = &self.trace.events[step];
        let verb = match event.step {
            Step::Made(_) => "made",
            _ => "cloned",
        };
        let (thread, at, row) = (
            self.thread(event.lane),
            self.source_of(step),
            self.row(step),
        );
        let handle = verdict::handle(event);
        let raw = self.trace.events.iter().rfind(|other| {
            other.place == event.place
                && matches!(other.step, Step::IntoRaw(raw) if Some(raw) == handle)
        });
        let raw = raw.map_or_else(String::new, |raw| {
            format!(
                ", which became a raw pointer at {},",
                text::source(raw.source)
            )
        });
        format!("its handle that {thread} {verb} at {at} (step {row}){raw}")
    }
}
