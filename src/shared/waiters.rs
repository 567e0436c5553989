//! [`Waiters`]: the end of a wait in one word, with those who wait for it.
//!
//! | word | means | written by |
//! |---|---|---|
//! | `OPEN` (null) | not ended, and nobody has waited yet | creation |
//! | `L` (a [`Place`]) | not ended; the newest place of the list | waiters, who put a place in front |
//! | `DONE` (1) | there is a value | sender, once |
//! | `CLOSED` (2) | the sender has gone without one | sender, once |
//!
//! | operation | instruction | what is left to do |
//! |---|---|---|
//! | end | `swap(DONE or CLOSED, AcqRel)` | complete the word of each place in the list that comes back, and wake whom it returns |
//! | look | `load(Acquire)` | nothing |
//! | enter | `inside + 1`, then one of the two below | |
//! | push | `compare_exchange(L -> fresh, Release)` | nothing. Another `L`: again. The end: free the fresh place, go out |
//! | succeed | `DETACHED -> W` in the word of a place of the list | nothing. The end: go out |
//! | vacate | `W -> DETACHED` in the word of the own place | go out; drop the waker |
//! | go out | `inside - 1` | at 0, which is after the end: free the list |
//!
//! No place leaves the list before the end, so that a push needs no more than the head that it has seen, and whoever is inside
//! may walk. Each place has a word of its own, a [`Completion`], and the race of a wake-up with a poll, a
//! departure or a successor is decided there, for each waiter alone.
//!
//! **The bound.** `inside` counts the sender and all who are between their coming and their going. Whoever comes makes a new
//! place only if there are less than twice as many places as waiters inside. Hence there are never more than twice as many as
//! there were waiters at one time, however many came and went.
//!
//! **Nobody looks in vain.** Otherwise at least half of the places are free: a waiter inside holds one at most. As many are free
//! as there are who look for one, and stay so: each who finds one is one less to look, and each who comes later and looks has
//! found as many more. So a look that passes the whole list without success means that another has found one, or that the end
//! has come, which stands in every word. The places are counted first and the waiters after that, so that whoever has pushed a
//! counted place is counted too; the other way round all places may be held by those who came later.
//!
//! **What a look costs.** It starts where the last one has ended. All places that are free when it starts anew at the front are
//! found in that round, and they are half of the list, so a round passes two places for each that it finds.

use core::{
    mem,
    ptr::{self, NonNull},
    sync::atomic::Ordering,
    task::Waker,
};

use super::place::Place;
use crate::{
    Completion,
    completion::{Completed, Ended, Registration},
    sync::{AtomicPtr, AtomicUsize, Retire, UnsafeCell, order},
    waker::{ThinWaker, WakerWords},
};

const OPEN: *mut Place = ptr::null_mut();
const DONE: *mut Place = ptr::without_provenance_mut(1);
const CLOSED: *mut Place = ptr::without_provenance_mut(2);

/// The part of `inside` that counts the sender until it has gone through the list.
const SENDER: usize = 1;
/// In `inside` once the list is freed.
const SWEPT: usize = 1 << (usize::BITS - 1);

pub(super) struct Waiters {
    list: AtomicPtr<Place>,
    inside: AtomicUsize,
    /// Where the next look for a free place starts: a place of the list, or null for its front.
    resume: AtomicPtr<Place>,
    /// The list that the end has taken. Written by the sender before it goes out, read by the one who frees.
    taken: UnsafeCell<*mut Place>,
}

impl Waiters {
    pub(super) fn new() -> Self {
        Self {
            list: AtomicPtr::new(OPEN),
            inside: AtomicUsize::new(SENDER),
            resume: AtomicPtr::new(ptr::null_mut()),
            taken: UnsafeCell::new(ptr::null_mut()),
        }
    }

    /// How it ended, or `None` when it has not.
    #[inline]
    pub(super) fn ended(&self) -> Option<Ended> {
        ended(self.look())
    }

    #[inline]
    fn look(&self) -> *mut Place {
        // ORDERING: look. Acquire, with the Release of `done` and `closed`: what the sender wrote is visible. With the Release
        // of every `push` so far: so are the places of the list.
        self.list.load(order!(look: Acquire))
    }

    /// Ends the wait of all, and wakes each.
    ///
    /// A waker that panics keeps no other from being woken. The first panic goes on after that.
    ///
    /// # Safety
    /// The caller is the sender, and this is its one call.
    pub(super) unsafe fn end(&self, how: Ended) {
        let taken = match how {
            // ORDERING: done. Release: the value is seen by whoever learns of it (`look` and `push_ended`, Acquire). Acquire: the
            // places of the list, and their waiters' wakers, were written before `push` (Release).
            Ended::Done => self.list.swap(DONE, order!(done: AcqRel)),
            // ORDERING: closed. As for `done`: what the sender did comes before a waiter that learns that it has gone.
            Ended::Abandoned => self.list.swap(CLOSED, order!(closed: AcqRel)),
        };
        debug_assert!(ended(taken).is_none(), "a sender finished twice");
        if taken.is_null() {
            // There is no list to be freed, so it does not matter that the sender's part stays in `inside`.
            return;
        }
        self.taken.with_mut(|place| {
            // SAFETY: nobody reads it before the sender has gone out.
            unsafe { *place = taken }
        });
        Rest {
            waiters: self,
            next: taken,
            how,
        }
        .wake();
    }

    /// Finds a place for a waiter whose waker is `waker`, and registers it there.
    pub(super) fn enter(&self, waker: &Waker) -> Result<(NonNull<Place>, Registration), Ended> {
        // The clone is the user's code, and nothing has been done yet that it could leave half done.
        let waker = waker.clone();
        let registration = Registration::of(WakerWords::of(&waker));
        let waker = ThinWaker::from(waker).into_raw();
        // ORDERING: enter. Acquire, with the Release of `go_out`: if the list may be freed, its end is visible to the look below.
        // And what was vacated by those who are not counted any more is found vacant.
        self.inside.fetch_add(1, order!(enter: Acquire));
        // SAFETY: counted in just now.
        match unsafe { self.take_place(waker) } {
            Ok(place) => Ok((place, registration)),
            Err(ended) => {
                self.go_out();
                // SAFETY: the word from above, which no place has taken.
                drop(unsafe { ThinWaker::from_raw(waker) });
                Err(ended)
            }
        }
    }

    /// # Safety
    /// The caller is inside, and gives the waker of this word away where this succeeds.
    unsafe fn take_place(&self, waker: NonNull<()>) -> Result<NonNull<Place>, Ended> {
        let mut fresh = None;
        let mut list = self.look();
        let found = loop {
            if let Some(ended) = ended(list) {
                break Err(ended);
            }
            // SAFETY: the list has not ended when it was looked at, so the one who is inside keeps it alive.
            let places = unsafe { Place::count(list) };
            // ORDERING: count. Relaxed: whoever has pushed one of these places came before that (`look` and `push_ended`,
            // Acquire), and so did the caller. An older count than the newest is that of an earlier moment.
            let inside = self.inside.load(order!(count: Relaxed));
            // When the sender has gone out it counts one too few, and then the end stands in all places; but there may be none.
            let waiters = (inside - SENDER).max(1);
            if places >= 2 * waiters {
                // SAFETY: passed on from the caller.
                break unsafe { self.succeed(waker) };
            }
            let place = *fresh.get_or_insert_with(|| Place::allocate(waker));
            // SAFETY: the place is fresh, and the list is alive as above.
            unsafe { Place::put_before(place, list) };
            match self.push(list, place) {
                Ok(()) => return Ok(place),
                Err(now) => list = now,
            }
        };
        if let Some(fresh) = fresh {
            // SAFETY: it was not published. Its word says the waker that the caller keeps or that another place has taken.
            unsafe { Place::free(fresh) };
        }
        found
    }

    fn push(&self, list: *mut Place, place: NonNull<Place>) -> Result<(), *mut Place> {
        // ORDERING: push. Release: the place and its waker are visible to whoever takes or walks the list (`done`, `closed` and
        // `look`, Acquire; later pushes are part of the same release sequence).
        let done: Ordering = order!(push: Release);
        // ORDERING: push_ended. Acquire: as for `look`.
        let failed: Ordering = order!(push_ended: Acquire);
        let pushed = self
            .list
            .compare_exchange(list, place.as_ptr(), done, failed);
        pushed.map(drop)
    }

    /// Finds a free place. There is one, as the header shows.
    ///
    /// # Safety
    /// As for `take_place`.
    unsafe fn succeed(&self, waker: NonNull<()>) -> Result<NonNull<Place>, Ended> {
        // ORDERING: resume. Acquire, with the Release of `pass`: the place may be newer than the list that the caller has seen.
        let mut at = self.resume.load(order!(resume: Acquire));
        loop {
            let Some(place) = NonNull::new(at) else {
                at = self.look();
                match ended(at) {
                    Some(ended) => return Err(ended),
                    None => continue,
                }
            };
            // SAFETY: a place of the list, which the one who is inside keeps alive.
            let next = unsafe { Place::next(place) };
            // SAFETY: alive as above, and for as long as the new waiter is inside.
            match unsafe { Completion::raw_succeed(Place::word(place), waker) } {
                Ok(()) => {
                    // ORDERING: pass. Release, with the Acquire of `resume`: the rest of the list is visible there, too.
                    self.resume.store(next, order!(pass: Release));
                    return Ok(place);
                }
                Err(Some(ended)) => return Err(ended),
                Err(None) => at = next,
            }
        }
    }

    /// Counts one out, who touches no place any more.
    pub(super) fn go_out(&self) {
        // ORDERING: go_out. Release, with the Acquire of `sweep`: all that was done to places is done before they are freed. With
        // that of `enter`: a place that was vacated is found vacant, and the end that lets the list be freed is seen.
        if self.inside.fetch_sub(1, order!(go_out: Release)) == 1 {
            self.sweep();
        }
    }

    /// Frees the list, unless somebody has come in the meantime, who will do it.
    #[cold]
    fn sweep(&self) {
        // ORDERING: sweep, not_yet. Acquire: as for `go_out`, with all who went out. On failure nothing is read.
        let (done, failed) = (order!(sweep: Acquire), order!(not_yet: Relaxed));
        let swept = self.inside.compare_exchange(0, SWEPT, done, failed);
        if swept.is_ok() {
            // SAFETY: the sender has gone out and with it everyone else. Whoever comes now sees the end and touches no place.
            unsafe { self.free() };
        }
    }

    /// # Safety
    /// The sender has finished, nobody else uses a place any more, and this was not called before.
    unsafe fn free(&self) {
        // SAFETY: the sender, who alone writes it, has finished.
        let mut at = self.taken.with(|taken| unsafe { *taken });
        while let Some(place) = NonNull::new(at) {
            // SAFETY: a place of a list of which nothing but this is freed yet.
            at = unsafe { Place::next(place) };
            // SAFETY: nobody uses it any more. The end has taken the waker out of its word.
            unsafe { Place::free(place) };
        }
    }

    /// The last look before the memory is given back. Frees the list if a waiter was leaked, who will never go out.
    ///
    /// # Safety
    /// The sender and all waiters have gone, or will never look again.
    pub(super) unsafe fn retire(&mut self) {
        // ORDERING: last. Relaxed: nobody else uses it any more.
        if self.inside.load(order!(last: Relaxed)) & SWEPT == 0 {
            // SAFETY: passed on from the caller, and not swept.
            unsafe { self.free() };
        }
        self.list.retire();
        self.inside.retire();
        self.resume.retire();
        self.taken.retire();
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

/// The places whose waiters are still to be woken. Dropped, it wakes them and counts the sender out.
struct Rest<'a> {
    waiters: &'a Waiters,
    next: *mut Place,
    how: Ended,
}

impl Rest<'_> {
    fn wake(&mut self) {
        while let Some(place) = NonNull::new(mem::replace(&mut self.next, ptr::null_mut())) {
            // SAFETY: the sender is inside, which keeps the list alive.
            self.next = unsafe { Place::next(place) };
            let word = Place::word(place);
            let completed = match self.how {
                // SAFETY: alive as above. The list is taken once, so that this is the one call for the place.
                Ended::Done => unsafe { Completion::raw_complete(word) },
                // SAFETY: as above.
                Ended::Abandoned => unsafe { Completion::raw_abandon(word) },
            };
            if let Completed::Wake(waker) = completed {
                waker.wake();
            }
        }
    }
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        // There is a rest only where a waker has panicked, and that panic is the one that goes on.
        while !self.next.is_null() {
            #[cfg(feature = "std")]
            drop(std::panic::catch_unwind(core::panic::AssertUnwindSafe(
                || self.wake(),
            )));
            #[cfg(not(feature = "std"))]
            self.wake();
        }
        self.waiters.go_out();
    }
}
