//! [`Id`]: the identity of a task, and the functions that return it; and [`Origin`], the word of a
//! task that leads to it.

use alloc::{borrow::Cow, boxed::Box};
use core::{any::Any, fmt, num::NonZero, panic::Location, ptr::NonNull};

use super::{AbortHandle, JoinHandle, Runnable, TaskView};
use joint_switch::{AtomicPtr, Retire, UnsafeCell, order, unique};

/// The text of a task's name.
pub(super) type Text = Cow<'static, str>;

/// The identity of a task. No two tasks of a process have the same id, not even one after the
/// other.
///
/// A task gets its id when somebody first asks for it, so ids do not say in which order tasks were
/// made. The first id of a process is 1.
///
/// # Cost
/// A task whose id nobody asks for pays nothing. The first call for a task makes a small
/// allocation, and one atomic read-modify-write on the task's own memory. Each further call is a
/// load. With the feature `std`, threads take ids from a common counter 1,024 at a time.
///
/// # Panics
/// Where the machine has no atomics of 64 bits, there are 2^31 ids, or with the feature `std` 2^41,
/// less those that threads leave. Whoever asks for one more gets a panic.
///
/// # Example
/// ```
/// use joint::task;
///
/// let (runnable, handle) = task::spawn(async {}, |_| {});
/// assert_eq!(runnable.id(), handle.id());
/// let before = handle.id();
/// drop((runnable, handle));
/// let (runnable, _handle) = task::spawn(async {}, |_| {});
/// assert_ne!(runnable.id(), before);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(NonZero<u64>);

impl Id {
    /// Returns the id as a number, the same that `Display` shows.
    pub fn get(self) -> NonZero<u64> {
        self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<M> Runnable<M> {
    /// Returns the identity of the task.
    pub fn id(&self) -> Id {
        self.view().id()
    }

    /// Gives the task its [id](Runnable::id), and with it a value of any type, which a
    /// [view](TaskView::data) of the task gives access to. Returns false, and attaches nothing, if
    /// the task has an id already.
    ///
    /// For an executor some of whose tasks have a value. Every task of an executor has its
    /// [metadata](super::Builder::metadata), and pays for it. The value is dropped after the task's
    /// memory is freed, by the thread that frees it.
    ///
    /// # Cost
    /// As for an id that is asked for. A task without a value pays nothing.
    ///
    /// # Example
    /// ```
    /// use joint::task;
    ///
    /// let (runnable, _handle) = task::spawn(async {}, |_| {});
    /// assert!(runnable.attach(|id| Box::new(format!("request of task {id}"))));
    /// let text = format!("request of task {}", runnable.id());
    /// let data = runnable.view().data().unwrap();
    /// assert_eq!(data.downcast_ref::<String>(), Some(&text));
    /// ```
    pub fn attach(&self, make: impl FnOnce(Id) -> Box<dyn Any + Send + Sync>) -> bool {
        self.view().header().origin.attach(make)
    }
}

impl<T, M> JoinHandle<T, M> {
    /// Returns the identity of the task.
    pub fn id(&self) -> Id {
        self.view().id()
    }
}

impl AbortHandle {
    /// Returns the identity of the task.
    pub fn id(&self) -> Id {
        self.view().id()
    }
}

impl<'a, M> TaskView<'a, M> {
    /// Returns the identity of the task.
    pub fn id(&self) -> Id {
        self.header().origin.id()
    }

    /// Returns the identity of the task, if somebody has asked for it.
    pub(super) fn known_id(&self) -> Option<Id> {
        Some(self.header().origin.look().err()?.value().0)
    }

    /// Returns the value that was [attached](super::Runnable::attach) to the task.
    ///
    /// # Cost
    /// Two loads.
    pub fn data(&self) -> Option<&'a (dyn Any + Send + Sync)> {
        self.header().origin.data()
    }
}

/// Where a task was spawned, and its id if it has one: the address of a [`Location`], or, with the
/// tag [`KNOWN`], of a [`Known`], which this word owns.
pub(super) struct Origin(AtomicPtr<()>);

const KNOWN: usize = 1;

/// A value that was [attached](super::Runnable::attach) to a task.
type Data = Box<dyn Any + Send + Sync>;

struct Known {
    spawned: &'static Location<'static>,
    value: UnsafeCell<(Id, Option<Data>)>,
}

const _: () = assert!(align_of::<Known>() > KNOWN && align_of::<Location<'_>>() > KNOWN);

impl Origin {
    #[inline]
    pub(super) fn new(spawned: &'static Location<'static>) -> Self {
        Self(AtomicPtr::new(NonNull::from(spawned).as_ptr().cast()))
    }

    fn look(&self) -> Result<&'static Location<'static>, &Known> {
        // ORDERING: look. Acquire, with `give` (Release): the block is written.
        let word = self.0.load(order!(look: Acquire));
        // SAFETY: the word was just read with Acquire, and its block lives as long as `self`.
        unsafe { read(word) }
    }

    pub(super) fn spawned(&self) -> &'static Location<'static> {
        self.look().unwrap_or_else(|known| known.spawned)
    }

    fn id(&self) -> Id {
        let known = match self.look() {
            Ok(spawned) => self.publish(spawned, |_| None).0,
            Err(known) => known,
        };
        known.value().0
    }

    /// Gives the task an id and the value that `make` returns for it, unless it has an id already.
    fn attach(&self, make: impl FnOnce(Id) -> Data) -> bool {
        let look = self.look();
        look.is_ok_and(|spawned| self.publish(spawned, |id| Some(make(id))).1)
    }

    fn data(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.look().err()?.value().1.as_deref()
    }

    /// Publishes the block of a new id, unless another thread has been faster. Returns the block
    /// that is there now, and whether it is this one.
    #[cold]
    fn publish(
        &self,
        spawned: &'static Location<'static>,
        make: impl FnOnce(Id) -> Option<Data>,
    ) -> (&Known, bool) {
        let id = Id(unique());
        let value = UnsafeCell::new((id, make(id)));
        let known = NonNull::from(Box::leak(Box::new(Known { spawned, value })));
        let before = NonNull::from(spawned).as_ptr().cast();
        let word = known.as_ptr().cast::<()>();
        let word = word.map_addr(|address| address | KNOWN);
        // ORDERING: give, given. Release and Acquire, with `look` and each other: the block is
        // written.
        let (done, failed) = (order!(give: Release), order!(given: Acquire));
        let Err(word) = self.0.compare_exchange(before, word, done, failed) else {
            // SAFETY: it is written, and lives as long as `self`, which owns it now.
            return (unsafe { known.as_ref() }, true);
        };
        // SAFETY: the block is ours, because it has not been published.
        drop(unsafe { release(known) });
        // SAFETY: as in `look`.
        let Err(known) = (unsafe { read(word) }) else {
            unreachable!("an id is given once")
        };
        (known, false)
    }

    /// Returns whether there is an id to [forget](Origin::forget) before the task is freed.
    #[inline]
    pub(super) fn has_id(&self) -> bool {
        // ORDERING: has_id. Relaxed: the task is the caller's alone.
        self.0.load(order!(has_id: Relaxed)).addr() & KNOWN != 0
    }

    /// Frees the block of the id, if there is one. Returns what was attached to the task.
    pub(super) fn forget(&mut self) -> impl Sized {
        // ORDERING: forget_look, forget. Relaxed: as for `has_id`.
        let word = self.0.load(order!(forget_look: Relaxed));
        let spawned = NonNull::from(self.spawned()).as_ptr().cast();
        self.0.store(spawned, order!(forget: Relaxed));
        // SAFETY: the word has owned the block, and the task is the caller's alone.
        block(word).map(|known| unsafe { release(known) })
    }
}

retires!(Origin: 0);

impl Known {
    fn value(&self) -> &(Id, Option<Data>) {
        // SAFETY: it is written before the block is published, and never after that.
        self.value.with(|value| unsafe { &*value })
    }
}

/// Returns the block that `word` is the address of, if it has the tag.
fn block(word: *mut ()) -> Option<NonNull<Known>> {
    let block = word.map_addr(|address| address & !KNOWN);
    (word != block)
        .then(|| NonNull::new(block.cast()))
        .flatten()
}

/// # Safety
/// `word` was read from an [`Origin`] with Acquire, and its block lives for `'a`.
unsafe fn read<'a>(word: *mut ()) -> Result<&'static Location<'static>, &'a Known> {
    match block(word) {
        // SAFETY: the block is written before it is published, and alive by the contract.
        Some(known) => Err(unsafe { known.as_ref() }),
        // SAFETY: without the tag this is the address of a static location.
        None => Ok(unsafe { &*word.cast() }),
    }
}

/// Frees the block, and returns what it had.
///
/// # Safety
/// The block is the caller's alone.
unsafe fn release(block: NonNull<Known>) -> Known {
    // SAFETY: it came from `publish`, and by this function's contract is not used after this.
    let mut known = *unsafe { Box::from_raw(block.as_ptr()) };
    known.value.retire();
    known
}
