//! What a [`Completion`](super::Completion) has beside its word: nothing, or a [`Room`] for its
//! first waker.
//!
//! The rules of the room:
//!
//! 1. Only the waiter writes it, and only between a look that saw `PENDING` and the exchange that
//!    publishes `IN_ROOM`. The word never returns to `PENDING`, so this happens once. A waker that
//!    replaces the first one is in the word itself.
//! 2. The waiter copies the room before it detaches, because after that the completer may free it.
//!    The completer copies the room before it finishes, and only if it has seen `IN_ROOM`.
//! 3. A copy is a waker only for the side whose exchange took `IN_ROOM` out of the word. Every
//!    other copy is forgotten.
//!
//! The completer therefore looks at the word before it finishes:
//!
//! | sees | what follows |
//! |---|---|
//! | `PENDING` | compare-exchange, since the waiter may just be moving in. If it fails, look again |
//! | `IN_ROOM` | copy, exchange. It returns `IN_ROOM`, or what is there after the waiter moved out |
//! | `W` | exchange, because the waiter has moved out |
//! | `DETACHED` | nothing, because the waiter never looks again |
//!
//! The waiter moves in once and out once, so this is at most one compare-exchange and one exchange.
//! It is one of the two if the waiter does nothing at that moment.
//!
//! **A task's join word has no room.** Room would take two words of every task, whose other parts
//! are six words and the future, and would help only a join with a waker of another crate. Such a
//! join pays for the box: one more block of the allocator, and one more cache line to move if the
//! task ends on another thread. No word of a task could serve as room meanwhile: the link and the
//! metadata belong to the queues and the executor, the place of the spawn is read by hooks, and the
//! future is being polled.

use core::{
    fmt,
    mem::MaybeUninit,
    panic::{RefUnwindSafe, UnwindSafe},
    task::Waker,
};

use crate::waker::ThinWaker;
use joint_switch::{Retire, UnsafeCell, const_unless_modelled};

/// Room for one waker beside the word of a [`Completion`](crate::Completion), so that a waker of
/// another crate is not boxed. It is two pointers in size.
///
/// [`Completion::with_room`](crate::Completion::with_room) creates such a completion.
pub struct Room(UnsafeCell<MaybeUninit<Waker>>);

// SAFETY: a waker may be used and dropped on any thread, and the rules above say which side may
// access it.
unsafe impl Sync for Room {}

impl UnwindSafe for Room {}
impl RefUnwindSafe for Room {}

impl Room {
    const_unless_modelled! {
        pub(super) fn new() -> Self {
            Self(UnsafeCell::new(MaybeUninit::uninit()))
        }
    }

    /// Puts the first waker in.
    ///
    /// # Safety
    /// `this` is alive. The caller is the waiter, has seen `PENDING`, and has not registered.
    #[inline]
    pub(super) unsafe fn put(this: *const Self, waker: Waker) {
        // SAFETY: alive by this function's contract.
        let cell = unsafe { &(*this).0 };
        cell.with_mut(|place| {
            // SAFETY: by rule 1 no other thread accesses the room before it is published.
            unsafe { place.write(MaybeUninit::new(waker)) }
        });
    }

    /// Copies what is in the room, which may be nothing.
    ///
    /// # Safety
    /// `this` is alive. The caller is the waiter, or has seen `IN_ROOM`.
    #[inline]
    pub(super) unsafe fn copy(this: *const Self) -> MaybeUninit<Waker> {
        // SAFETY: alive by this function's contract.
        let cell = unsafe { &(*this).0 };
        // SAFETY: by rule 1 the room is not written after it was published, and before that only
        // the waiter accesses it.
        cell.with(|place| unsafe { place.read() })
    }
}

impl Retire for Room {
    #[inline]
    fn retire(&mut self) {
        self.0.retire();
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Room")
    }
}

/// What a [`Completion`](crate::Completion) has beside its word: `()`, which is nothing, or
/// [`Room`]. No other type can implement this.
pub trait Space: sealed::Sealed {
    /// The form in which a registered waker is handed out: [`ThinWaker`] if it was in the word, and
    /// [`Waker`] if it may have been in the room.
    type Waker: From<ThinWaker> + From<Waker> + Into<Waker> + fmt::Debug;
}

impl Space for () {
    type Waker = ThinWaker;
}

impl Space for Room {
    type Waker = Waker;
}

pub(super) mod sealed {
    use super::Room;
    use joint_switch::Retire;

    pub trait Sealed: Sized {
        /// Creates it empty.
        fn new() -> Self;

        /// Returns the room, if there is one.
        fn room(this: *const Self) -> Option<*const Room>;

        /// Retires the room, if there is one.
        fn retire(&mut self);
    }

    impl Sealed for () {
        fn new() -> Self {}

        #[inline]
        fn room(_: *const Self) -> Option<*const Room> {
            None
        }

        #[inline]
        fn retire(&mut self) {}
    }

    impl Sealed for Room {
        fn new() -> Self {
            Self::new()
        }

        #[inline]
        fn room(this: *const Self) -> Option<*const Room> {
            Some(this)
        }

        #[inline]
        fn retire(&mut self) {
            Retire::retire(self);
        }
    }
}
