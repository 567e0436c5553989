//! How other threads hand runnables to a local executor, and wake it: one word.
//!
//! | the word | meaning |
//! |---|---|
//! | null | nothing was pushed, and the owner is awake |
//! | the address of a task | the runnable that was pushed last. Each links to the one before it, and the first links to null |
//! | the address of a waker, tagged | nothing was pushed, and the owner sleeps. This waker wakes it |
//!
//! | event | before -> after | and then |
//! |---|---|---|
//! | any thread pushes | null or task -> task | nothing |
//! | any thread pushes | waker -> task | wakes the waker, which it owns now |
//! | the owner takes | task -> null | has all that was pushed |
//! | the owner goes to sleep | null -> waker | sleeps. If it finds a task instead, it does not |
//! | the owner rises by itself | waker -> null | has its waker back |
//!
//! The exchange that pushes is also the one that learns whether to wake the owner, so there is no
//! second word that could disagree with it. It takes the waker along, so only one of several pushes
//! wakes the owner.
//!
//! Rule 1: the exchange is the last thing that a push touches. From then on the owner may run the
//! task and end, and free both. Rule 2: the thread that takes a waker out of the word owns it.

use core::{
    marker::PhantomData,
    ptr::{self, NonNull},
    task::Waker,
};

use joint::{
    task::Runnable,
    waker::{Header, ThinWaker},
};
use joint_switch::{AtomicPtr, Retire, order};

/// Marks the address of a waker. A task's header and a waker's header are aligned to 8 bytes, and a
/// boxed waker to at least 4, and a `ThinWaker` uses only the lowest bit.
const WAKER: usize = 2;
const _: () = assert!(align_of::<Header>() > WAKER && align_of::<Waker>() > WAKER);

/// Tasks with metadata `M`.
pub(crate) struct Inbox<M>(AtomicPtr<()>, PhantomData<fn() -> M>);

/// The meaning of a word.
enum Word {
    Nothing,
    Runnables(NonNull<()>),
    Waker,
}

fn read(word: *mut ()) -> Word {
    match NonNull::new(word) {
        None => Word::Nothing,
        Some(_) if word.addr() & WAKER != 0 => Word::Waker,
        Some(last) => Word::Runnables(last),
    }
}

fn tagged(waker: ThinWaker) -> *mut () {
    let word = waker.into_raw().as_ptr();
    debug_assert_eq!(
        word.addr() & WAKER,
        0,
        "the address of the waker is aligned"
    );
    word.map_addr(|address| address | WAKER)
}

/// # Safety
/// `word` came from [`tagged`], and its waker belongs to the caller by rule 2.
unsafe fn untagged(word: *mut ()) -> ThinWaker {
    let word = word.map_addr(|address| address & !WAKER);
    // SAFETY: a waker's address is not null even without the tag.
    let word = unsafe { NonNull::new_unchecked(word) };
    // SAFETY: the address came from `into_raw`, and is used once by rule 2.
    unsafe { ThinWaker::from_raw(word) }
}

impl<M> Inbox<M> {
    pub(crate) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()), PhantomData)
    }

    /// Hands over a runnable, and wakes the owner if it sleeps. Any thread may call this.
    /// Lock-free: it retries only if another push, or the owner, was faster.
    ///
    /// # Safety
    /// The inbox is alive until its owner has the runnable. Only the owner runs or drops runnables
    /// from here.
    pub(crate) unsafe fn push(this: *const Self, runnable: Runnable<M>) {
        // SAFETY: the inbox is alive until the exchange that succeeds, and is not touched after it
        // (rule 1).
        let head = unsafe { &(*this).0 };
        let pushed = runnable.into_raw();
        // ORDERING: push_look. Relaxed: the exchange below decides.
        let mut seen = head.load(order!(push_look: Relaxed));
        loop {
            let below = match read(seen) {
                Word::Nothing | Word::Waker => ptr::null_mut(),
                Word::Runnables(last) => last.as_ptr(),
            };
            // SAFETY: `pushed` came from `into_raw`, and no other thread has it before the
            // exchange.
            let link = unsafe { Runnable::<M>::raw_link(pushed) };
            // ORDERING: push_link. Relaxed: `push` publishes it.
            link.set(below, order!(push_link: Relaxed));
            // ORDERING: push, push_again. Release, with `take` (Acquire): the owner sees the link
            // and the links below it, because each push continues the release sequence of those
            // before it. Acquire, with `sleep` (Release): the waker that this takes out is whole.
            // On failure nothing is read through the value.
            let exchange = head.compare_exchange(
                seen,
                pushed.as_ptr(),
                order!(push: AcqRel),
                order!(push_again: Relaxed),
            );
            match exchange {
                Ok(before) => {
                    if let Word::Waker = read(before) {
                        // SAFETY: the exchange took it out (rule 2).
                        unsafe { untagged(before) }.wake();
                    }
                    return;
                }
                Err(now) => seen = now,
            }
        }
    }

    /// Passes what was pushed to `each`, oldest first. Only the owner may call this. It is one load
    /// if nothing was pushed.
    #[inline]
    pub(crate) fn take(&self, each: impl FnMut(Runnable<M>)) {
        // ORDERING: take_look. Relaxed: a push that it misses is found by the next look, or causes
        // `sleep` to fail.
        if let Word::Runnables(_) = read(self.0.load(order!(take_look: Relaxed))) {
            let waker = self.empty(each);
            debug_assert!(waker.is_none(), "only the owner stores a waker here");
        }
    }

    /// Takes the owner's waker back if no push has taken it, or else takes what was pushed. Only
    /// the owner may call this.
    #[inline]
    pub(crate) fn rise(&self, each: impl FnMut(Runnable<M>)) -> Option<ThinWaker> {
        // ORDERING: rise_look. Relaxed: as for `take_look`. If a waker is here, the owner has put
        // it here.
        match read(self.0.load(order!(rise_look: Relaxed))) {
            Word::Nothing => None,
            Word::Runnables(_) | Word::Waker => self.empty(each),
        }
    }

    fn empty(&self, each: impl FnMut(Runnable<M>)) -> Option<ThinWaker> {
        // ORDERING: take. Acquire, with `push` (Release): the links are visible.
        let taken = self.0.swap(ptr::null_mut(), order!(take: Acquire));
        match read(taken) {
            Word::Nothing => {}
            // SAFETY: the exchange took it out (rule 2).
            Word::Waker => return Some(unsafe { untagged(taken) }),
            // SAFETY: `push` has put them here, and the exchange took them out.
            Word::Runnables(last) => unsafe { reversed(last) }.for_each(each),
        }
        None
    }

    /// Puts the owner to sleep until `waker` is woken. Gives the waker back if something was pushed
    /// meanwhile. Only the owner may call this, and not twice without [`rise`](Inbox::rise).
    pub(crate) fn sleep(&self, waker: ThinWaker) -> Result<(), ThinWaker> {
        let word = tagged(waker);
        // ORDERING: sleep, sleep_not. Release, with `push` (Acquire): the waker is whole for the
        // push that takes it. On failure nothing is read through the value.
        let exchange = self.0.compare_exchange(
            ptr::null_mut(),
            word,
            order!(sleep: Release),
            order!(sleep_not: Relaxed),
        );
        match exchange {
            Ok(_) => Ok(()),
            // SAFETY: the waker was not put into the word (rule 2).
            Err(_) => Err(unsafe { untagged(word) }),
        }
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
/// `last` heads a list of addresses that [`Inbox::push`] has linked, and the list belongs to the
/// caller.
unsafe fn reversed<M>(last: NonNull<()>) -> impl Iterator<Item = Runnable<M>> {
    let mut turned = ptr::null_mut();
    let mut left = Some(last);
    while let Some(this) = left {
        // SAFETY: this is the address of a runnable, which has not been rebuilt from it yet.
        let link = unsafe { Runnable::<M>::raw_link(this) };
        // ORDERING: turn_look, turn. Relaxed: `take` has made the links visible, and the list
        // belongs to this thread.
        left = NonNull::new(link.get(order!(turn_look: Relaxed)));
        link.set(turned, order!(turn: Relaxed));
        turned = this.as_ptr();
    }
    core::iter::from_fn(move || {
        let this = NonNull::new(turned)?;
        // SAFETY: as above.
        let link = unsafe { Runnable::<M>::raw_link(this) };
        // ORDERING: next. Relaxed: as for `turn`.
        turned = link.get(order!(next: Relaxed));
        // SAFETY: the address is in the list once, and came from `into_raw`.
        Some(unsafe { Runnable::from_raw(this) })
    })
}
