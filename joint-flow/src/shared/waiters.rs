//! [`Waiters`]: the end of a wait in one word, and the list of its waiters.
//!
//! | word | means | written by |
//! |---|---|---|
//! | `OPEN` (null) | not ended, and no waiter has registered yet | creation |
//! | `FIRST` (3) | not ended, and only the first waiter has registered, in its own word | first waiter, when it enters |
//! | `L` (a [`Place`]) | not ended; the newest place of the list | waiters, when they push a place |
//! | `DONE` (1) | there is a value | sender, once |
//! | `CLOSED` (2) | the sender was dropped without sending | sender, once |
//!
//! | operation | instruction | what to do next |
//! |---|---|---|
//! | end | `swap(DONE or CLOSED, AcqRel)` | complete the word of each place in the returned list, and that of the first waiter if the list ends with `FIRST`; wake the wakers that this returns |
//! | check | `load(Acquire)` | nothing |
//! | enter first | write the first waiter's word, then `compare_exchange(OPEN -> FIRST, Release)` | nothing. A list: enter. The end: ready |
//! | enter | `inside + 1`, then one of the two below | |
//! | push | `compare_exchange(L -> fresh, Release)` | nothing. Another `L`: retry. The end: free the fresh place, go out |
//! | succeed | `DETACHED -> W` in the word of a place of the list | nothing. The end: go out |
//! | vacate | `W -> DETACHED` in the word of the waiter's own place | go out; drop the waker |
//! | go out | `inside - 1` | if that was the last, which is after the end: free the list |
//!
//! No place leaves the list before the end. A push therefore needs only the head that it has seen,
//! and every waiter inside may walk the list. Each place has a [`Completion`] of its own, which
//! decides the race between the wake-up of this waiter and its poll, its departure or its
//! successor.
//!
//! **The first waiter.** The first handle of a channel is most often the only one that waits. Its
//! word is beside the list, and lives as long as the handle, so it is not counted in `inside` and
//! has no successor. `FIRST` in the list tells the end that there is a waker in the word. Rejected:
//! a word that the end completes in any case, because that is one more exchange for each sender
//! that nobody waits for.
//!
//! **The bound.** `inside` counts the sender and the waiters that have entered and not yet gone
//! out. A waiter that enters makes a new place only if there are fewer than twice as many places as
//! waiters inside. The number of places is therefore never more than twice the largest number of
//! waiters at one time.
//!
//! **Every search makes progress.** A waiter that makes no new place searches for a free one.
//! There are then at least twice as many places as waiters inside, and each waiter holds at most
//! one, so at least half of the places are free. There are also at least as many free places as
//! searching waiters. This stays true: a waiter that finds a place reduces both numbers by one, and
//! a waiter that starts to search later has checked the bound itself. A search that passes the
//! whole list without success therefore means that another waiter has found a place, or that the
//! end has come, which is then in every word. The places are counted before the waiters, so that
//! the waiter that pushed a counted place is counted too. In the other order, all counted places
//! might be held by waiters that entered later.
//!
//! **The cost of a search.** A search starts where the last one ended. All places that are free
//! when a round starts at the front of the list are found in that round. They are at least half of
//! the list, so a round passes at most two places for each place that it finds.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::{self, NonNull},
    sync::atomic::Ordering,
    task::Waker,
};

use super::place::{FIRST, Place};
use joint::{
    completion::{Completed, Completion, Ended, Registration},
    waker::ThinWaker,
};
use joint_switch::{AtomicPtr, AtomicUsize, Retire, UnsafeCell, order, spin_loop};

const OPEN: *mut Place = ptr::null_mut();
const DONE: *mut Place = ptr::without_provenance_mut(1);
const CLOSED: *mut Place = ptr::without_provenance_mut(2);

/// The part of `inside` that counts the sender, until it has completed every place of the list.
const SENDER: usize = 1;
/// The value of `inside` once the list is freed.
const SWEPT: usize = 1 << (usize::BITS - 1);

pub(crate) struct Waiters {
    list: AtomicPtr<Place>,
    inside: AtomicUsize,
    /// The place at which the next search for a free place starts, or null for the front.
    resume: AtomicPtr<Place>,
    /// The list that the end has taken. The sender writes it before it goes out, and the thread
    /// that frees the list reads it.
    taken: UnsafeCell<*mut Place>,
    first: Completion,
}

impl Waiters {
    pub(super) fn new() -> Self {
        Self {
            list: AtomicPtr::new(OPEN),
            inside: AtomicUsize::new(SENDER),
            resume: AtomicPtr::new(ptr::null_mut()),
            taken: UnsafeCell::new(ptr::null_mut()),
            first: Completion::new(),
        }
    }

    /// Returns the word of the first waiter.
    pub(super) fn first(&self) -> *const Completion {
        &raw const self.first
    }

    /// Returns how the wait ended, or `None` if it has not ended.
    #[inline]
    pub(super) fn ended(&self) -> Option<Ended> {
        ended(self.look())
    }

    /// Returns whether no waiter has registered, and the wait has not ended.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.look() == OPEN
    }

    #[inline]
    fn look(&self) -> *mut Place {
        // ORDERING: look. Acquire, with the Release of `done` and `closed`: what the sender wrote
        // is visible. With the Release of every `push` so far, the places of the list are visible
        // too.
        self.list.load(order!(look: Acquire))
    }

    /// Ends the wait, and wakes all waiters.
    ///
    /// If a waker panics, all other waiters are still woken. The first panic passes through after
    /// that.
    ///
    /// # Safety
    /// The caller is the sender, and this is its one call.
    pub(super) unsafe fn end(&self, how: Ended) {
        let taken = match how {
            // ORDERING: done. Release: a waiter that sees DONE (`look` and `push_ended`, Acquire)
            // sees the value. Acquire: the places of the list, and their waiters' wakers, were
            // written before `push` (Release).
            Ended::Done => self.list.swap(DONE, order!(done: AcqRel)),
            // ORDERING: closed. As for `done`: what the sender did happens before a waiter sees
            // that it was dropped.
            Ended::Abandoned => self.list.swap(CLOSED, order!(closed: AcqRel)),
        };
        debug_assert!(ended(taken).is_none(), "the sender has finished twice");
        if taken.is_null() {
            // There is no list to free, so it does not matter that `inside` still counts the
            // sender.
            return;
        }
        if taken == FIRST {
            // As above.
            // SAFETY: the sender's handle keeps it alive, and the list is taken once.
            unsafe { wake(self.first(), how) };
            return;
        }
        self.taken.with_mut(|place| {
            // SAFETY: no thread reads it before the sender has gone out.
            unsafe { *place = taken }
        });
        Rest {
            waiters: self,
            next: taken,
            how,
        }
        .wake();
    }

    /// Registers `waker` in the word of the first waiter. Returns `None` if there is a list already
    /// or the end has come.
    ///
    /// # Safety
    /// The caller is the first waiter, and this is its one call.
    pub(super) unsafe fn enter_first(&self, waker: &Waker) -> Option<Registration> {
        if self.look() != OPEN {
            return None;
        }
        let waker = waker.clone();
        let registration = Registration::of(&waker);
        let waker = ThinWaker::from(waker).into_raw();
        // SAFETY: alive by the caller's handle. No other thread uses it before the push.
        unsafe { Completion::raw_preset(self.first(), waker) };
        match self.push(OPEN, FIRST) {
            Ok(()) => Some(registration),
            Err(_) => {
                // SAFETY: this is the word from above. No other thread sees it, and this waiter
                // never uses its own word again.
                drop(unsafe { ThinWaker::from_raw(waker) });
                None
            }
        }
    }

    /// Finds a place for a waiter, and registers `waker` there.
    pub(super) fn enter(&self, waker: &Waker) -> Result<(NonNull<Place>, Registration), Ended> {
        // The clone is user code that may panic, so it comes first, when nothing could be left half
        // done.
        let waker = waker.clone();
        let registration = Registration::of(&waker);
        let waker = ThinWaker::from(waker).into_raw();
        // ORDERING: enter. Acquire, with the Release of `go_out`: if the list may be freed, the
        // look below sees its end. The places that were vacated by waiters that are no longer
        // counted are also seen as vacant.
        self.inside.fetch_add(1, order!(enter: Acquire));
        // SAFETY: counted in just now.
        match unsafe { self.take_place(waker) } {
            Ok(place) => Ok((place, registration)),
            Err(ended) => {
                self.go_out();
                // SAFETY: this is the word from above, which no place has taken.
                drop(unsafe { ThinWaker::from_raw(waker) });
                Err(ended)
            }
        }
    }

    /// # Safety
    /// The caller is inside, and gives away the waker of this word if this succeeds.
    unsafe fn take_place(&self, waker: NonNull<()>) -> Result<NonNull<Place>, Ended> {
        let mut fresh = None;
        let mut list = self.look();
        let found = loop {
            if let Some(ended) = ended(list) {
                break Err(ended);
            }
            // SAFETY: the list had not ended when it was loaded, so the caller, which is inside,
            // keeps it alive.
            let places = unsafe { Place::count(list) };
            // ORDERING: count. Relaxed: the waiters that pushed these places entered before that
            // (`look` and `push_ended`, Acquire), and so did the caller. If the count is not the
            // newest one, it is that of an earlier moment, which is as good.
            let inside = self.inside.load(order!(count: Relaxed));
            // Once the sender has gone out, this is one too few. The end is then in all places, but
            // the result may be 0, hence the `max`.
            let waiters = (inside - SENDER).max(1);
            if places >= 2 * waiters {
                // SAFETY: passed on from the caller.
                break unsafe { self.succeed(waker) };
            }
            let place = *fresh.get_or_insert_with(|| Place::allocate(waker));
            // SAFETY: the place is fresh, and the list is alive as above.
            unsafe { Place::put_before(place, list) };
            match self.push(list, place.as_ptr()) {
                Ok(()) => return Ok(place),
                Err(now) => list = now,
            }
        };
        if let Some(fresh) = fresh {
            // SAFETY: the place was not published. Its word has the waker that the caller keeps or
            // that another place has taken, so it owns none.
            unsafe { Place::free(fresh) };
        }
        found
    }

    fn push(&self, list: *mut Place, place: *mut Place) -> Result<(), *mut Place> {
        // ORDERING: push. Release: the place or the first word, and its waker, are visible to a
        // thread that takes or walks the list (`done`, `closed` and `look`, Acquire; later pushes
        // are part of the same release sequence).
        let done: Ordering = order!(push: Release);
        // ORDERING: push_ended. Acquire: as for `look`.
        let failed: Ordering = order!(push_ended: Acquire);
        let pushed = self.list.compare_exchange(list, place, done, failed);
        pushed.map(drop)
    }

    /// Takes a free place. The header shows that there is one.
    ///
    /// # Safety
    /// As for `take_place`.
    unsafe fn succeed(&self, waker: NonNull<()>) -> Result<NonNull<Place>, Ended> {
        // ORDERING: resume. Acquire, with the Release of `pass`: the place may be newer than the
        // list that the caller has seen.
        let mut at = self.resume.load(order!(resume: Acquire));
        let mut is_in_a_round = false;
        loop {
            let Some(place) = Place::at(at) else {
                if mem::replace(&mut is_in_a_round, true) {
                    // The whole list was passed: another waiter has found a place, and what others
                    // have vacated since may not be visible here yet.
                    spin_loop();
                }
                at = self.look();
                match ended(at) {
                    Some(ended) => return Err(ended),
                    None => continue,
                }
            };
            // SAFETY: this is a place of the list, which the caller, which is inside, keeps alive.
            let next = unsafe { Place::next(place) };
            // SAFETY: alive as above, and for as long as the new waiter is inside.
            match unsafe { Completion::raw_succeed(Place::word(place), waker) } {
                Ok(()) => {
                    // ORDERING: pass. Release, with the Acquire of `resume`: the rest of the list
                    // is visible to the next search.
                    self.resume.store(next, order!(pass: Release));
                    return Ok(place);
                }
                Err(Some(ended)) => return Err(ended),
                Err(None) => at = next,
            }
        }
    }

    /// Counts the caller out, which touches no place after this.
    pub(super) fn go_out(&self) {
        // ORDERING: go_out. Release, with the Acquire of `sweep`: every access to a place comes
        // before the places are freed. With that of `enter`: a vacated place is seen as vacant, and
        // the end that allows the list to be freed is seen.
        if self.inside.fetch_sub(1, order!(go_out: Release)) == 1 {
            self.sweep();
        }
    }

    /// Frees the list, unless a waiter has entered meanwhile, which will free it instead.
    #[cold]
    fn sweep(&self) {
        // ORDERING: sweep, not_yet. Acquire: as for `go_out`, with every caller that went out. On
        // failure nothing is read.
        let (done, failed) = (order!(sweep: Acquire), order!(not_yet: Relaxed));
        let swept = self.inside.compare_exchange(0, SWEPT, done, failed);
        if swept.is_ok() {
            // SAFETY: the sender and every waiter have gone out. A waiter that enters now sees the
            // end and touches no place.
            unsafe { self.free() };
        }
    }

    /// # Safety
    /// The sender has finished, no other thread uses a place, and this was not called before.
    unsafe fn free(&self) {
        // SAFETY: only the sender writes it, and the sender has finished.
        let mut at = self.taken.with(|taken| unsafe { *taken });
        while let Some(place) = Place::at(at) {
            // SAFETY: a place of the list that is not freed yet.
            at = unsafe { Place::next(place) };
            // SAFETY: no one uses it after this. The end has taken the waker out of its word.
            unsafe { Place::free(place) };
        }
    }

    /// Makes the last access before the memory is freed. Frees the list if a waiter was leaked,
    /// because a leaked waiter never goes out.
    ///
    /// # Safety
    /// The sender and all waiters were dropped, or will never use this again.
    pub(super) unsafe fn retire(&mut self) {
        // ORDERING: last. Relaxed: no other thread uses it.
        if self.inside.load(order!(last: Relaxed)) & SWEPT == 0 {
            // SAFETY: passed on from the caller, and not swept.
            unsafe { self.free() };
        }
        self.list.retire();
        self.inside.retire();
        self.resume.retire();
        self.taken.retire();
        self.first.retire();
    }
}

#[inline]
fn ended(list: *mut Place) -> Option<Ended> {
    match list {
        DONE => Some(Ended::Done),
        CLOSED => Some(Ended::Abandoned),
        _ => None,
    }
}

/// The places whose waiters are still to be woken. Dropping it wakes them, and counts the sender
/// out.
struct Rest<'a> {
    waiters: &'a Waiters,
    next: *mut Place,
    how: Ended,
}

impl Rest<'_> {
    fn wake(&mut self) {
        while !self.next.is_null() {
            let at = mem::replace(&mut self.next, ptr::null_mut());
            let word = match Place::at(at) {
                Some(place) => {
                    // SAFETY: the sender is inside, which keeps the list alive.
                    self.next = unsafe { Place::next(place) };
                    Place::word(place)
                }
                None => self.waiters.first(),
            };
            // SAFETY: alive as above, or by the sender's handle. The list is taken once.
            unsafe { wake(word, self.how) };
        }
    }
}

/// Completes the word of one waiter, and wakes it.
///
/// # Safety
/// The word is alive, and this is the only call for it.
unsafe fn wake(word: *const Completion, how: Ended) {
    let completed = match how {
        // SAFETY: passed on from the caller.
        Ended::Done => unsafe { Completion::raw_complete(word) },
        // SAFETY: passed on from the caller.
        Ended::Abandoned => unsafe { Completion::raw_abandon(word) },
    };
    if let Completed::Wake(waker) = completed {
        waker.wake();
    }
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        // Some are left only if a waker has panicked. That first panic passes through, so later
        // ones are caught.
        while !self.next.is_null() {
            drop(catch_unwind(AssertUnwindSafe(|| self.wake())));
        }
        self.waiters.go_out();
    }
}
