//! Which process this is. The child of a fork inherits an executor without the executor's threads,
//! and must find that out.

/// A process, by its id. The id could deceive only a grandchild that outlives both other processes
/// and is given the id of the first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Process(u32);

impl Process {
    /// Returns the calling process. Without forks there is only one.
    pub(super) fn current() -> Self {
        Self(if cfg!(unix) { std::process::id() } else { 0 })
    }

    pub(super) fn is_current(self) -> bool {
        self == Self::current()
    }
}
