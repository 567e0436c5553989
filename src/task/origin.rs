//! [`Origin`] without the feature `alloc`: where a task was spawned. The id of a task needs an
//! allocation.

use core::panic::Location;

pub(super) struct Origin(&'static Location<'static>);

impl Origin {
    #[inline]
    pub(super) fn new(spawned: &'static Location<'static>) -> Self {
        Self(spawned)
    }

    pub(super) fn spawned(&self) -> &'static Location<'static> {
        self.0
    }

    /// No task has an id.
    pub(super) fn has_id(&self) -> bool {
        false
    }

    pub(super) fn forget(&mut self) -> impl Sized {}

    pub(super) fn retire(&mut self) {}
}
