//! Where the memory of a task comes from: the heap, or a slot of a [`TaskPool`].
//!
//! A slot is `FREE` or `TAKEN`:
//!
//! | transition | instruction | by |
//! |---|---|---|
//! | take | `compare_exchange(FREE, TAKEN, Acquire)` | the thread that reserves it |
//! | give back | `store(FREE, Release)` | the [`FreeSlot`], or else the thread that frees the task |
//!
//! The room of a slot belongs to the side that has taken it, and from the spawn on to the task,
//! whose own rules say which thread may access what (`cell.rs`). The thread that frees the task is
//! ordered after every thread that could reach it, so no waker, handle or runnable of an earlier
//! task is left when the slot is taken again, and a slot needs no generation.

use core::{fmt, marker::PhantomPinned, mem::ManuallyDrop, pin::Pin, ptr::NonNull};

use super::{Builder, JoinHandle, Runnable, unwind};
use joint_switch::{AtomicUsize, Room, UnsafeCell, array_of, const_unless_modelled, order};

const FREE: usize = 0;
const TAKEN: usize = 1;

/// The kind of place that a [`Builder`] puts its tasks in: [`Heap`] or [`FreeSlot`]. No other crate
/// can name it, so it is implemented here alone.
///
/// # Safety
/// `allocate` returns memory for one `T`, which belongs to the caller.
pub unsafe trait Place {
    /// Whether a large part may have a box of its own (`apart.rs`).
    const HAS_HEAP: bool = false;

    /// Returns memory for one `T`.
    fn allocate<T>(self) -> NonNull<T>;

    /// # Safety
    /// `memory` came from `allocate` with the same `T`, and no one uses it after this.
    unsafe fn release<T>(memory: NonNull<T>);
}

/// The place of a task in memory of its own, from the program's allocator.
#[derive(Clone, Copy, Debug)]
pub struct Heap;

// SAFETY: the memory is a block for a `T`.
#[cfg(feature = "alloc")]
unsafe impl Place for Heap {
    const HAS_HEAP: bool = true;

    #[inline(always)]
    fn allocate<T>(self) -> NonNull<T> {
        joint_switch::heap::allocate()
    }

    #[inline(always)]
    unsafe fn release<T>(memory: NonNull<T>) {
        // SAFETY: passed on from the caller.
        unsafe { joint_switch::heap::release(memory) };
    }
}

/// Memory for `N` tasks at a time, of up to `SIZE` bytes each, which needs no allocator.
///
/// Make it a `static`. Tasks of different types can share a pool. [`TaskStorage`] has room for one
/// task.
///
/// A task keeps its slot until it has ended, and its handle and all its wakers are gone. A waker
/// that is kept somewhere therefore keeps a slot, although its task may have ended long ago.
///
/// # Size
/// `SIZE` counts everything in the task: a header of five pointers, rounded up to a multiple of 8
/// bytes (of 32 bytes, where pointers have 32 bits and atomics have 64), the metadata, the schedule
/// function, the name, and the larger one of future and output.
/// A program with a task that does not fit is not compiled. The error has both sizes: "attempt to
/// compute `128_usize - 176_usize`" means that `SIZE` must be at least 176.
/// ```compile_fail,E0080
/// use joint::task::TaskStorage;
///
/// static SMALL: TaskStorage<128> = TaskStorage::new();
///
/// let large = [0; 1024];
/// let future = async move { large.len() };
/// let _ = SMALL.spawn(future, |_| {});
/// ```
///
/// A future whose alignment is more than two pointers does not fit either.
///
/// # Progress
/// A spawn does not wait for another thread, and neither does the end of a task. Where the machine
/// has a compare-exchange as an instruction, both are wait-free.
///
/// # Cost
/// A spawn looks for a free slot, which takes one atomic read-modify-write for each slot up to the
/// first that is free. A task frees its slot by one store.
///
/// # Happens-before
/// All use of a slot by one task happens before its use by the next.
///
/// # Example
/// ```
/// use joint::task::{Full, Runnable, TaskPool};
/// use std::sync::Mutex;
///
/// static TASKS: TaskPool<256, 2> = TaskPool::new();
/// static QUEUE: Mutex<Vec<Runnable>> = Mutex::new(Vec::new());
///
/// fn schedule(runnable: Runnable) {
///     QUEUE.lock().unwrap().push(runnable);
/// }
///
/// let (first, six) = TASKS.spawn(async { 6 }, schedule).unwrap();
/// let second = TASKS.spawn_detached(async { 7 }, schedule).unwrap();
/// let Err(Full(third)) = TASKS.spawn_detached(async { 8 }, schedule) else { panic!() };
/// first.run();
/// second.run();
/// // The first task has ended too, but its handle keeps the output.
/// assert_eq!(joint::block_on(six), 6);
/// TASKS.spawn_detached(third, schedule).unwrap().run();
/// ```
#[derive(Debug)]
pub struct TaskPool<const SIZE: usize, const N: usize> {
    slots: [Slot<SIZE>; N],
    /// Because its tasks have addresses in it.
    _pinned: PhantomPinned,
}

/// Memory for one task at a time, of up to `SIZE` bytes. See [`TaskPool`].
pub type TaskStorage<const SIZE: usize> = TaskPool<SIZE, 1>;

/// The room comes first, so a task has the address of its slot.
#[derive(Debug)]
#[repr(C)]
struct Slot<const SIZE: usize> {
    room: Room<SIZE>,
    state: AtomicUsize,
    /// Stands for the room in a model, which finds two owners at a time. It has no size otherwise.
    owner: UnsafeCell<()>,
}

// SAFETY: the room belongs to one side at a time, which the state says. What is in it may be sent,
// or else `spawn_unchecked` has demanded that it stays on its thread.
unsafe impl<const SIZE: usize> Sync for Slot<SIZE> {}

impl<const SIZE: usize> Slot<SIZE> {
    const_unless_modelled! {
        fn new() -> Self {
            Self {
                room: Room::new(),
                state: AtomicUsize::new(FREE),
                owner: UnsafeCell::new(()),
            }
        }
    }

    fn take(&self) -> Option<FreeSlot<SIZE>> {
        // ORDERING: take, taken. Acquire, with the Release of `give_back`: all use of the slot by
        // the task before is over. On failure no other memory is read because of the value.
        let (done, failed) = (order!(take: Acquire), order!(taken: Relaxed));
        let exchange = self.state.compare_exchange(FREE, TAKEN, done, failed);
        exchange.ok()?;
        self.owner.with_mut(|_| ());
        Some(FreeSlot(self.into()))
    }
}

impl<const SIZE: usize, const N: usize> TaskPool<SIZE, N> {
    const_unless_modelled! {
        /// Creates a pool whose slots are free. For a `static` in a model, see [the crate's
        /// documentation](crate#in-your-own-models).
        #[must_use]
        pub fn new() -> Self {
            Self { slots: array_of!(Slot::new(); N), _pinned: PhantomPinned }
        }
    }

    /// Makes a task of a future in a free slot, as [`task::spawn`](super::spawn) does on the heap.
    ///
    /// # Errors
    /// [`Full`], with the future, if no slot is free.
    #[track_caller]
    pub fn spawn<F, S>(
        &'static self,
        future: F,
        schedule: S,
    ) -> Result<(Runnable, JoinHandle<F::Output>), Full<F>>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
        S: Fn(Runnable) + Send + Sync + 'static,
    {
        match self.reserve() {
            Some(slot) => Ok(Builder::new().slot(slot).spawn(|()| future, schedule)),
            None => Err(Full(future)),
        }
    }

    /// Makes a task without a handle in a free slot, as
    /// [`task::spawn_detached`](super::spawn_detached) does on the heap.
    ///
    /// # Errors
    /// [`Full`], with the future, if no slot is free.
    #[track_caller]
    pub fn spawn_detached<F, S>(&'static self, future: F, schedule: S) -> Result<Runnable, Full<F>>
    where
        F: Future + Send + 'static,
        S: Fn(Runnable) + Send + Sync + 'static,
    {
        match self.reserve() {
            Some(slot) => Ok(Builder::new()
                .slot(slot)
                .spawn_detached(|()| future, schedule)),
            None => Err(Full(future)),
        }
    }

    /// Reserves a slot for a task that a [`Builder`] makes: with metadata, or of a future that is
    /// made only if there is a slot for it.
    ///
    /// Returns `None` if no slot is free. It may miss a slot that becomes free during the call.
    ///
    /// # Example
    /// ```
    /// use joint::task::{Builder, TaskStorage};
    ///
    /// static BLINK: TaskStorage<128> = TaskStorage::new();
    ///
    /// let slot = BLINK.reserve().expect("it runs already");
    /// let builder = Builder::new().slot(slot).metadata(13);
    /// let blink = |&pin: &i32| async move { pin + 1 };
    /// let runnable = builder.spawn_detached(blink, |_| {});
    /// assert_eq!(runnable.metadata(), &13);
    /// runnable.run();
    /// ```
    pub fn reserve(&'static self) -> Option<FreeSlot<SIZE>> {
        Pin::static_ref(self).reserve_pinned()
    }

    /// As [`reserve`](TaskPool::reserve), for a pool that is not a `static`.
    ///
    /// Its drop ends the program if a slot is still taken, because a task, or a waker of it, would
    /// be left without its memory.
    ///
    /// # Example
    /// ```
    /// use joint::task::{Builder, TaskStorage};
    /// use std::pin::pin;
    ///
    /// let storage = pin!(TaskStorage::<256>::new());
    /// let slot = storage.as_ref().reserve_pinned().unwrap();
    /// let (runnable, handle) = Builder::new().slot(slot).spawn(|()| async { 5 }, |_| {});
    /// runnable.run();
    /// assert_eq!(joint::block_on(handle), 5);
    /// ```
    pub fn reserve_pinned(self: Pin<&Self>) -> Option<FreeSlot<SIZE>> {
        self.get_ref().slots.iter().find_map(Slot::take)
    }
}

impl<const SIZE: usize, const N: usize> Drop for TaskPool<SIZE, N> {
    fn drop(&mut self) {
        // Taking each slot orders this after all use of it.
        for slot in &self.slots {
            match slot.take() {
                Some(free) => core::mem::forget(free),
                None => unwind::abort!(
                    "a `TaskPool` was dropped while a task in it, or a waker of one, still existed"
                ),
            }
        }
    }
}

/// A slot of a [`TaskPool`] that is reserved for the owner of this value, who can put a task into
/// it by [`Builder::slot`]. Dropping it gives it back.
#[derive(Debug)]
pub struct FreeSlot<const SIZE: usize>(NonNull<Slot<SIZE>>);

// SAFETY: the slot may be used by any thread, and this is its only owner.
unsafe impl<const SIZE: usize> Send for FreeSlot<SIZE> {}
// SAFETY: nothing can be done with a reference to it.
unsafe impl<const SIZE: usize> Sync for FreeSlot<SIZE> {}

// SAFETY: a slot that is taken belongs to whoever took it, and `allocate` compiles only if a `T`
// fits.
unsafe impl<const SIZE: usize> Place for FreeSlot<SIZE> {
    #[inline]
    fn allocate<T>(self) -> NonNull<T> {
        const {
            assert!(
                align_of::<T>() <= align_of::<Room<SIZE>>(),
                "the alignment of the task is more than that of the slots of a `TaskPool`"
            );
            // The bytes that are left. It is not compiled if there are too few.
            SIZE - size_of::<T>()
        };
        ManuallyDrop::new(self).0.cast()
    }

    #[inline]
    unsafe fn release<T>(memory: NonNull<T>) {
        drop(Self(memory.cast()));
    }
}

impl<const SIZE: usize> Drop for FreeSlot<SIZE> {
    fn drop(&mut self) {
        // SAFETY: the pool is a `static`, or its drop ends the program while the slot is taken. The
        // reference is used up to the store, and for atomic operations.
        let slot = unsafe { self.0.as_ref() };
        slot.owner.with_mut(|_| ());
        // ORDERING: give_back. Release, with the Acquire of `take`.
        slot.state.store(FREE, order!(give_back: Release));
    }
}

/// No slot of a [`TaskPool`] was free. It has the future, which was not spawned.
#[derive(Clone, Copy)]
pub struct Full<F>(pub F);

impl<F> fmt::Debug for Full<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Full").finish_non_exhaustive()
    }
}

says!(Full<F>: Self(_) => "no slot of the task pool is free");
