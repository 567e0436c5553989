//! The replicated log: section 5.3 of the paper.

use super::message::Request;

pub(crate) type Term = u64;

/// The place of an entry in the log. The first entry has index 1.
pub(crate) type Index = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The term in which a leader received it.
    pub(crate) term: Term,
    pub(crate) command: Command,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// A new leader appends it, in order to learn what is committed (section 8).
    Nothing,
    Request(Request),
}

/// An entry's index and term, which identify it and all entries before it (section 5.3).
///
/// Their order is the one of section 5.4.1: the log whose last entry has the later term is more up
/// to date, and if the terms are equal, the longer log is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) term: Term,
    pub(crate) index: Index,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    entries: Vec<Entry>,
}

impl Log {
    pub(crate) fn last_index(&self) -> Index {
        self.entries.len() as Index
    }

    pub(crate) fn last(&self) -> Position {
        self.position(self.last_index())
    }

    /// The position of the entry with this index, or the start of the log for index 0.
    pub(crate) fn position(&self, index: Index) -> Position {
        let term = self.get(index).map_or(0, |entry| entry.term);
        Position { term, index }
    }

    pub(crate) fn get(&self, index: Index) -> Option<&Entry> {
        self.entries.get((index as usize).checked_sub(1)?)
    }

    /// Whether the log has this entry. Then it has all entries before it too (log matching).
    pub(crate) fn contains(&self, position: Position) -> bool {
        position.index <= self.last_index() && self.position(position.index) == position
    }

    /// At most `most` entries behind the one with this index.
    pub(crate) fn after(&self, index: Index, most: usize) -> &[Entry] {
        let rest = &self.entries[index as usize..];
        &rest[..most.min(rest.len())]
    }

    pub(crate) fn push(&mut self, entry: Entry) -> Index {
        self.entries.push(entry);
        self.last_index()
    }

    pub(crate) fn truncate(&mut self, last: Index) {
        self.entries.truncate(last as usize);
    }

    /// Steps 3 and 4 of AppendEntries (figure 2): if an existing entry conflicts with a new one,
    /// deletes it and all that follow it; then appends the entries that the log lacks.
    ///
    /// Entries behind the last new one stay if there is no conflict, because the message may be an
    /// old one that arrives late. Returns whether the log has changed.
    pub(crate) fn merge(&mut self, previous: Index, entries: &[Entry]) -> bool {
        let mut index = previous;
        for (n, entry) in entries.iter().enumerate() {
            index += 1;
            if self.position(index).term != entry.term {
                self.truncate(index - 1);
                self.entries.extend_from_slice(&entries[n..]);
                return true;
            }
        }
        false
    }
}
