//! The part of a task that does not depend on its types, and the operations that need only this
//! part. `cell.rs` has the rules.

use core::{fmt, panic::Location, ptr::NonNull, task::Waker};

#[cfg(feature = "alloc")]
use super::id::Origin;
#[cfg(not(feature = "alloc"))]
use super::origin::Origin;
use super::{
    JoinError, Link, PanicPayload, ScheduleInfo,
    apart::{Apart, is_large},
    polled,
    state::{OnFinish, OnRelease, OnWake, State},
};
use crate::{
    completion::Completion,
    waker::{self, ThinWaker},
};
use joint_switch::Retire;

/// The part of a task that does not depend on its types. Its address is the address of the task,
/// and the word of a [`ThinWaker`].
#[repr(C)]
pub(super) struct Header {
    waker: waker::Header,
    state: State,
    join: Completion,
    link: Link,
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

    /// Tells the model that the memory is about to be freed.
    pub(super) fn retire(&mut self) {
        let Self {
            waker: _, // Nobody writes it.
            state,
            join,
            link,
            origin,
        } = self;
        state.retire();
        join.retire();
        link.retire();
        origin.retire();
    }
}

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
    /// Whether an output that is [large](is_large) is an [`Apart`] in the stage.
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
    /// Returns the address, for a runnable's or a handle's `into_raw`.
    pub(super) fn as_ptr(self) -> NonNull<()> {
        self.0.cast()
    }

    pub(super) fn from_ptr(raw: NonNull<()>) -> Self {
        Self(raw.cast())
    }

    fn of(header: NonNull<waker::Header>) -> Self {
        Self(header.cast())
    }

    /// # Safety
    /// The task is alive. It may be freed while the reference is in use, which is used only for
    /// atomic operations.
    #[inline]
    pub(super) unsafe fn state<'a>(self) -> &'a State {
        // SAFETY: alive by this function's contract.
        unsafe { &(*self.0.as_ptr()).state }
    }

    /// # Safety
    /// The caller has the runnable, and gives it up. The stage is empty, and the handle does not
    /// take over the task.
    pub(super) unsafe fn release_runner(self) {
        // SAFETY: the runnable keeps the task alive.
        if let OnFinish::Free = unsafe { self.state() }.release_runner() {
            // SAFETY: the state word has said so.
            unsafe { self.free() }
        }
    }

    /// Makes a waker.
    ///
    /// # Safety
    /// The task is alive.
    pub(super) unsafe fn new_waker(self) -> Waker {
        // SAFETY: alive by this function's contract.
        unsafe { self.state() }.add_waker();
        // SAFETY: this is a task's header, whose functions follow the contract, and the reference
        // was just added.
        unsafe { ThinWaker::waker_from_header(self.0.cast()) }
    }

    /// Returns the join word.
    #[inline]
    pub(super) fn join(self) -> *const Completion {
        // SAFETY: the address is inside the allocation, and nothing is read.
        unsafe { &raw const (*self.0.as_ptr()).join }
    }

    /// # Safety
    /// The task is alive.
    #[inline]
    unsafe fn vtable(self) -> &'static VTable {
        // SAFETY: alive by this function's contract.
        let header = unsafe { &raw const (*self.0.as_ptr()).waker };
        // SAFETY: as above; the field is never written.
        let table = unsafe { &*header }.raw_table();
        // SAFETY: `allocate` made the waker header from a `VTable` that lives forever.
        unsafe { &*table.cast::<VTable>() }
    }

    /// # Safety
    /// The caller has the runnable, and gives it up.
    #[inline]
    pub(super) unsafe fn run(self, again: OnAgain) -> Ran {
        // SAFETY: the runnable keeps the task alive.
        let vtable = unsafe { self.vtable() };
        // SAFETY: passed on from the caller.
        unsafe { (vtable.run)(self, again) }
    }

    /// # Safety
    /// The caller has the runnable, and gives it up.
    pub(super) unsafe fn cancel(self) -> Option<ThinWaker> {
        // SAFETY: the runnable keeps the task alive.
        let vtable = unsafe { self.vtable() };
        // SAFETY: passed on from the caller.
        unsafe { (vtable.cancel)(self) }
    }

    /// Hands a new runnable to the schedule function.
    ///
    /// # Safety
    /// The task must be scheduled, by this caller, and rule 3 is kept by a [`Held`], or by a waker
    /// or handle that outlives the call.
    #[inline]
    pub(super) unsafe fn schedule(self, info: ScheduleInfo) {
        // SAFETY: a task that must be scheduled is alive.
        let vtable = unsafe { self.vtable() };
        // SAFETY: passed on from the caller.
        unsafe { (vtable.schedule)(self, info) }
    }

    /// Schedules as [`schedule`](Task::schedule) does, and keeps rule 3 itself.
    ///
    /// # Safety
    /// The caller has the runnable, and gives it up.
    pub(super) unsafe fn schedule_held(self, info: ScheduleInfo) {
        // SAFETY: the runnable keeps the task alive up to the call.
        let _held = unsafe { self.hold() };
        // SAFETY: the runnable is given up, and rule 3 is kept by `_held`.
        unsafe { self.schedule(info) };
    }

    /// # Safety
    /// The task is alive for as long as the reference is used, and its metadata is an `M`.
    #[inline]
    pub(super) unsafe fn metadata<'a, M>(self) -> &'a M {
        // SAFETY: alive by this function's contract; the metadata follows the header.
        unsafe { &(*self.0.cast::<Head<M>>().as_ptr()).metadata }
    }

    /// # Safety
    /// The task is alive for as long as the reference is used.
    #[inline]
    pub(super) unsafe fn link<'a>(self) -> &'a Link {
        // SAFETY: alive by this function's contract.
        unsafe { &(*self.0.as_ptr()).link }
    }

    /// Returns whether the task has ended. Once it has returned true, it always does, to every
    /// thread that the answer happens before.
    ///
    /// The join word tells of the end only if the handle leaves it there. The handle's exchange
    /// takes it out: for a moment if it registers, and for good if it detaches, which the state
    /// word shows later. So a look that has found the end leaves a note of it.
    ///
    /// # Safety
    /// The task is alive.
    pub(super) unsafe fn has_ended(self) -> bool {
        // SAFETY: alive by this function's contract.
        let link = unsafe { self.link() };
        // SAFETY: as above.
        if link.has_noted_end() || unsafe { self.state() }.snapshot().is_finished() {
            return true;
        }
        // SAFETY: as above.
        let has_ended = unsafe { Completion::raw_ended(self.join()) }.is_some();
        if has_ended {
            link.note_end();
        }
        has_ended
    }

    /// # Safety
    /// The task is alive.
    pub(super) unsafe fn spawned(self) -> &'static Location<'static> {
        // SAFETY: passed on from the caller.
        unsafe { self.origin() }.spawned()
    }

    /// # Safety
    /// The task is alive for as long as the reference is used.
    pub(super) unsafe fn origin<'a>(self) -> &'a Origin {
        // SAFETY: alive by this function's contract.
        unsafe { &(*self.0.as_ptr()).origin }
    }

    /// # Safety
    /// The task is alive for as long as the reference is used.
    pub(super) unsafe fn name<'a>(self) -> Option<&'a str> {
        // SAFETY: alive by this function's contract.
        let vtable = unsafe { self.vtable() };
        // SAFETY: as above.
        let name = unsafe { (vtable.name)(self) }?;
        // SAFETY: the name lives as long as the task.
        Some(unsafe { name.as_ref() })
    }

    /// # Safety
    /// The task is alive.
    pub(super) unsafe fn propagates_panic(self) -> bool {
        // SAFETY: alive by this function's contract.
        unsafe { self.vtable() }.propagate_panic
    }

    /// Writes the task's name, where it was spawned, its join word, which says whether it has
    /// ended, and its state word.
    ///
    /// # Safety
    /// The task is alive.
    pub(super) unsafe fn fmt(self, kind: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct(kind);
        // SAFETY: alive by this function's contract.
        if let Some(name) = unsafe { self.name() } {
            out.field("name", &name);
        }
        // SAFETY: as above.
        let spawned = unsafe { self.spawned() };
        out.field("spawned", &format_args!("{spawned}"));
        // SAFETY: as above.
        out.field("join", unsafe { &*self.join() });
        // SAFETY: as above.
        let state = unsafe { self.state() };
        out.field("state", &state.snapshot()).finish()
    }

    /// Returns the output or the panic, whichever the stage holds: the state word says which. With
    /// its final type, because a large output is copied for each change of that.
    ///
    /// # Safety
    /// The task has completed without being cancelled, and its stage is the caller's (rule 1). The
    /// stage is empty after this.
    #[inline]
    pub(super) unsafe fn take_output<T>(self) -> Result<T, JoinError> {
        // SAFETY: the handle keeps the task alive.
        let vtable = unsafe { self.vtable() };
        // SAFETY: passed on from the caller.
        let stage = unsafe { (vtable.output)(self) };
        // SAFETY: the handle keeps the task alive.
        if unsafe { self.state() }.is_panicked() {
            // SAFETY: the stage holds the panic, which counts as moved out from here on.
            let payload = unsafe { stage.cast::<PanicPayload>().read() };
            return Err(JoinError::Panicked(payload));
        }
        if is_large::<T>() && vtable.has_heap {
            // SAFETY: the stage holds the output's block, which counts as moved out from here on.
            let output = unsafe { stage.cast::<Apart<T>>().read() };
            // SAFETY: an output is not pinned.
            return Ok(unsafe { output.take() });
        }
        // SAFETY: the stage holds the output, which counts as moved out from here on.
        Ok(unsafe { stage.cast::<T>().read() })
    }

    /// # Safety
    /// As for [`take_output`](Task::take_output).
    pub(super) unsafe fn drop_output(self) {
        // SAFETY: as for `take_output`.
        let vtable = unsafe { self.vtable() };
        // SAFETY: passed on from the caller.
        unsafe { (vtable.drop_output)(self) }
    }

    /// # Safety
    /// The state word has told the caller to free (rule 4), and the stage is empty.
    #[inline]
    pub(super) unsafe fn free(self) {
        // SAFETY: alive until freed below.
        let vtable = unsafe { self.vtable() };
        // SAFETY: passed on from the caller.
        unsafe { (vtable.free)(self) }
    }

    /// Frees a task that has an id, before which the block of the id is freed.
    ///
    /// # Safety
    /// As for [`free`](Task::free).
    #[cold]
    pub(super) unsafe fn free_with_id(mut self) {
        // Dropped last, because its drop may panic.
        // SAFETY: the task belongs to the caller alone.
        let _data = unsafe { self.0.as_mut() }.origin.forget();
        // SAFETY: passed on from the caller.
        unsafe { self.free() }
    }

    /// Takes a reference to hold across calls of the schedule function, if the function needs one
    /// (rule 3).
    ///
    /// # Safety
    /// The task is alive.
    pub(super) unsafe fn hold(self) -> Option<Held> {
        // SAFETY: passed on from the caller.
        let stored = unsafe { self.vtable() }.schedule_is_stored;
        // SAFETY: passed on from the caller.
        stored.then(|| unsafe { self.reference() })
    }

    /// Takes a reference, as a waker has one.
    ///
    /// # Safety
    /// The task is alive.
    pub(super) unsafe fn reference(self) -> Held {
        // SAFETY: passed on from the caller.
        unsafe { self.state() }.add_waker();
        Held(self)
    }

    /// Does what must follow after a waker or a handle was given up.
    ///
    /// # Safety
    /// `outcome` is the state word's answer for this task. If it is to schedule, a [`Held`] keeps
    /// rule 3 where that needs one.
    #[inline]
    pub(super) unsafe fn after_release(self, outcome: OnRelease) {
        match outcome {
            OnRelease::Nothing => {}
            // SAFETY: the state word has said so, and the caller keeps rule 3.
            OnRelease::Schedule => unsafe { self.schedule(ScheduleInfo::WOKEN) },
            // SAFETY: the state word has said so. The task is finished and has no handle, so the
            // stage is empty.
            OnRelease::Free => unsafe { self.free() },
            // SAFETY: the state word has said so.
            OnRelease::Orphan => unsafe { self.bury() },
        }
    }

    /// Schedules an orphan once, so that its executor drops the future.
    ///
    /// # Safety
    /// The task is an orphan.
    #[cold]
    unsafe fn bury(self) {
        // SAFETY: an orphan belongs to the caller alone.
        let stored = unsafe { self.vtable() }.schedule_is_stored;
        // SAFETY: as above.
        unsafe { self.state() }.revive_orphan(stored);
        let _held = stored.then(|| Held(self));
        // SAFETY: an orphan has no runnable, and the word now says that there is one. `_held` keeps
        // rule 3.
        unsafe { self.schedule(ScheduleInfo::WOKEN) };
    }
}

// SAFETY: this is only an address, and each use says why it is allowed on its thread.
unsafe impl Send for Task {}
// SAFETY: as for `Send`.
unsafe impl Sync for Task {}

/// A waker's reference, which keeps the task alive.
pub(super) struct Held(Task);

impl Held {
    pub(super) fn task(&self) -> Task {
        self.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the reference has kept the task alive.
        let outcome = unsafe { self.0.state() }.drop_waker();
        // SAFETY: this is the state word's answer. Giving up a waker asks to schedule only an
        // orphan, and `bury` holds a reference of its own.
        unsafe { self.0.after_release(outcome) };
    }
}

/// The waker's table of a task of that family. The functions are the same for all types.
pub(super) const fn waker(family: Option<&'static waker::Family>) -> waker::VTable {
    unsafe fn clone(header: NonNull<waker::Header>) {
        // SAFETY: the caller holds a waker, or runs the task.
        unsafe { Task::of(header).state() }.add_waker();
    }
    unsafe fn wake(header: NonNull<waker::Header>) {
        let task = Task::of(header);
        // SAFETY: the caller holds a waker.
        if unsafe { task.vtable() }.schedule_is_stored {
            // Hold the given-up reference across the call.
            let _held = Held(task);
            // SAFETY: `_held` is that waker.
            return unsafe { wake_by_ref(header) };
        }
        if polled::wake(task) {
            // SAFETY: the caller holds a waker, and gives it up.
            return unsafe { drop(header) };
        }
        // SAFETY: as above.
        let outcome = unsafe { task.state() }.wake_by_value();
        // SAFETY: this is the state word's answer, and the schedule function is not stored.
        unsafe { task.after_release(outcome) }
    }
    unsafe fn wake_by_ref(header: NonNull<waker::Header>) {
        let task = Task::of(header);
        if polled::wake(task) {
            return;
        }
        // SAFETY: the caller holds a waker, or runs the task.
        if let OnWake::Schedule = unsafe { task.state() }.wake() {
            // SAFETY: this is the state word's answer. A running task has unconsumed wake-ups, so
            // here the caller holds a waker, which outlives the call.
            unsafe { task.schedule(ScheduleInfo::WOKEN) }
        }
    }
    unsafe fn drop(header: NonNull<waker::Header>) {
        // This gives up the caller's reference.
        core::mem::drop(Held(Task::of(header)));
    }
    waker::VTable {
        clone,
        wake,
        wake_by_ref,
        drop,
        family,
    }
}
