//! The sentences about a counterexample: why it failed, and which half of which operation would
//! have prevented it.

use joint_facade::lacking;

use super::{
    counterexample::Counterexample,
    event::Step,
    text,
    verdict::{self, Missed, Missing, Verdict},
};

impl Counterexample {
    pub(super) fn race_sentence(&self, first: usize, second: usize, missing: &[Missing]) -> String {
        let race = format!(
            "{} is not ordered before {}.",
            capital(&self.access(first)),
            self.access(second)
        );
        if missing.is_empty() {
            return format!("{race} {}", self.unread_sentence(second));
        }
        format!("{race} {}", self.edge_sentences(missing))
    }

    /// No read leads from the first access to the second. Perhaps the second should not have
    /// happened.
    fn unread_sentence(&self, second: usize) -> String {
        let events = &self.trace.events;
        let thread = self.thread(events[second].lane);
        let unread = format!(
            "No read leads from the first to the second: {thread} has read nothing that was written after the first."
        );
        match verdict::stale(events, &self.known, second) {
            Some(Verdict::Stale {
                store,
                read,
                missing,
            }) => format!("{unread} {}", self.stale_sentence(store, read, &missing)),
            _ => unread,
        }
    }

    pub(super) fn stale_sentence(&self, store: usize, read: usize, missing: &[Missing]) -> String {
        format!(
            "{} did not see {}, which is not ordered before it. {}",
            capital(&self.operation(read)),
            self.operation(store),
            self.edge_sentences(missing)
        )
    }

    fn edge_sentences(&self, missing: &[Missing]) -> String {
        let edges = missing.iter().map(|edge| self.edge_sentence(edge));
        edges.collect::<Vec<_>>().join(" ")
    }

    fn edge_sentence(&self, edge: &Missing) -> String {
        let (writer, reader) = (self.operation(edge.writer), self.operation(edge.reader));
        let unsure = if self.known.unsure[edge.reader] {
            ", or another store of the same value"
        } else {
            ""
        };
        let [first, second] = [edge.writer, edge.reader].map(|step| self.trace.events[step].order);
        let lacking = lacking(first, second, edge.release, edge.acquire);
        format!(
            "{} was read by {reader}{unsure}. {lacking}",
            capital(&writer)
        )
    }

    pub(super) fn handshake_sentence(&self, missed: &[Missed; 2]) -> String {
        let part = |one: &Missed| {
            let fence = if one.ordered { "" } else { "then no fence, " };
            let (store, read) = (self.operation(one.store), self.operation(one.read));
            format!("{store}, {fence}then {read}")
        };
        let bare = missed.iter().filter(|one| !one.ordered);
        let bare: Vec<_> = bare
            .map(|one| self.thread(self.trace.events[one.read].lane))
            .collect();
        let cure = if bare.is_empty() {
            "In both, SeqCst orders the read after the store. Either these reads are not what went \
             wrong, or the accesses are SeqCst themselves, which loom takes for weaker ones."
                .to_owned()
        } else {
            format!(
                "A SeqCst fence between the store and the read, or SeqCst for both of them, is missing in {}; acquire and release do not order a store before a later read of another place.",
                bare.join(" and in ")
            )
        };
        format!(
            "Each thread missed the other's store: {}; {}. {cure}",
            part(&missed[0]),
            part(&missed[1])
        )
    }

    pub(super) fn thread(&self, lane: usize) -> String {
        let name = self.trace.names.get(lane).cloned().flatten();
        let main = if lane == 0 { "main" } else { "" };
        match name.as_deref().unwrap_or(main) {
            "" => format!("thread {lane}"),
            name => name.to_owned(),
        }
    }

    fn access(&self, step: usize) -> String {
        let event = &self.trace.events[step];
        let what = match event.step {
            Step::Made(_) => "creation",
            Step::Read => "read",
            Step::Write => "write",
            Step::Exclusive(_) => "exclusive access",
            _ => "atomic access",
        };
        format!(
            "the {what} of {} by {} ({})",
            text::place(&self.trace, event.place),
            self.thread(event.lane),
            text::source(event.source)
        )
    }

    fn operation(&self, step: usize) -> String {
        let event = &self.trace.events[step];
        let name = event
            .site
            .map(|site| format!("{site}, "))
            .unwrap_or_default();
        format!(
            "{}'s {} ({name}{:?}, {})",
            self.thread(event.lane),
            text::verb(event),
            event.order,
            text::source(event.source)
        )
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
