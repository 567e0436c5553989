//! How other threads hand runnables to a local executor, and wake it: one word.
//!
//! | the word | meaning |
//! |---|---|
//! | null | nothing was pushed, and the owner is awake |
//! | the address of a task | the runnable that was pushed last; each links to the one before, the first to null |
//! | the address of a waker, tagged | nothing was pushed, and the owner sleeps: this wakes it |
//!
//! | who | before -> after | and then |
//! |---|---|---|
//! | any thread pushes | null or task -> task | nothing |
//! | any thread pushes | waker -> task | wakes the waker, which is its own now |
//! | the owner takes | task -> null | has all that was pushed |
//! | the owner goes to sleep | null -> waker | sleeps; finds a task: does not |
//! | the owner rises by itself | waker -> null | has its waker back |
//!
//! So the exchange that pushes is also the one that learns whether to wake, and there is no second
//! word that could be out of step with it. It takes the waker along: of several pushes one wakes.
//!
//! Rule 1: the exchange is the last that a push touches. From then on the owner may run the task,
//! end, and free both. Rule 2: whoever takes a waker out of the word owns it.

use core::ptr::{self, NonNull};

use crate::{
    sync::{AtomicPtr, Retire, order},
    task::Runnable,
    waker::ThinWaker,
};

/// Marks the address of a waker. What heads a waker or a task is aligned to 8 bytes and a boxed
/// waker to at least 4, and a `ThinWaker` uses the lowest bit alone.
const WAKER: usize = 2;

pub(crate) struct Inbox(AtomicPtr<()>);

/// What a word says.
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
    debug_assert_eq!(word.addr() & WAKER, 0, "a waker's address uses that bit");
    word.map_addr(|address| address | WAKER)
}

/// # Safety
/// `word` came from [`tagged`], and its waker is the caller's by rule 2.
unsafe fn untagged(word: *mut ()) -> ThinWaker {
    let word = word.map_addr(|address| address & !WAKER);
    // SAFETY: a waker's address is not null without the tag either.
    let word = unsafe { NonNull::new_unchecked(word) };
    // SAFETY: it came from `into_raw`, once by rule 2.
    unsafe { ThinWaker::from_raw(word) }
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Hands a runnable over, and wakes the owner if it sleeps. Any thread. Lock-free: it tries
    /// again only when another push, or the owner, was faster.
    ///
    /// # Safety
    /// The inbox is alive for as long as its owner has not got the runnable. Only the owner runs or
    /// drops runnables from here.
    pub(crate) unsafe fn push(this: *const Self, runnable: Runnable) {
        // SAFETY: alive up to the exchange that succeeds, and not touched after it (rule 1).
        let head = unsafe { &(*this).0 };
        let pushed = runnable.into_raw();
        // ORDERING: push_look. Relaxed: the exchange below decides.
        let mut seen = head.load(order!(push_look: Relaxed));
        loop {
            let below = match read(seen) {
                Word::Nothing | Word::Waker => ptr::null_mut(),
                Word::Runnables(last) => last.as_ptr(),
            };
            // SAFETY: `pushed` came from `into_raw`, and is nobody else's up to the exchange.
            let link = unsafe { Runnable::<()>::raw_link(pushed) };
            // ORDERING: push_link. Relaxed: `push` publishes it.
            link.set(below, order!(push_link: Relaxed));
            // ORDERING: push, push_again. Release, with `take` (Acquire): the link is visible to
            // the owner, and what is linked below it, by the release sequences that each push goes
            // on with. Acquire, with `sleep` (Release): the waker that this takes out is whole. On
            // failure nothing is read through the value.
            let exchange = head.compare_exchange(
                seen,
                pushed.as_ptr(),
                order!(push: AcqRel),
                order!(push_again: Relaxed),
            );
            match exchange {
                Ok(before) => {
                    if let Word::Waker = read(before) {
                        // SAFETY: taken out by the exchange (rule 2).
                        unsafe { untagged(before) }.wake();
                    }
                    return;
                }
                Err(now) => seen = now,
            }
        }
    }

    /// Gives what was pushed to `each`, oldest first. The owner only. A look, if nothing was
    /// pushed.
    #[inline]
    pub(crate) fn take(&self, each: impl FnMut(Runnable)) {
        // ORDERING: take_look. Relaxed: what it misses is there at the next look, or makes `sleep`
        // fail.
        if let Word::Runnables(_) = read(self.0.load(order!(take_look: Relaxed))) {
            let waker = self.empty(each);
            debug_assert!(waker.is_none(), "the owner alone puts a waker here");
        }
    }

    /// Takes the owner's waker back, if nobody has taken it, or else what was pushed. The owner
    /// only.
    #[inline]
    pub(crate) fn rise(&self, each: impl FnMut(Runnable)) -> Option<ThinWaker> {
        // ORDERING: rise_look. Relaxed: as `take_look`; a waker that is here the owner has put
        // here.
        match read(self.0.load(order!(rise_look: Relaxed))) {
            Word::Nothing => None,
            Word::Runnables(_) | Word::Waker => self.empty(each),
        }
    }

    fn empty(&self, each: impl FnMut(Runnable)) -> Option<ThinWaker> {
        // ORDERING: take. Acquire, with `push` (Release): the links are visible.
        let taken = self.0.swap(ptr::null_mut(), order!(take: Acquire));
        match read(taken) {
            Word::Nothing => {}
            // SAFETY: taken out by the exchange (rule 2).
            Word::Waker => return Some(unsafe { untagged(taken) }),
            // SAFETY: `push` has put them here, and they were taken out by the exchange.
            Word::Runnables(last) => unsafe { reversed(last) }.for_each(each),
        }
        None
    }

    /// The owner goes to sleep, until `waker` is woken; which is given back when something was
    /// pushed meanwhile. The owner only, and not twice without [`rise`](Inbox::rise).
    pub(crate) fn sleep(&self, waker: ThinWaker) -> Result<(), ThinWaker> {
        let word = tagged(waker);
        // ORDERING: sleep, sleep_not. Release, with `push` (Acquire): the waker is whole for
        // whoever takes it. On failure nothing is read through the value.
        let exchange = self.0.compare_exchange(
            ptr::null_mut(),
            word,
            order!(sleep: Release),
            order!(sleep_not: Relaxed),
        );
        match exchange {
            Ok(_) => Ok(()),
            // SAFETY: it was not put there (rule 2).
            Err(_) => Err(unsafe { untagged(word) }),
        }
    }
}

impl Retire for Inbox {
    fn retire(&mut self) {
        self.0.retire();
    }
}

/// Runnables that are linked newest first, oldest first.
///
/// # Safety
/// `last` heads a list of addresses that [`Inbox::push`] has linked, and which is the caller's.
unsafe fn reversed(last: NonNull<()>) -> impl Iterator<Item = Runnable> {
    let mut turned = ptr::null_mut();
    let mut left = Some(last);
    while let Some(this) = left {
        // SAFETY: the address of a runnable, which is not made of it yet.
        let link = unsafe { Runnable::<()>::raw_link(this) };
        // ORDERING: turn_look, turn. Relaxed: `take` has made the links visible, and the list is
        // this thread's.
        left = NonNull::new(link.get(order!(turn_look: Relaxed)));
        link.set(turned, order!(turn: Relaxed));
        turned = this.as_ptr();
    }
    core::iter::from_fn(move || {
        let this = NonNull::new(turned)?;
        // SAFETY: as above.
        let link = unsafe { Runnable::<()>::raw_link(this) };
        // ORDERING: next. Relaxed: as for `turn`.
        turned = link.get(order!(next: Relaxed));
        // SAFETY: the address is in the list once, and came from `into_raw`.
        Some(unsafe { Runnable::from_raw(this) })
    })
}
