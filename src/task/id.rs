//! [`Id`]: what tells tasks apart.

use core::{fmt, num::NonZero};

use super::header::Task;

/// Tells tasks apart: no two have the same at the same time, of whatever executor.
///
/// It is the task's place in memory, and says nothing of when the task was made. Once a task has ended, and its handle and its
/// wakers are gone, another may get the same.
///
/// # Example
/// ```
/// use joint::task;
///
/// let (runnable, handle) = task::spawn(async {}, |_| {});
/// assert_eq!(runnable.id(), handle.id());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(NonZero<usize>);

impl Id {
    pub(super) fn of(task: Task) -> Self {
        Self(task.0.addr())
    }

    /// The number that it shows as.
    pub fn get(self) -> NonZero<usize> {
        self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}
