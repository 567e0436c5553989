//! Which process this is. The child of a fork inherits an executor without the executor's threads,
//! and has to know.

/// A process, by its number. That could deceive a grandchild alone, which lives on after both the
/// others and is given the number of the first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Process(u32);

impl Process {
    /// The one that asks.
    #[cfg(unix)]
    pub(super) fn current() -> Self {
        Self(std::process::id())
    }

    /// Without forks there is only one.
    #[cfg(not(unix))]
    pub(super) fn current() -> Self {
        Self(0)
    }

    pub(super) fn is_current(self) -> bool {
        self == Self::current()
    }
}
