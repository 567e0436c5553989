//! Accesses to cells that last.

use super::{Attempt, Fault, Run};
use crate::graph::{Event, Id, Kind, conflict};

/// An access that has ended after other steps of its thread.
pub(super) struct Long {
    begin: Id,
    /// The last step before its end.
    last: Id,
}

impl Run {
    /// Finds what is wrong with an access that has been added: another one lasts.
    pub(super) fn overlap(&self, id: Id) -> Option<Fault> {
        let event = self.graph.at(id);
        let conflicts = |begin: Id| self.conflicts(begin, event);
        let mut open = self.open.iter();
        let is_own = |begin: &&Id| begin.thread == id.thread && conflicts(**begin);
        if let Some(&begin) = open.find(is_own) {
            return Some(Fault::Overlap(begin, id));
        }
        let mut long = self.long.get(&event.place).into_iter().flatten();
        let lasts = |long: &&Long| conflicts(long.begin) && self.lasts_until(long, event);
        let long = long.find(lasts)?;
        Some(Fault::Lasting(long.begin, long.last, id))
    }

    fn conflicts(&self, begin: Id, event: &Event) -> bool {
        let access = self.graph.at(begin);
        access.place == event.place && conflict(access, event)
    }

    /// Whether an access has not ended when `event`, which comes after its beginning, happens. What
    /// its last step has released comes after its end.
    fn lasts_until(&self, long: &Long, event: &Event) -> bool {
        let last = self.graph.at(long.last);
        let thread = usize::from(last.id.thread);
        let released = last.released[thread];
        let is_released = last.kind.is_write()
            && released > long.begin.index + 1
            && last.id.is_in(&event.porf)
            && event.hb[thread] >= released;
        long.begin.is_in(&event.hb) && !last.id.is_in(&event.hb) && !is_released
    }

    /// Records the beginning of an access.
    pub(super) fn begin(&mut self, id: Id) {
        let is_cell = matches!(self.graph.at(id).kind, Kind::CellRead | Kind::CellWrite);
        if is_cell {
            self.open.push(id);
        }
    }

    /// Ends an access.
    pub(super) fn end(&mut self, begin: Id) -> Attempt {
        let was_open = self.open.iter().position(|&open| open == begin);
        let thread = self.current;
        let last = Id {
            thread,
            index: self.lane().at.saturating_sub(1),
        };
        if was_open.map(|open| self.open.swap_remove(open)).is_none() || last == begin {
            return super::spin::PASS;
        }
        let long = Long { begin, last };
        let conflicts = |event: &&Event| {
            let is_access = matches!(event.kind, Kind::CellRead | Kind::CellWrite);
            let is_other = event.id.thread != thread;
            is_other && is_access && self.conflicts(begin, event) && self.lasts_until(&long, event)
        };
        let place = self.graph.at(begin).place;
        let others = self.graph.all_accesses(place);
        let first = others.filter(conflicts).map(|other| other.id).min();
        if let Some(other) = first {
            return self.fail(Fault::Lasting(begin, last, other));
        }
        self.long.entry(place).or_default().push(long);
        super::spin::PASS
    }
}
