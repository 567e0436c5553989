//! What hooks and traces learn about a task.

use core::{fmt, panic::Location};

use crate::task::{Id, Runnable};

/// The task that a hook is called for. See [`Builder::on_spawn`](super::Builder::on_spawn) and the
/// other hooks there.
#[derive(Clone, Copy)]
pub struct TaskInfo<'a> {
    id: Id,
    name: Option<&'a str>,
    spawned: &'static Location<'static>,
}

impl<'a> TaskInfo<'a> {
    pub(super) fn new(id: Id, name: Option<&'a str>, spawned: &'static Location<'static>) -> Self {
        Self { id, name, spawned }
    }

    pub(super) fn of<M>(runnable: &'a Runnable<M>) -> Self {
        Self::new(runnable.id(), runnable.name(), runnable.spawned())
    }

    /// Returns the task's id, which no other task has while this task lives. Its handle [has it
    /// too](crate::JoinHandle::id).
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns the task's name, if it was given one.
    pub fn name(&self) -> Option<&'a str> {
        self.name
    }

    /// Returns where the task was spawned.
    pub fn spawned(&self) -> &'static Location<'static> {
        self.spawned
    }
}

impl fmt::Debug for TaskInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskInfo")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("spawned", &format_args!("{}", self.spawned))
            .finish()
    }
}
