//! Finds what a failing execution lacks: the edge that would order two racing accesses, and the
//! wake-up that would end a wait.

use joint_facade::{acquires, lacking, path};

use super::{Status, show::Show};
use crate::graph::{Graph, Id, Kind};

/// A read that would have synchronized with a write.
pub(super) struct Missing {
    write: Id,
    read: Id,
    release: bool,
    acquire: bool,
}

impl Graph {
    /// The steps right before a step, each with whether an edge to it is missing.
    fn steps_before(&self, id: Id) -> Vec<(Id, bool)> {
        let event = self.at(id);
        let mut before = Vec::new();
        match id.index {
            0 => before.extend(self.spawned[usize::from(id.thread)].filter(|_| id != Id::ROOT)),
            _ => before.push(id.previous()),
        }
        if let Kind::Join(child, until) = event.kind {
            before.extend(self.joined(child, until));
        }
        let mut before: Vec<_> = before.into_iter().map(|id| (id, false)).collect();
        // A read also synchronizes with what the exchanges before its write have read.
        let mut source = event.source.filter(|_| event.kind.is_read());
        while let Some(write) = source {
            before.push((write, !write.is_in(&event.hb)));
            source = match self.at(write).kind {
                Kind::Write { is_exchange: true } => self.at(write.previous()).source,
                _ => None,
            };
        }
        before
    }

    /// The fewest edges that would make one step happen before another. Returns nothing if no reads
    /// lead from one to the other.
    pub(super) fn missing(&self, first: Id, second: Id) -> Option<Vec<Missing>> {
        let path = path(first, second, |id| self.steps_before(id))?;
        let (mut at, mut enters) = (first, first);
        let mut found = Vec::new();
        for (id, is_missing) in path {
            if is_missing {
                let acquire = !acquires(self.at(id).outcome().1);
                let release = !enters.is_in(&self.at(at).released);
                found.push(Missing {
                    write: at,
                    read: id,
                    // If neither half is missing, a fence is on the wrong side of the access.
                    release: release || !acquire,
                    acquire,
                });
            }
            if id.thread != at.thread {
                enters = id;
            }
            at = id;
        }
        Some(found)
    }
}

impl Show<'_> {
    /// Why neither of two accesses happens before the other.
    pub(super) fn missing_edges(&self, one: Id, other: Id) -> String {
        let graph = self.graph();
        let found = graph.missing(one, other);
        let Some(found) = found.or_else(|| graph.missing(other, one)) else {
            let thread = self.thread(other.thread);
            return format!(
                "No read leads from the first to the second: {thread} has read nothing that was written after the first."
            );
        };
        self.lacking(&found)
    }

    /// What the edges lack, in words.
    pub(super) fn lacking(&self, found: &[Missing]) -> String {
        let graph = self.graph();
        let sentence = |edge: &Missing| {
            let [write, read] = [edge.write, edge.read].map(|id| self.operation(id));
            let [first, second] = [edge.write, edge.read].map(|id| graph.at(id).outcome().1);
            let lacking = lacking(first, second, edge.release, edge.acquire);
            format!("Step {write} was read by step {read}. {lacking}")
        };
        found.iter().map(sentence).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn operation(&self, id: Id) -> String {
        let (thread, ordering) = (self.thread(id.thread), self.graph().at(id).outcome().1);
        let name = self.name(id);
        let (step, at) = (self.step(id), self.at(id));
        format!("{step} ({thread}'s {name}, {ordering:?}, {at})")
    }

    fn name(&self, id: Id) -> &'static str {
        self.site(id).map_or("?", |site| site.name)
    }

    fn step_at(&self, id: Id) -> String {
        format!("step {} ({})", self.step(id), self.at(id))
    }

    /// The last step with one of these names at a location.
    fn last(&self, place: Id, names: &[&str]) -> Option<Id> {
        let is_one = |&&id: &&Id| {
            let event = self.graph().at(id);
            event.place == place && event.kind.is_read() && names.contains(&self.name(id))
        };
        self.order.iter().rev().find(is_one).copied()
    }

    /// Says what a thread waits for, and why it waits forever.
    pub(super) fn wait(&self, thread: u8) -> String {
        let lane = &self.run.lanes[usize::from(thread)];
        let name = self.thread(thread);
        let last = Id {
            thread,
            index: lane.at.saturating_sub(1),
        };
        let at = lane
            .sites
            .last()
            .map_or_else(String::new, |site| site.at.to_string());
        match lane.status {
            Status::Joining(child, _) => {
                format!("{name} waits at {at} for the end of {}", self.thread(child))
            }
            Status::Waiting => self.wait_for_a_write(last, &name, &at),
            _ => format!("{name} finds the same again and again at {at}"),
        }
    }

    fn wait_for_a_write(&self, id: Id, thread: &str, at: &str) -> String {
        let word = self.graph().at(id).place;
        let place = self.place(word);
        let newest = self.graph().order(word).next_back();
        let newest = newest.filter(|&write| write != word);
        match (self.name(id), newest) {
            ("park", _) => {
                let Some(unpark) = self.last(word, &["unpark"]) else {
                    return format!("{thread} parks at {at}, and nobody unparks it");
                };
                let taken = newest.map_or(String::new(), |taken| {
                    format!(
                        ", and the {} of {} took it",
                        self.name(taken),
                        self.step_at(taken)
                    )
                });
                format!(
                    "{thread} parks at {at} and is never unparked: the last unpark came at {}{taken}",
                    self.step_at(unpark)
                )
            }
            ("wait for a notification", _) => self.wait_for_a_notification(id, thread, at),
            (what, Some(write)) if write.thread == id.thread && self.locks(write) => format!(
                "{thread} waits at {at} in `{what}` of {place}, which it holds itself since {}",
                self.step_at(write)
            ),
            (what, Some(write)) => {
                let (writer, step) = (self.thread(write.thread), self.step_at(write));
                let did = match self.locks(write) {
                    true => "holds since",
                    false => "changed last, at",
                };
                format!(
                    "{thread} waits at {at} in `{what}` of {place}, which {writer} {did} {step}"
                )
            }
            (what, None) => {
                format!("{thread} waits at {at} in `{what}` of {place}, which nobody has changed")
            }
        }
    }

    fn locks(&self, write: Id) -> bool {
        ["lock", "try_lock", "write", "try_write"].contains(&self.name(write))
            && self.graph().at(write).place != write
    }

    /// A thread waits for a notification of the last condition variable that it has come to.
    fn wait_for_a_notification(&self, id: Id, thread: &str, at: &str) -> String {
        let own = self
            .order
            .iter()
            .rev()
            .filter(|step| step.thread == id.thread);
        let wait = own.into_iter().find(|&&step| self.name(step) == "wait");
        let Some(&wait) = wait else {
            return format!("{thread} waits at {at} for a notification");
        };
        let condvar = self.graph().at(wait).place;
        let place = self.place(condvar);
        let Some(last) = self.last(condvar, &["notify_one", "notify_all"]) else {
            return format!("{thread} waits at {at} for {place}, and nobody notifies it");
        };
        let mut later = self
            .graph()
            .order(condvar)
            .skip_while(|&write| write != wait.next());
        let is_later = later.any(|write| write.previous() == last);
        let why = if is_later {
            "woke another thread"
        } else {
            "came before it"
        };
        format!(
            "{thread} waits at {at} for {place} and is never notified: the last notification, at {}, {why}",
            self.step_at(last)
        )
    }
}
