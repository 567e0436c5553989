//! The modification order of a location, by the links between its writes.

use super::{Graph, Id};

/// The writes to a location in modification order.
#[derive(Clone)]
pub(crate) struct Order<'a> {
    pub(super) graph: &'a Graph,
    /// The oldest and the newest of those that are left.
    pub(super) ends: Option<(Id, Id)>,
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
