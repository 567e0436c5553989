//! The tables that the proof prints (`src/tables.txt`), as data.

use core::hash::Hash;
use std::{collections::HashMap, vec::Vec};

const TABLES: &str = include_str!("../../../src/tables.txt");

/// The word before, the word after, and what is left to do.
type Row<W> = (W, W, &'static str);

/// The rows of a file's part, by operation and by word before, as far as `read` knows their words.
fn rows<W: Copy + Eq + Hash>(
    file: &str,
    read: impl Fn(&'static str) -> Option<W>,
) -> HashMap<(&'static str, W), Row<W>> {
    let part = TABLES.split("# ").find_map(|part| part.strip_prefix(file));
    let row = |line: &'static str| {
        let parts: Vec<_> = line.split(" | ").collect();
        let (before, after) = (read(parts[1])?, read(parts[2])?);
        Some(((parts[0], before), (before, after, parts[3])))
    };
    let lines = part.expect("the file's part").lines();
    lines.filter_map(row).collect()
}

/// A state word: its flags, as its lowest four bits have them, and its two counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) flags: u64,
    pub(super) refs: u64,
    pub(super) wakes: u64,
}

pub(super) const HANDLE: u64 = 1;
pub(super) const FINISHED: u64 = 4;
const PANICKED: u64 = 8;

impl State {
    /// Reads `H-F- 1 2`. Nothing for a word near the limit of wake-ups.
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(' ');
        let flags = parts.next()?.bytes().rev();
        Some(Self {
            flags: flags.fold(0, |flags, flag| 2 * flags + u64::from(flag != b'-')),
            refs: parts.next()?.parse().ok()?,
            wakes: parts.next()?.parse().ok()?,
        })
    }

    pub(super) fn of(word: u64) -> Self {
        Self {
            flags: word % 16,
            refs: word % (1 << 32) / 16,
            wakes: word >> 32,
        }
    }

    pub(super) fn has(self, flag: u64) -> bool {
        self.flags & flag != 0
    }
}

/// A word of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Join {
    Pending,
    Done,
    Detached,
    Abandoned,
    Waker,
}

impl Join {
    fn read(text: &str) -> Option<Self> {
        Some(match text {
            "PENDING" => Self::Pending,
            "DONE" => Self::Done,
            "DETACHED" => Self::Detached,
            "ABANDONED" => Self::Abandoned,
            "W1" | "W2" => Self::Waker,
            _ => return None,
        })
    }

    pub(super) fn of(word: u64) -> Self {
        let sentinels = [Self::Pending, Self::Done, Self::Detached, Self::Abandoned];
        *sentinels.get(word as usize).unwrap_or(&Self::Waker)
    }

    pub(super) fn is_end(self) -> bool {
        matches!(self, Self::Done | Self::Abandoned)
    }
}

pub(super) struct Tables {
    state: HashMap<(&'static str, State), Row<State>>,
    join: HashMap<(&'static str, Join), Row<Join>>,
}

impl Tables {
    pub(super) fn new() -> Self {
        Self {
            state: rows("src/task/state.rs\n", State::read),
            join: rows("src/completion.rs\n", Join::read),
        }
    }

    /// What an operation leaves to do. Fails if it may not be called on that word, or makes another
    /// one of it.
    pub(super) fn state(
        &self,
        op: &'static str,
        before: State,
        after: State,
    ) -> Result<&'static str, &'static str> {
        // Of what decides nothing the tables have few cases: of counts above 2, and of a panic.
        let few = State {
            flags: before.flags & !PANICKED,
            refs: before.refs.min(2),
            wakes: before.wakes.min(2),
        };
        let row = self.state.get(&(op, few));
        let &(from, to, left) = row.ok_or("the tables do not allow this operation here")?;
        let is_right = before.flags ^ after.flags == from.flags ^ to.flags
            && before.refs + to.refs == after.refs + from.refs
            && before.wakes + to.wakes == after.wakes + from.wakes;
        is_right
            .then_some(left)
            .ok_or("the tables have another word after this operation")
    }

    /// The word after an operation is complete, and what it leaves to do.
    pub(super) fn join(
        &self,
        op: &'static str,
        before: Join,
    ) -> Result<(Join, &'static str), &'static str> {
        let row = self.join.get(&(op, before));
        let &(_, after, left) = row.ok_or("the tables do not allow this operation here")?;
        Ok((after, left))
    }
}
