//! The modification order of a location, by the links between its writes.

use super::{Clock, Event, Graph, Id, Kind, MAX_THREADS};

/// The writes to a location in modification order.
#[derive(Clone)]
pub(crate) struct Order<'a> {
    graph: &'a Graph,
    /// The oldest and the newest of those that are left.
    ends: Option<(Id, Id)>,
}

impl Iterator for Order<'_> {
    type Item = Id;

    fn next(&mut self) -> Option<Id> {
        let (oldest, newest) = self.ends?;
        let next = self.graph.at(oldest).newer.filter(|_| oldest != newest);
        self.ends = next.map(|next| (next, newest));
        Some(oldest)
    }
}

impl DoubleEndedIterator for Order<'_> {
    fn next_back(&mut self) -> Option<Id> {
        let (oldest, newest) = self.ends?;
        let next = self.graph.at(newest).older.filter(|_| oldest != newest);
        self.ends = next.map(|next| (oldest, next));
        Some(newest)
    }
}

impl Graph {
    /// The writes to a location in modification order.
    pub(crate) fn order(&self, place: Id) -> Order<'_> {
        let ends = self.has_made(place);
        let ends = ends.then(|| (place, self.at(place).newest));
        Order { graph: self, ends }
    }

    /// The writes to a location from the newest to this one.
    pub(crate) fn newest(&self, place: Id, oldest: Id) -> impl Iterator<Item = Id> {
        let mut is_newer = true;
        let newest = self.order(place).rev();
        newest.take_while(move |&write| core::mem::replace(&mut is_newer, write != oldest))
    }

    /// Puts a write into modification order, right after another.
    pub(crate) fn order_after(&mut self, before: Id, write: Id) {
        let place = self.at(write).place;
        let newer = self.at_mut(before).newer.replace(write);
        let event = self.at_mut(write);
        (event.older, event.newer) = (Some(before), newer);
        match newer {
            Some(newer) => self.at_mut(newer).older = Some(write),
            None => self.at_mut(place).newest = write,
        }
    }

    /// The oldest write that an access with this clock may read from, or be ordered after.
    pub(crate) fn oldest(&self, place: Id, hb: &Clock) -> Id {
        // What a thread knows last is newer than what it has known before.
        let known = |thread| {
            let is_ordered = |event: &Event| {
                !event.takes()
                    && (!event.kind.is_write() || event.older.is_some() || event.id == place)
            };
            let is_known = |event: &&Event| event.id.is_in(hb) && is_ordered(event);
            let event = self.accesses(place, thread).find(is_known)?;
            if event.kind.is_write() {
                Some(event.id)
            } else {
                event.source
            }
        };
        let known = core::array::from_fn::<_, MAX_THREADS, _>(|thread| known(thread as u8));
        let last_known = self
            .order(place)
            .rfind(|&write| known.contains(&Some(write)));
        last_known.unwrap_or(place)
    }

    /// Whether no exchange must directly follow this write in modification order.
    pub(crate) fn is_free(&self, write: Id) -> bool {
        self.exchange_after(write).is_none()
    }

    /// The write of the exchange that has read from a write, and directly follows it.
    pub(crate) fn exchange_after(&self, write: Id) -> Option<&Event> {
        let next = self.at(self.at(write).newer?);
        let exchanges = matches!(next.kind, Kind::Write { is_exchange: true });
        let follows = exchanges && self.at(next.id.previous()).source == Some(write);
        follows.then_some(next)
    }

    /// The locations that a thread has made, with the writes to each in modification order.
    pub(crate) fn orders(&self, thread: u8) -> impl Iterator<Item = (Id, Id)> {
        let events = self.threads[usize::from(thread)].iter();
        let made = events.filter(|event| event.place == event.id && event.kind.is_write());
        made.flat_map(|event| self.order(event.id).map(|write| (event.id, write)))
    }
}
