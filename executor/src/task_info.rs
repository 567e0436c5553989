//! The facts about a task that hooks are given.

use core::panic::Location;

use joint::task::{EndedTask, Id, Runnable};

/// The task that a hook is called for. See [`Builder::on_spawn`](super::Builder::on_spawn) and the
/// other hooks there.
#[doc(alias = "TaskMeta")]
#[derive(Clone, Copy, Debug)]
pub struct TaskInfo<'a> {
    id: Id,
    name: Option<&'a str>,
    spawned: &'static Location<'static>,
    is_detached: bool,
    panic_message: Option<&'a str>,
}

impl<'a> TaskInfo<'a> {
    pub(super) fn new(id: Id, name: Option<&'a str>, spawned: &'static Location<'static>) -> Self {
        Self {
            id,
            name,
            spawned,
            is_detached: false,
            panic_message: None,
        }
    }

    /// Returns what is known about a task at its end.
    pub(super) fn ended<M>(task: &'a EndedTask<'_, M>) -> Self {
        Self {
            is_detached: !task.has_handle(),
            panic_message: task.panic_message(),
            ..Self::new(task.id(), task.name(), task.spawned())
        }
    }

    pub(super) fn of<M>(runnable: &'a Runnable<M>) -> Self {
        Self::new(runnable.id(), runnable.name(), runnable.spawned())
    }

    /// Returns the task's id, which no other task has while this task lives. Its handle [has it
    /// too](joint::JoinHandle::id).
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

    /// Returns whether the task has ended without a handle, so that nobody learns of its output or
    /// its panic. It is false in all hooks but [`on_end`](super::Builder::on_end).
    ///
    /// # Example
    /// ```
    /// use joint_executor::Executor;
    /// use joint::{oneshot, task::TaskEnd};
    /// use std::sync::mpsc;
    ///
    /// let (sender, unseen) = mpsc::channel();
    /// let executor = Executor::builder()
    ///     .on_end(move |task, how| {
    ///         if how == TaskEnd::Panicked && task.is_detached() {
    ///             sender.send(task.panic_message().map(String::from)).unwrap();
    ///         }
    ///     })
    ///     .build()?;
    /// executor.spawn_detached(async { panic!("unseen") });
    /// assert!(executor.block_on(executor.spawn(async { panic!("seen") }).result()).is_err());
    /// drop(executor);
    /// assert_eq!(unseen.iter().collect::<Vec<_>>(), [Some(String::from("unseen"))]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_detached(&self) -> bool {
        self.is_detached
    }

    /// Returns the message of the panic with which the task has ended, if it has one, as a panic by
    /// `panic!` does. It is `None` in all hooks but [`on_end`](super::Builder::on_end).
    pub fn panic_message(&self) -> Option<&'a str> {
        self.panic_message
    }
}
