//! The part of a task that does not depend on its types, and the operations that need only this
//! part. `cell.rs` has the rules.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::{fmt, marker::PhantomData, ops::Deref, panic::Location, ptr::NonNull, task::Waker};

#[cfg(feature = "alloc")]
use super::apart::is_large;
use super::{
    AbortHandle, Link, Origin, PanicPayload, Runnable, ScheduleInfo, TaskView, polled,
    state::{Next, State},
};
use crate::{
    completion::Completion,
    waker::{self, ThinWaker},
};

/// The part of a task that does not depend on its types. Its address is the address of the task,
/// and the word of a [`ThinWaker`].
#[repr(C)]
pub(super) struct Header {
    waker: waker::Header,
    pub(super) state: State,
    pub(super) join: Completion,
    pub(super) link: Link,
    pub(super) origin: Origin,
}

impl Header {
    pub(super) fn new(
        vtable: &'static VTable,
        has_handle: bool,
        spawned: &'static Location<'static>,
    ) -> Self {
        // SAFETY: the table lives forever and is never written. Its first field is a waker's table.
        let waker = unsafe { waker::Header::from_table((&raw const *vtable).cast()) };
        Self {
            waker,
            state: State::new(has_handle),
            join: Completion::new(),
            link: Link::new(),
            origin: Origin::new(spawned),
        }
    }
}

// Nobody writes the waker's header.
retires!(Header: state, join, link, origin);

/// The part of a task that depends only on the type of its metadata.
#[repr(C)]
pub(super) struct Head<M> {
    pub(super) header: Header,
    pub(super) metadata: M,
}

/// The operations of a task that depend on its types. The waker's table comes first, because a
/// task's waker header points to the whole table.
#[repr(C)]
pub(super) struct VTable {
    pub(super) waker: waker::VTable,
    /// Runs the task once.
    pub(super) run: unsafe fn(Task, OnAgain) -> Ran,
    /// Drops the future without polling it, and completes.
    pub(super) cancel: unsafe fn(Task) -> Option<ThinWaker>,
    /// Hands a new runnable to the schedule function.
    pub(super) schedule: unsafe fn(Task, ScheduleInfo),
    /// Returns the address of the stage.
    pub(super) output: unsafe fn(Task) -> NonNull<()>,
    /// Drops the output or the panic in the stage. It does not unwind.
    pub(super) drop_output: unsafe fn(Task),
    /// Drops the schedule function, the name and the metadata, and frees the memory.
    pub(super) free: unsafe fn(Task),
    /// Returns the task's name, which lives as long as the task.
    pub(super) name: unsafe fn(Task) -> Option<NonNull<str>>,
    /// Whether a call of `schedule` needs a reference across it (rule 3).
    pub(super) schedule_is_stored: bool,
    /// Whether an output that is [large](is_large) is in a box in the stage.
    #[cfg(feature = "alloc")]
    pub(super) has_heap: bool,
    /// Whether a panic of the future becomes the task's result, or passes through the run.
    pub(super) propagate_panic: bool,
}

/// How a run ended.
pub(super) enum Ran {
    /// The task waits for a wake-up, or has been freed.
    Idle,
    /// The task was woken while it ran, so there is a runnable again. [`OnAgain`] has said who gets
    /// it.
    Again,
    /// The task has ended. The waker, if any, is that of its waiter, and must be woken.
    Ended(Option<ThinWaker>),
}

/// How a run passes on the runnable of a task that was woken while it ran.
#[derive(Clone, Copy)]
pub(super) enum OnAgain {
    /// Gives the runnable to the schedule function.
    Schedule,
    /// Leaves the runnable to the caller.
    Leave,
}

/// A task's address. Copies are free and own nothing, so each use says why the task is alive.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Task(pub(super) NonNull<Header>);

impl Task {
    /// Looks at the task. Everything that needs no more than its life is a function of the view.
    ///
    /// # Safety
    /// The task is alive as long as the view is used, and its metadata is an `M`. A `()` can be
    /// read in the place of any metadata, because it has no size.
    #[inline]
    pub(super) unsafe fn view<'a, M>(self) -> TaskView<'a, M> {
        TaskView {
            task: self,
            alive: PhantomData,
        }
    }

    /// Frees a task that has an id, before which the block of the id is freed.
    ///
    /// # Safety
    /// The task has an id, belongs to the caller alone, and is not used after this.
    #[cold]
    pub(super) unsafe fn free_with_id(mut self) {
        // Dropped last, because its drop may panic.
        // SAFETY: the task belongs to the caller alone.
        let _data = unsafe { self.0.as_mut() }.origin.forget();
        // SAFETY: alive until freed below.
        let view = unsafe { self.view::<()>() };
        // SAFETY: passed on from the caller.
        unsafe { (view.vtable().free)(self) }
    }
}

// SAFETY: this is only an address, and each use says why it is allowed on its thread.
unsafe impl Send for Task {}
// SAFETY: as for `Send`.
unsafe impl Sync for Task {}

/// What the other files of the module know of a task that is alive. `view.rs` has what is public.
impl<'a, M> TaskView<'a, M> {
    /// Returns what all tasks have. A function of the state word or of the join word may give up
    /// what keeps the task alive, so that it is freed while the reference to that word is in use,
    /// which is used only for atomic operations.
    #[inline]
    pub(super) fn header(self) -> &'a Header {
        // SAFETY: the task is alive.
        unsafe { self.task.0.as_ref() }
    }

    #[inline]
    pub(super) fn vtable(self) -> &'static VTable {
        // SAFETY: `allocate` made the waker header from a `VTable` that lives forever, and nobody
        // writes it.
        unsafe { &*self.header().waker.vtable.cast::<VTable>() }
    }

    /// Returns whether the task has ended. Once it has returned true, it always does, to every
    /// thread that the answer happens before.
    ///
    /// The join word tells of the end only if the handle leaves it there. The handle's exchange
    /// takes it out: for a moment if it registers, and for good if it detaches, which the state
    /// word shows later. So a look that has found the end leaves a note of it.
    pub(super) fn has_ended(self) -> bool {
        if self.header().link.has_noted_end() || self.header().state.snapshot().is_finished() {
            return true;
        }
        let has_ended = self.header().join.ended().is_some();
        if has_ended {
            self.header().link.note_end();
        }
        has_ended
    }

    /// Cancels the task, which its next run finds, unless it has ended.
    pub(super) fn abort(self) {
        if !self.has_ended() {
            // SAFETY: this is the state word's answer, and the task outlives the call.
            unsafe { self.follow(self.header().state.abort()) }
        }
    }

    /// Cancels the task. Returns its next runnable, if the task was idle.
    pub(super) fn abort_idle(self) -> Option<Runnable<M>> {
        match self.header().state.abort() {
            // SAFETY: the state word has said that there is a runnable, which no one else has.
            Next::Schedule => Some(unsafe { Runnable::from_task(self.task) }),
            _ => None,
        }
    }

    /// Makes a waker.
    pub(super) fn new_waker(self) -> Waker {
        self.header().state.add_waker();
        // SAFETY: this is a task's header, whose functions follow the contract, and the reference
        // was just added.
        unsafe { ThinWaker::waker_from_header(self.task.0.cast()) }
    }

    /// Takes a reference, as a waker has one.
    pub(super) fn reference(self) -> AbortHandle {
        self.header().state.add_waker();
        AbortHandle(self.task)
    }

    /// Takes a reference to hold across calls of the schedule function, if the function needs one
    /// (rule 3).
    pub(super) fn hold(self) -> Option<AbortHandle> {
        let stored = self.vtable().schedule_is_stored;
        stored.then(|| self.reference())
    }

    /// Hands a new runnable to the schedule function.
    ///
    /// # Safety
    /// The task must be scheduled, by this caller, and rule 3 is kept by a
    /// [reference](TaskView::reference), or by a waker or handle that outlives the call.
    #[inline]
    pub(super) unsafe fn schedule(self, info: ScheduleInfo) {
        // SAFETY: passed on from the caller.
        unsafe { (self.vtable().schedule)(self.task, info) }
    }

    /// Returns the output or the panic, whichever the stage holds: the state word says which. With
    /// its final type, because a large output is copied for each change of that.
    ///
    /// # Safety
    /// The task has completed without being cancelled, and its stage is the caller's (rule 1). The
    /// stage is empty after this.
    #[inline]
    pub(super) unsafe fn take_output<T>(self) -> Result<T, PanicPayload> {
        // SAFETY: passed on from the caller.
        let stage = unsafe { (self.vtable().output)(self.task) };
        if self.header().state.snapshot().is_panicked() {
            // SAFETY: the stage holds the panic, which counts as moved out from here on.
            let payload = unsafe { stage.cast::<PanicPayload>().read() };
            return Err(payload);
        }
        #[cfg(feature = "alloc")]
        if is_large::<T>() && self.vtable().has_heap {
            // SAFETY: the stage holds the output's box, which counts as moved out from here on.
            let output = unsafe { stage.cast::<Box<T>>().read() };
            return Ok(*output);
        }
        // SAFETY: the stage holds the output, which counts as moved out from here on.
        Ok(unsafe { stage.cast::<T>().read() })
    }

    /// Does what a transition has left to do.
    ///
    /// # Safety
    /// `next` is the state word's answer for this task. If it is to schedule, a
    /// [reference](TaskView::reference) keeps rule 3 where that needs one.
    #[inline]
    pub(super) unsafe fn follow(self, next: Next) {
        match next {
            Next::Nothing => {}
            // SAFETY: the state word has said so, and the caller keeps rule 3.
            Next::Schedule => unsafe { self.schedule(ScheduleInfo::WOKEN) },
            // SAFETY: the state word has said so. The task is finished and has no handle, so the
            // stage is empty.
            Next::Free => unsafe { (self.vtable().free)(self.task) },
            // SAFETY: the state word has said so.
            Next::Orphan => unsafe { self.schedule_orphan() },
        }
    }

    /// Schedules an orphan once, so that its executor drops the future.
    ///
    /// # Safety
    /// The task is an orphan.
    #[cold]
    unsafe fn schedule_orphan(self) {
        let stored = self.vtable().schedule_is_stored;
        self.header().state.revive_orphan(stored);
        let _held = stored.then(|| AbortHandle(self.task));
        // SAFETY: an orphan has no runnable, and the word now says that there is one. `_held` keeps
        // rule 3.
        unsafe { self.schedule(ScheduleInfo::WOKEN) };
    }

    /// Writes the task's name, where it was spawned, its join word, which says whether it has
    /// ended, and its state word.
    pub(super) fn debug(self, kind: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct(kind);
        if let Some(name) = self.name() {
            out.field("name", &name);
        }
        let spawned = self.spawned();
        out.field("spawned", &format_args!("{spawned}"));
        out.field("join", &self.header().join);
        out.field("state", &self.header().state.snapshot()).finish()
    }
}

/// Implements `Debug` for what looks at a task, by a function that takes it to a view.
macro_rules! debug {
    ($($type:ident $(<$($of:tt),+>)?: $view:path;)*) => {$(
        impl $(<$($of),+>)? fmt::Debug for super::$type $(<$($of),+>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $view(self).debug(stringify!($type), f)
            }
        }
    )*};
}

debug! {
    AbortHandle: Self::view;
    EndedTask<'a, M>: Deref::deref;
    JoinHandle<T, M>: Self::view;
    PendingTask<'a, M>: Deref::deref;
    Runnable<M>: Self::view;
    TaskView<'a, M>: Clone::clone;
}

/// The waker's table of a task of that family. The functions are the same for all types.
pub(super) const fn waker(family: Option<&'static waker::Family>) -> waker::VTable {
    unsafe fn clone(header: NonNull<waker::Header>) {
        // SAFETY: the caller holds a waker, or runs the task.
        unsafe { Task(header.cast()).view::<()>() }
            .header()
            .state
            .add_waker();
    }
    unsafe fn wake(header: NonNull<waker::Header>) {
        let task = Task(header.cast());
        // SAFETY: the caller holds a waker.
        let view = unsafe { task.view::<()>() };
        if view.vtable().schedule_is_stored {
            // Hold the given-up reference across the call.
            let _held = AbortHandle(task);
            // SAFETY: `_held` is that waker.
            return unsafe { wake_by_ref(header) };
        }
        if polled::wake(task) {
            // SAFETY: the caller holds a waker, and gives it up.
            return unsafe { drop(header) };
        }
        let outcome = view.header().state.wake_by_value();
        // SAFETY: this is the state word's answer, and the schedule function is not stored.
        unsafe { view.follow(outcome) }
    }
    unsafe fn wake_by_ref(header: NonNull<waker::Header>) {
        let task = Task(header.cast());
        if polled::wake(task) {
            return;
        }
        // SAFETY: the caller holds a waker, or runs the task.
        let view = unsafe { task.view::<()>() };
        // SAFETY: this is the state word's answer. A running task has unconsumed wake-ups, so if
        // the answer is to schedule, the caller holds a waker, which outlives the call.
        unsafe { view.follow(view.header().state.wake()) }
    }
    unsafe fn drop(header: NonNull<waker::Header>) {
        // This gives up the caller's reference.
        core::mem::drop(AbortHandle(Task(header.cast())));
    }
    waker::VTable {
        clone,
        wake,
        wake_by_ref,
        drop,
        family,
    }
}
