//! [`Id`]: the identity of a task.

use core::{fmt, num::NonZero};

use super::header::Task;

/// The identity of a task. No two tasks have the same id at the same time, not even in different
/// executors.
///
/// It is derived from the task's address, so it does not say when the task was made. Once a task
/// has ended, and its handle and its wakers are gone, another task may get the same id.
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

    /// Returns the id as a number, the same that `Display` shows in hexadecimal.
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
