//! [`ThinWaker`]: a waker in one word, so that it fits behind an atomic pointer.
//!
//! The word is the address of a [`Header`], which says how to wake the object that it belongs to. A
//! task, a thread parker, or an executor's own object starts with such a header, so registering it
//! costs one reference and no memory. A foreign [`core::task::Waker`] lies in a [`WakerSlot`],
//! whose address is tagged: in a box, or in place, where somebody else owns the memory.

use core::{
    fmt,
    mem::{ManuallyDrop, MaybeUninit},
    panic::Location,
    ptr::{self, NonNull},
    task::{RawWaker, RawWakerVTable, Waker},
};

use joint_switch::{Retire, heap};

mod slot;

pub use slot::WakerSlot;

/// The tag in the address of a foreign waker in a box. Whoever takes the waker out frees the box.
const BOXED: usize = 1;
/// The tag in the address of a foreign waker in place, in memory that somebody else owns.
const IN_PLACE: usize = 2;
const TAGS: usize = BOXED | IN_PLACE;
const _: () = assert!(align_of::<Header>() > TAGS && align_of::<WakerSlot>() > TAGS);

/// The functions of an object that starts with a [`Header`]. Each takes the header's address.
///
/// Each function may be called from any thread, and must not touch the object after it has given up
/// the reference that keeps the object alive.
#[derive(Clone, Copy, Debug)]
pub struct VTable {
    /// Adds a reference.
    pub clone: unsafe fn(NonNull<Header>),
    /// Wakes, and gives up a reference.
    pub wake: unsafe fn(NonNull<Header>),
    /// Wakes, and keeps the reference.
    pub wake_by_ref: unsafe fn(NonNull<Header>),
    /// Gives up a reference.
    pub drop: unsafe fn(NonNull<Header>),
    /// The family of the object, if it has one.
    pub family: Option<&'static Family>,
}

/// A family of objects, by which an executor recognises the wakers of its own tasks.
///
/// A waker may run any code for any length of time: the schedule function of another executor's
/// task is a stranger's code, too. An executor that treats a waiter as a task of its own, for
/// example to run it next, therefore asks first whether the waiter is [of its
/// family](ThinWaker::is_of).
///
/// A family is its address, so make it a `static`. A reference to a temporary, such as
/// `&Family::new()` in a constant, may have several addresses, and wakers of one of them are
/// strangers to the others. It is never another family.
///
/// # Example
/// ```
/// use joint::{task, task::{Builder, Runnable, Schedule, ScheduleInfo}, waker::{self, Family}};
/// use std::{sync::Mutex, task::Waker};
///
/// static QUEUE: Mutex<Vec<Runnable>> = Mutex::new(Vec::new());
/// static FAMILY: Family = Family::new();
/// struct Push;
///
/// impl Schedule for Push {
///     const FAMILY: Option<&'static Family> = Some(&FAMILY);
///
///     fn schedule(&self, runnable: Runnable, _: ScheduleInfo) {
///         QUEUE.lock().unwrap().push(runnable);
///     }
/// }
///
/// let (ours, _handle) = Builder::new().spawn(|()| async {}, Push);
/// assert!(waker::is_of(&ours.waker(), &FAMILY));
///
/// let (strangers, _handle) = task::spawn(async {}, |_| {});
/// assert!(!waker::is_of(&strangers.waker(), &FAMILY));
/// assert!(!waker::is_of(Waker::noop(), &FAMILY));
/// ```
#[derive(Debug)]
pub struct Family {
    /// Where it was made: constants with equal content may be merged into one address.
    #[allow(dead_code, reason = "it tells two of them apart")]
    made: &'static Location<'static>,
}

impl Family {
    /// Creates a family.
    #[must_use]
    #[track_caller]
    pub const fn new() -> Self {
        let made = Location::caller();
        Self { made }
    }
}

default_is_new!(Family);

/// The first field of every object that can be a [`ThinWaker`] without being boxed.
///
/// The object is `#[repr(C)]` and starts with the header, so both have the same address.
#[derive(Debug)]
#[repr(C, align(8))]
pub struct Header {
    pub(crate) vtable: *const VTable,
}

// SAFETY: a header is the address of an immutable table that lives forever.
unsafe impl Send for Header {}
// SAFETY: as for `Send`.
unsafe impl Sync for Header {}

impl Header {
    /// Creates a header that wakes through `vtable`.
    pub const fn new(vtable: &'static VTable) -> Self {
        Self { vtable }
    }

    /// Creates a header that wakes through the table at `vtable`, which may be the first part of a
    /// larger table.
    ///
    /// # Safety
    /// `vtable` points to a table that lives forever and is never written.
    pub(crate) const unsafe fn from_table(vtable: *const VTable) -> Self {
        Self { vtable }
    }

    /// # Safety
    /// `header` is alive.
    #[inline]
    unsafe fn vtable(header: *const Self) -> &'static VTable {
        // SAFETY: alive by this function's contract, and never written.
        let vtable = unsafe { (*header).vtable };
        // SAFETY: both constructors take tables that live forever and are never written.
        unsafe { &*vtable }
    }
}

/// The table of every `core::task::Waker` that stands for a header. Such a waker is recognised by
/// the table's address.
static OWN: RawWakerVTable = {
    unsafe fn clone(data: *const ()) -> RawWaker {
        // SAFETY: `data` is a live header, of which the waker being cloned holds a reference.
        unsafe { own(data, |table| table.clone) };
        RawWaker::new(data, &OWN)
    }
    unsafe fn wake(data: *const ()) {
        // SAFETY: as for `clone`. The waker is consumed, and its reference with it.
        unsafe { own(data, |table| table.wake) }
    }
    unsafe fn wake_by_ref(data: *const ()) {
        // SAFETY: as for `clone`.
        unsafe { own(data, |table| table.wake_by_ref) }
    }
    unsafe fn drop(data: *const ()) {
        // SAFETY: as for `wake`.
        unsafe { own(data, |table| table.drop) }
    }
    RawWakerVTable::new(clone, wake, wake_by_ref, drop)
};

/// Calls one function of a header's table on it.
///
/// # Safety
/// `data` is the address of a live header, and the caller may call the function: it holds a
/// reference, and gives the reference up if the function does.
#[inline]
unsafe fn own(data: *const (), pick: fn(&VTable) -> unsafe fn(NonNull<Header>)) {
    // SAFETY: the header is alive.
    let vtable = unsafe { Header::vtable(data.cast()) };
    // SAFETY: the address of a live header is not null.
    let header = unsafe { NonNull::new_unchecked(data.cast_mut().cast()) };
    // SAFETY: the caller may call it.
    unsafe { pick(vtable)(header) }
}

/// A waker in one word.
///
/// It is to [`core::task::Waker`] what a thin pointer is to a fat one: clone, wake and drop mean
/// the same, and the two types convert into each other. `Option<ThinWaker>` is one word as well.
///
/// # Cost
/// A waker of this crate's tasks and parked threads converts in both directions without an
/// allocation or an atomic operation (from `&Waker`: one reference). A foreign waker is boxed.
/// Converting it to a `ThinWaker` allocates two words, and converting it back frees them.
///
/// # Example
/// ```
/// use std::task::Waker;
/// use joint::waker::ThinWaker;
///
/// let thin = ThinWaker::from(Waker::noop());
/// assert!(thin.will_wake(Waker::noop()));
/// thin.wake();
/// ```
#[repr(transparent)]
pub struct ThinWaker(NonNull<()>);

// SAFETY: it stands for a header's object or a boxed `Waker`, and both are shared between threads
// by contract.
unsafe impl Send for ThinWaker {}
// SAFETY: as for `Send`.
unsafe impl Sync for ThinWaker {}

impl ThinWaker {
    /// Creates the [`core::task::Waker`] that stands for `header`, and takes over one reference to
    /// it. A `ThinWaker` is made from that.
    ///
    /// # Safety
    /// `header` was made from a pointer to the whole object, and may be used to access all of it.
    /// It is alive as long as there is a reference to it. Its table's functions follow the contract
    /// of [`VTable`], may be called from any thread, and together form a correct waker in the sense
    /// of [`RawWaker`]. The caller gives one reference away.
    #[inline]
    pub unsafe fn waker_from_header(header: NonNull<Header>) -> Waker {
        // SAFETY: the functions of `OWN` expect a live header and one reference to it, which the
        // caller gives away.
        unsafe { Waker::new(header.as_ptr().cast(), &OWN) }
    }

    /// Turns the waker into its word, which owns what the waker owned. Turn it back with
    /// [`ThinWaker::from_raw`].
    ///
    /// The word is never null, and never an address below 8. The place that stores the word may use
    /// these values for other purposes.
    #[inline]
    pub fn into_raw(self) -> NonNull<()> {
        ManuallyDrop::new(self).0
    }

    /// Turns a word from [`ThinWaker::into_raw`] back into the waker.
    ///
    /// # Safety
    /// `raw` came from [`ThinWaker::into_raw`], which was called once for each call of this.
    #[inline]
    pub unsafe fn from_raw(raw: NonNull<()>) -> Self {
        Self(raw)
    }

    /// Turns the word of a waker, which is not null, back into the waker.
    ///
    /// # Safety
    /// As for [`from_raw`](ThinWaker::from_raw).
    #[inline]
    pub(crate) unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: a waker's word is not null.
        Self(unsafe { NonNull::new_unchecked(word) })
    }

    /// Returns whether it belongs to an object of this family.
    #[inline]
    pub fn is_of(&self, family: &'static Family) -> bool {
        is_of(&self.lent(), family)
    }

    /// Wakes the task or thread, and gives the waker up.
    #[inline]
    pub fn wake(self) {
        if self.is_foreign() {
            return foreign(self, Waker::wake);
        }
        Waker::from(self).wake();
    }

    /// Wakes the task or thread, and keeps the waker.
    #[inline]
    pub fn wake_by_ref(&self) {
        self.lent().wake_by_ref();
    }

    /// Returns whether it wakes the same task or thread as `waker`. Like [`Waker::will_wake`], it
    /// may return false although the answer is yes.
    #[inline]
    pub fn will_wake(&self, waker: &Waker) -> bool {
        self.lent().will_wake(waker)
    }

    #[inline]
    fn is_foreign(&self) -> bool {
        self.0.addr().get() & TAGS != 0
    }

    /// Returns the waker that this one stands for, and still owns.
    #[inline]
    fn lent(&self) -> ManuallyDrop<Waker> {
        ManuallyDrop::new(if self.is_foreign() {
            // SAFETY: the waker is in its slot while `self` owns it.
            let waker = unsafe { copy_of(self.0.as_ptr()) };
            // SAFETY: as above.
            unsafe { waker.assume_init() }
        } else {
            // SAFETY: a live header. The reference is given away with `self`, or not at all.
            unsafe { Self::waker_from_header(self.0.cast()) }
        })
    }

    /// Puts a waker into a slot, if it is of another crate.
    ///
    /// # Safety
    /// No one else accesses `slot`. If it is full, its waker was taken out or is leaked. It stays
    /// alive and in its place until the returned waker is gone.
    #[inline]
    pub(crate) unsafe fn placed(waker: Waker, slot: &WakerSlot) -> Self {
        if is_own(&waker) {
            return Self::from(waker);
        }
        // SAFETY: passed on from the caller.
        unsafe { Self::filled(slot.into(), waker, IN_PLACE) }
    }

    /// # Safety
    /// `slot` is alive, and as for `placed`. Its memory is what `tag` says.
    #[inline]
    unsafe fn filled(slot: NonNull<WakerSlot>, waker: Waker, tag: usize) -> Self {
        // SAFETY: passed on from the caller.
        let place = unsafe { slot.as_ref() };
        // SAFETY: passed on from the caller.
        unsafe { place.fill(waker) };
        Self(slot.cast::<()>().map_addr(|address| address | tag))
    }

    /// Copies the waker that a word stands for, if it lies in place.
    ///
    /// # Safety
    /// `word` is null, or that of a waker that is alive.
    #[inline]
    pub(crate) unsafe fn copy_in_place(word: *mut ()) -> MaybeUninit<Waker> {
        if word.addr() & IN_PLACE == 0 {
            return MaybeUninit::uninit();
        }
        // SAFETY: passed on from the caller.
        unsafe { copy_of(word) }
    }

    /// Returns the waker that a word stands for, or its copy if the memory may be gone, because the
    /// waker lies in place.
    ///
    /// # Safety
    /// `word` is that of a waker that the caller owns, and gives up. If the waker lies in place,
    /// `copy` is its copy.
    #[inline]
    pub(crate) unsafe fn or_copy(word: *mut (), copy: MaybeUninit<Waker>) -> Result<Self, Waker> {
        if word.addr() & IN_PLACE != 0 {
            // SAFETY: passed on from the caller.
            return Err(unsafe { copy.assume_init() });
        }
        // SAFETY: passed on from the caller.
        Ok(unsafe { Self::from_word(word) })
    }
}

impl From<Waker> for ThinWaker {
    #[inline]
    fn from(waker: Waker) -> Self {
        if is_own(&waker) {
            let header = ManuallyDrop::new(waker).data().cast_mut();
            // SAFETY: an own waker's data is a live header, and its reference is taken over.
            return unsafe { Self::from_word(header) };
        }
        let boxed = heap::allocate::<WakerSlot>();
        // SAFETY: the block is fresh and ours.
        unsafe { boxed.write(WakerSlot::new()) };
        // SAFETY: as above. The box lives until the waker is taken out.
        unsafe { Self::filled(boxed, waker, BOXED) }
    }
}

impl From<&Waker> for ThinWaker {
    #[inline]
    fn from(waker: &Waker) -> Self {
        Self::from(waker.clone())
    }
}

impl From<ThinWaker> for Waker {
    #[inline]
    fn from(thin: ThinWaker) -> Self {
        let thin = ManuallyDrop::new(thin);
        let waker = thin.lent();
        if thin.0.addr().get() & BOXED != 0 {
            // SAFETY: the box is ours alone, and its waker is now `waker`.
            let slot = unsafe { &mut *slot_of(thin.0.as_ptr()) };
            slot.retire();
            // SAFETY: it came from `heap::allocate::<WakerSlot>`, and no one uses it after this.
            unsafe { heap::release(slot.into()) };
        }
        ManuallyDrop::into_inner(waker)
    }
}

impl Clone for ThinWaker {
    #[inline]
    fn clone(&self) -> Self {
        Self::from(&*self.lent())
    }
}

impl Drop for ThinWaker {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `self` is not used after this.
        let this = unsafe { Self::from_raw(self.0) };
        if this.is_foreign() {
            return foreign(this, drop);
        }
        drop(Waker::from(this));
    }
}

impl fmt::Debug for ThinWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.is_foreign() {
            true => "ThinWaker::Foreign",
            false => "ThinWaker::Own",
        };
        f.debug_tuple(kind).field(&*self.lent()).finish()
    }
}

/// Returns the address of the slot that a foreign waker's word is tagged with.
#[inline]
fn slot_of(word: *mut ()) -> *mut WakerSlot {
    word.map_addr(|address| address & !TAGS).cast()
}

/// Copies the bytes of a foreign waker.
///
/// # Safety
/// `word` is that of a foreign waker that is alive.
#[inline]
unsafe fn copy_of(word: *mut ()) -> MaybeUninit<Waker> {
    // SAFETY: alive by this function's contract.
    let slot = unsafe { &*slot_of(word) };
    // SAFETY: a full slot is not written.
    unsafe { slot.copy() }
}

/// Ends a foreign waker. This is a function of its own so that its callers stay small.
#[inline(never)]
fn foreign(waker: ThinWaker, end: impl FnOnce(Waker)) {
    end(waker.into());
}

/// Returns whether a waker stands for a [`Header`]. Otherwise it is a foreign one.
#[inline]
pub(crate) fn is_own(waker: &Waker) -> bool {
    ptr::eq(waker.vtable(), &OWN)
}

/// Returns whether a waker belongs to an object of this [`Family`].
#[inline]
pub fn is_of(waker: &Waker, family: &'static Family) -> bool {
    is_own(waker) && {
        // SAFETY: the data of such a waker is the address of a header, which it keeps alive.
        let table = unsafe { Header::vtable(waker.data().cast()) };
        table.family.is_some_and(|own| ptr::eq(own, family))
    }
}

/// A waiter's memory of the waker that it last registered, without holding it.
///
/// With it, polling again with the same waker takes no atomic read-modify-write, and the published
/// pointer is never dereferenced. While the registered waker is alive, every waker with an equal
/// memory wakes the same task. As with [`Waker::will_wake`], two may differ although their wakers
/// wake the same task.
///
/// # Example
/// ```
/// use joint::waker::Registration;
/// use std::task::Waker;
///
/// let mut registered = Registration::new();
/// assert!(!registered.is_of(Waker::noop()));
/// registered = Registration::of(Waker::noop());
/// assert!(registered.is_of(Waker::noop()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    data: usize,
    vtable: usize,
}

impl Registration {
    /// A marker by which the owner of an ended word may remember the end. It is that of no waker,
    /// because a table is never null.
    pub(crate) const ENDED: Self = Self { data: 1, vtable: 0 };

    /// Creates the memory of no waker.
    pub const fn new() -> Self {
        Self { data: 0, vtable: 0 }
    }

    /// Creates the memory of a waker.
    #[inline]
    pub fn of(waker: &Waker) -> Self {
        Self {
            data: waker.data().addr(),
            vtable: ptr::from_ref(waker.vtable()).addr(),
        }
    }

    /// Returns whether this is the memory of `waker`.
    #[inline]
    pub fn is_of(self, waker: &Waker) -> bool {
        self == Self::of(waker)
    }

    #[inline]
    pub(crate) fn is_ended(self) -> bool {
        self == Self::ENDED
    }
}
