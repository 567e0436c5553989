//! [`Inbox`]: the runnables that other threads hand to a local executor, as [`Arrivals`] that are
//! linked through the tasks' own words.

use core::{marker::PhantomData, ptr::NonNull};

use crate::arrivals::{Arrivals, ITEM, Taken, is_item};
use joint::{
    task::Runnable,
    waker::{Header, ThinWaker},
};
use joint_switch::{Retire, order};

const _: () = assert!(align_of::<Header>() > ITEM);

/// Tasks with metadata `M`.
pub(crate) struct Inbox<M>(Arrivals, PhantomData<fn() -> M>);

/// The address of a task that was pushed, or `None` at the end of the list.
fn task(word: *mut ()) -> Option<NonNull<()>> {
    NonNull::new(word.map_addr(|address| address & !ITEM)).filter(|_| is_item(word))
}

impl<M> Inbox<M> {
    pub(crate) fn new() -> Self {
        Self(Arrivals::new(), PhantomData)
    }

    /// Hands over a runnable, and wakes the owner if it sleeps. Any thread may call this.
    ///
    /// # Safety
    /// The inbox is alive until its owner has the runnable. Only the owner runs or drops runnables
    /// from here.
    pub(crate) unsafe fn push(this: *const Self, runnable: Runnable<M>) {
        let pushed = runnable.into_raw();
        // SAFETY: `pushed` came from `into_raw`, and no other thread has it before it is pushed.
        let link = unsafe { Runnable::<M>::raw_link(pushed) };
        // ORDERING: push_link. Relaxed: the push publishes it.
        let link = |below| link.set(below, order!(push_link: Relaxed));
        let item = pushed.as_ptr().map_addr(|address| address | ITEM);
        // SAFETY: the inbox is alive, as the caller promises, and nothing is read here.
        let arrivals = unsafe { &raw const (*this).0 };
        // SAFETY: alive until the owner has the runnable.
        if let Some(waker) = unsafe { Arrivals::push(arrivals, item, link) } {
            waker.wake();
        }
    }

    /// Passes what was pushed to `each`, oldest first. Only the owner may call this. It is one load
    /// if nothing was pushed.
    #[inline]
    pub(crate) fn take(&self, each: impl FnMut(Runnable<M>)) {
        if self.0.has_items() {
            let waker = self.empty(each);
            debug_assert!(waker.is_none(), "only the owner stores a waker here");
        }
    }

    /// Takes the owner's waker back if no push has taken it, or else takes what was pushed. Only
    /// the owner may call this.
    #[inline]
    pub(crate) fn rise(&self, each: impl FnMut(Runnable<M>)) -> Option<ThinWaker> {
        match self.0.is_empty() {
            true => None,
            false => self.empty(each),
        }
    }

    // Kept apart, so that the looks of `take` and `rise` are inlined.
    #[inline(never)]
    fn empty(&self, each: impl FnMut(Runnable<M>)) -> Option<ThinWaker> {
        match self.0.empty() {
            Taken::Nothing => {}
            Taken::Waker(waker) => return Some(waker),
            // SAFETY: `push` has put them here, and they were taken out.
            Taken::Items(last) => unsafe { reversed(last) }.for_each(each),
        }
        None
    }

    /// Puts the owner to sleep until `waker` is woken. Gives the waker back if something was pushed
    /// meanwhile. Only the owner may call this, and not twice without [`rise`](Inbox::rise).
    pub(crate) fn sleep(&self, waker: ThinWaker) -> Result<(), ThinWaker> {
        self.0.wait(waker)
    }
}

impl<M> Retire for Inbox<M> {
    fn retire(&mut self) {
        self.0.retire();
    }
}

/// Returns runnables oldest first that are linked newest first.
///
/// # Safety
/// `last` heads a list of items that [`Inbox::push`] has linked, and that is the caller's.
unsafe fn reversed<M>(last: *mut ()) -> impl Iterator<Item = Runnable<M>> {
    let (mut turned, mut left) = (None::<NonNull<()>>, last);
    while let Some(this) = task(left) {
        // SAFETY: this is the address of a runnable, which has not been rebuilt from it yet.
        let link = unsafe { Runnable::<M>::raw_link(this) };
        // ORDERING: turn_look, turn. Relaxed: the links are visible since the list was taken, and
        // it belongs to this thread.
        left = link.get(order!(turn_look: Relaxed));
        link.set(
            turned.map_or(core::ptr::null_mut(), NonNull::as_ptr),
            order!(turn: Relaxed),
        );
        turned = Some(this);
    }
    core::iter::from_fn(move || {
        let this = turned?;
        // SAFETY: as above.
        let link = unsafe { Runnable::<M>::raw_link(this) };
        // ORDERING: next. Relaxed: as for `turn`.
        turned = NonNull::new(link.get(order!(next: Relaxed)));
        // SAFETY: the address is in the list once, and came from `into_raw`.
        Some(unsafe { Runnable::from_raw(this) })
    })
}
