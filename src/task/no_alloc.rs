//! Tasks without the feature `alloc`: the items that have other bodies there, under the same names.
//! No task has an id, and no panic is caught.

use core::{convert::Infallible, fmt, panic::Location};

use super::TaskView;

/// The payload of a panic. No panic is caught.
pub(super) type Payload = Infallible;

pub(super) fn message_of(payload: &Payload) -> Option<&str> {
    match *payload {}
}

/// The payload of a task's panic. There is none, because without the feature `alloc` no panic is
/// caught.
#[derive(Debug)]
pub struct PanicPayload(Payload);

impl PanicPayload {
    pub(super) fn of<M>(_: TaskView<'_, M>, payload: Payload) -> Self {
        Self(payload)
    }

    /// Is never called.
    pub fn resume(self) -> ! {
        match self.0 {}
    }
}

impl fmt::Display for PanicPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The text of a name.
pub(super) type Text = &'static str;

/// Where a task was spawned. An id would need an allocation.
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
}

impl joint_switch::Retire for Origin {
    fn retire(&mut self) {}
}
