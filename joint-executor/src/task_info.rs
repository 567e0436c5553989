//! The facts about a task that hooks are given, and the data that a task has for them.

use alloc::sync::Arc;
use core::{any::Any, panic::Location};

use joint::task::{self, EndedTask, Id, Runnable, TaskView};
use joint_switch::UnsafeCell;

/// A value that [`Builder::task_data`](super::Builder::task_data) has made.
pub(super) type Data = Arc<dyn Any + Send + Sync>;

/// Where a task keeps its data. It is empty once the task has ended, because the task's memory may
/// be freed where no code of a user can be called.
pub(super) struct DataSlot(UnsafeCell<Option<Data>>);

// SAFETY: the data may be sent and shared. One side at a time has the right to use the slot: the
// holder of the task's runnable, or its runner.
unsafe impl Sync for DataSlot {}

impl DataSlot {
    pub(super) fn new(data: Option<Data>) -> Self {
        Self(UnsafeCell::new(data))
    }

    /// Returns the data of a task.
    ///
    /// # Safety
    /// As long as the reference is used, the caller has the task's runnable or is its runner, and
    /// the data is not taken.
    pub(super) unsafe fn get<'a, M>(task: TaskView<'a, M>) -> Option<&'a Data> {
        let slot = task.data()?.downcast_ref::<Self>()?;
        // SAFETY: by this function's contract.
        slot.0.with(|data| unsafe { &*data }).as_ref()
    }

    /// Takes the data out of a task.
    ///
    /// # Safety
    /// The caller is the task's runner, and no reference to the data is used any more.
    pub(super) unsafe fn take<M>(task: TaskView<'_, M>) -> Option<Data> {
        let slot = task.data()?.downcast_ref::<Self>()?;
        // SAFETY: by this function's contract.
        slot.0.with_mut(|data| unsafe { &mut *data }).take()
    }
}

/// The task that a hook is called for. See [`Builder::on_spawn`](super::Builder::on_spawn) and the
/// other hooks there.
#[derive(Clone, Copy, Debug)]
pub struct TaskInfo<'a> {
    id: Id,
    name: Option<&'a str>,
    spawned: &'static Location<'static>,
    data: Option<&'a (dyn Any + Send + Sync)>,
    parent: Option<&'a TaskInfo<'a>>,
    is_detached: bool,
    panic_message: Option<&'a str>,
}

impl<'a> TaskInfo<'a> {
    pub(super) fn new(id: Id, name: Option<&'a str>, spawned: &'static Location<'static>) -> Self {
        Self {
            id,
            name,
            spawned,
            data: None,
            parent: None,
            is_detached: false,
            panic_message: None,
        }
    }

    /// # Safety
    /// As for [`DataSlot::get`].
    unsafe fn view<M>(task: TaskView<'a, M>) -> Self {
        // SAFETY: passed on from the caller.
        let data = unsafe { DataSlot::get(task) };
        Self::new(task.id(), task.name(), task.spawned()).with_data(data.map(|data| &**data))
    }

    pub(super) fn with_data(self, data: Option<&'a (dyn Any + Send + Sync)>) -> Self {
        Self { data, ..self }
    }

    pub(super) fn with_parent(self, parent: Option<&'a TaskInfo<'a>>) -> Self {
        Self { parent, ..self }
    }

    /// Returns what is known about a task at its end.
    ///
    /// # Safety
    /// The caller is the task's runner, which takes the data after this value is gone.
    pub(super) unsafe fn ended<M>(task: &'a EndedTask<'_, M>) -> Self {
        Self {
            is_detached: !task.has_handle(),
            panic_message: task.panic_message(),
            // SAFETY: passed on from the caller.
            ..unsafe { Self::view(**task) }
        }
    }

    pub(super) fn of<M>(runnable: &'a Runnable<M>) -> Self {
        // SAFETY: the runnable is here.
        unsafe { Self::view(runnable.view()) }
    }

    /// Calls `f` with the task whose poll calls this, or returns `None` outside a poll of a task.
    ///
    /// # Example
    /// A task that changes its own [data](TaskInfo::data):
    /// ```
    /// use joint_executor::{Executor, TaskInfo};
    /// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    ///
    /// let executor = Executor::builder().task_data(|_| AtomicU64::new(0)).build()?;
    /// let add = |bytes| {
    ///     TaskInfo::with_current(|task| {
    ///         let read = task.data::<AtomicU64>().unwrap();
    ///         read.fetch_add(bytes, Relaxed)
    ///     })
    /// };
    /// let reads = executor.spawn(async move { (add(512), add(256)) });
    /// assert_eq!(executor.block_on(reads), (Some(0), Some(512)));
    /// assert_eq!(add(0), None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn with_current<R>(f: impl FnOnce(&TaskInfo<'_>) -> R) -> Option<R> {
        // SAFETY: this thread is the runner, and the task cannot end before `f` returns.
        task::with_current(|task| f(&unsafe { TaskInfo::view(task) }))
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

    /// Returns the value that the function of [`Builder::task_data`](super::Builder::task_data) has
    /// made for the task, if the executor has such a function and the value is a `T`.
    pub fn data<T: Any>(&self) -> Option<&'a T> {
        self.data?.downcast_ref()
    }

    /// Returns the task whose poll spawns this one. It is for
    /// [`on_spawn`](super::Builder::on_spawn) and [`task_data`](super::Builder::task_data). Other
    /// hooks get `None`, and so do these two if the task is spawned outside a poll: by a thread
    /// that is not a worker, also in its [`block_on`](super::block_on), by a side of a
    /// [`join`](super::join()) that another worker has taken, or by a future that is dropped
    /// because its task was cancelled.
    ///
    /// The parent may be a task of another executor, or a call of
    /// [`spawn_blocking`](super::spawn_blocking). Those have no data, unless it is an
    /// [`Executor`](super::Executor) with `task_data` as well.
    ///
    /// # Example
    /// ```
    /// use joint_executor::{Executor, spawn};
    /// use std::sync::mpsc;
    ///
    /// let (sender, family) = mpsc::channel();
    /// let executor = Executor::builder()
    ///     .workers(1)
    ///     .on_spawn(move |task| {
    ///         let parent = task.parent().map(|parent| parent.id());
    ///         sender.send((parent, task.id())).unwrap();
    ///     })
    ///     .build()?;
    /// let parent = executor.spawn(async { spawn(async {}).await });
    /// let id = parent.id();
    /// executor.block_on(parent);
    /// assert_eq!(family.recv(), Ok((None, id)));
    /// assert!(family.recv().is_ok_and(|(parent, child)| parent == Some(id) && child != id));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn parent(&self) -> Option<&'a TaskInfo<'a>> {
        self.parent
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
