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
            Step::Wait | Step::Await => {
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
            Step::Lock | Step::ReadLock => {
                let locks = format!("{thread} locks {}{} at {at}", place(), self.purpose(event));
                match cause.map(|lock| (lock, &self.trace.events[lock])) {
                    Some((lock, held)) => {
                        let holder = if held.lane == event.lane {
                            "it has held itself".to_owned()
                        } else {
                            format!("{} has held", self.thread(held.lane))
                        };
                        let holder = holder + self.purpose(held);
                        let (row, at) = (self.row(lock), self.source_of(lock));
                        format!("{locks}, which {holder} since step {row} ({at}).")
                    }
                    None => format!("{locks}, which is never unlocked."),
                }
            }
            Step::Receive => {
                let why = match cause {
                    Some(sent) => self.received(sent),
                    None => "none is sent there".to_owned(),
                };
                format!(
                    "{thread} receives from {} at {at} and never gets a message: {why}. \
                     loom's receiver also waits if all senders are dropped.",
                    place()
                )
            }
            Step::Join(token) => {
                let joined = text::lane_of(self, token);
                format!("{thread} joins {joined} at {at}, which never ends.")
            }
            _ => format!("{thread} never returns from {at}."),
        }
    }

    /// Says when a message was sent, and when it was received.
    fn received(&self, sent: usize) -> String {
        let place = self.trace.events[sent].place;
        let mut later = self.trace.events.iter().enumerate().skip(sent);
        let received = later.rfind(|(_, event)| {
            (event.step, event.place) == (Step::Receive, place) && !event.stuck
        });
        let sent = self.at("the last one was sent", sent);
        match received {
            Some((received, _)) => format!("{sent} and {}", self.at("was received", received)),
            None => sent,
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
        let what = match waits.step {
            Step::Park => "woke its park",
            Step::Await => "ended its wait",
            _ => return early,
        };
        match woken.next() {
            Some((woken, _)) => format!("{early}, and {}", self.at(what, woken)),
            None => early,
        }
    }

    /// Says whether a lock is taken for reading or for writing, if it can be either.
    fn purpose(&self, lock: &Event) -> &'static str {
        match lock.step {
            Step::ReadLock => " for reading",
            _ if self.is_read_write(lock) => " for writing",
            _ => "",
        }
    }

    pub(super) fn is_read_write(&self, event: &Event) -> bool {
        event
            .place
            .is_some_and(|place| self.trace.places[place].kind == "RwLock")
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

    /// The last step that could have woken a thread which never returns, or the lock that it waits
    /// for.
    pub(super) fn cause(&self, stuck: usize) -> Option<usize> {
        let events = &self.trace.events;
        let event = &events[stuck];
        let wakes = |other: &Event| match event.step {
            Step::Park => other.step == Step::Unpark(Some(event.lane)),
            _ if other.place != event.place => false,
            Step::Wait => matches!(other.step, Step::Notify { .. }),
            Step::Await => other.step == Step::Signal,
            Step::Receive => other.step == Step::Send,
            _ => false,
        };
        match event.step {
            Step::Lock | Step::ReadLock => held(events, event.place).first().copied(),
            _ => events.iter().rposition(wakes),
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

/// The locks of a place that have not been unlocked.
fn held(events: &[Event], place: Option<usize>) -> Vec<usize> {
    let mut held: Vec<usize> = Vec::new();
    let here = events.iter().enumerate();
    for (index, event) in here.filter(|(_, event)| event.place == place && !event.stuck) {
        match event.step {
            Step::Lock | Step::ReadLock => held.push(index),
            Step::Unlock | Step::ReadUnlock => {
                let mine = held
                    .iter()
                    .rposition(|&lock| events[lock].lane == event.lane);
                mine.map(|mine| held.remove(mine));
            }
            _ => {}
        }
    }
    held
}
