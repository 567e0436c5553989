//! Models of the completion word: one completer in a thread of its own against one waiter, for each
//! thing that the two can do.
//!
//! The completer writes a result before its exchange, and the waiter writes a request before each
//! of its exchanges. The side that is told to free the rest accesses both cells exclusively and
//! then frees them. This fails unless everything that the other side did happens before it.
//!
//! The last models are of the safe sides with a [`WakerSlot`], from which the completer moves the
//! waker out after its exchange.

use joint::{
    Completion,
    completion::{Completed, Completer, Detached, WakerSlot},
};
use loom::alloc::Track;
use loom_tests::lab::thread;

use crate::prelude::*;

struct Shared {
    word: Completion,
    request: Mark,
    result: Mark,
    _leak: Track<()>,
}

#[derive(Clone, Copy)]
struct Link(NonNull<Shared>);

// SAFETY: each side uses the memory only as the word allows.
unsafe impl Send for Link {}

impl Link {
    fn new() -> Self {
        let shared = Box::new(Shared {
            word: Completion::new(),
            request: Mark::named("request"),
            result: Mark::named("result"),
            _leak: Track::new(()),
        });
        Self(NonNull::from(Box::leak(shared)))
    }

    fn word(self) -> *const Completion {
        // SAFETY: this only computes an address, in memory that the caller has not given up.
        unsafe { &raw const (*self.0.as_ptr()).word }
    }

    fn write_request(self) {
        // SAFETY: the waiter calls this before its exchange.
        unsafe { &self.0.as_ref().request }.write();
    }

    fn write_result(self) {
        // SAFETY: the completer calls this before its exchange.
        unsafe { &self.0.as_ref().result }.write();
    }

    fn free(self) {
        self.write_request();
        self.write_result();
        // SAFETY: the pointer is from `Box::leak` in `new`, and the other side uses it no more.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }

    fn finish(self, how: Ended) {
        self.write_result();
        let completed = match how {
            // SAFETY: the completer calls this once.
            Ended::Done => unsafe { Completion::raw_complete(self.word()) },
            // SAFETY: the completer calls this once.
            Ended::Abandoned => unsafe { Completion::raw_abandon(self.word()) },
        };
        match completed {
            Completed::Unobserved => {}
            Completed::Wake(waker) => waker.wake(),
            Completed::Detached => self.free(),
        }
    }
}

struct Waiter {
    link: Link,
    registration: Registration,
}

impl Waiter {
    fn new(link: Link) -> Self {
        Self {
            link,
            registration: Registration::new(),
        }
    }

    /// Polls once. Frees the memory if the result is ready.
    fn poll(&mut self, wakes: &Arc<Wakes>, how: Ended) -> bool {
        self.link.write_request();
        let (word, registration) = (self.link.word(), &mut self.registration);
        // SAFETY: the memory is alive until the word is ready or detached, and the waiter does not
        // poll after that.
        match unsafe { Completion::raw_poll(word, &wakes.waker(), registration) } {
            Poll::Pending => false,
            Poll::Ready(ended) => {
                assert_eq!(ended, how);
                self.link.free();
                true
            }
        }
    }

    /// Leaves. Returns true if the completer had finished, in which case the rest is freed.
    fn detach(self, how: Ended, registered: bool) -> bool {
        self.link.write_request();
        // SAFETY: the memory is alive because the waiter has not been told of the end, and this is
        // its last access.
        match unsafe { Completion::raw_detach(self.link.word()) } {
            Detached::Pending(waker) => {
                assert_eq!(waker.is_some(), registered);
                false
            }
            Detached::Finished(ended) => {
                assert_eq!(ended, how);
                self.link.free();
                true
            }
        }
    }
}

/// Runs the two sides of a word. The waiter polls with the wakers of these numbers before the
/// completer begins, then with the others beside it. It stays until the end, or leaves. Every check
/// of an ordering must precede the join.
fn race(how: Ended, before: &'static [usize], beside: &'static [usize], stays: bool) {
    model_from_both_sides(move || {
        let wakes = [Wakes::new(), Wakes::new()];
        let link = Link::new();
        let mut waiter = Waiter::new(link);
        assert!(before.iter().all(|&waker| !waiter.poll(&wakes[waker], how)));
        let completer = thread::spawn(move || link.finish(how));
        others_first();
        let ready = beside.iter().any(|&waker| waiter.poll(&wakes[waker], how));
        let polls = [before, beside].concat();
        if stays && !ready {
            completer.join().unwrap();
            let last = &wakes[polls[polls.len() - 1]];
            assert_eq!(last.count(), 1);
            assert!(waiter.poll(last, how), "a wake-up without a result");
        } else {
            let is_woken = !ready && waiter.detach(how, !polls.is_empty());
            completer.join().unwrap();
            let woken = wakes[0].count() + wakes[1].count();
            assert!(woken <= usize::from(polls.len() > 1 || !ready && !polls.is_empty()));
            assert!(ready || woken == usize::from(is_woken && !polls.is_empty()));
        }
        assert!(wakes[0].count() + wakes[1].count() <= 1);
        assert_eq!((wakes[0].wakers(), wakes[1].wakers()), (0, 0));
    });
}

/// Runs the safe sides of a word with a slot. The waiter polls with the wakers of these numbers
/// before the completer begins, then with the others beside it. It stays until the end, or leaves.
fn with_slot(how: Ended, before: &'static [usize], beside: &'static [usize], stays: bool) {
    model_from_both_sides(move || {
        let wakes = [Wakes::new(), Wakes::new()];
        let place = Box::into_raw(Box::new((Completion::new(), WakerSlot::new())));
        // SAFETY: from the box above, which is freed after both sides have gone.
        let (word, slot) = unsafe { &mut *place };
        let (completer, mut waiter) = word.split_with(slot);
        let mut poll = |waker: &usize| {
            let waker = wakes[*waker].waker();
            let poll = Pin::new(&mut waiter).poll(&mut Context::from_waker(&waker));
            poll.map(|answer| assert_eq!(answer.is_ok(), how == Ended::Done))
        };
        assert!(before.iter().all(|waker| poll(waker).is_pending()));
        let completer = thread::spawn(move || finish(completer, how));
        others_first();
        let mut ready = beside.iter().any(|waker| poll(waker).is_ready());
        let woken = || wakes.iter().map(|wakes| wakes.count()).sum::<usize>();
        if stays && !ready {
            completer.join().unwrap();
            assert_eq!(woken(), 1);
            ready = poll(&0).is_ready();
            assert!(ready, "a wake-up without a result");
            drop(waiter);
        } else {
            drop(waiter);
            completer.join().unwrap();
            assert!(woken() <= 1);
        }
        assert!(wakes.iter().all(|wakes| wakes.wakers() == 0));
        // SAFETY: both sides have gone.
        drop(unsafe { Box::from_raw(place) });
    });
}

fn finish(completer: Completer<'_>, how: Ended) {
    match how {
        Ended::Done => completer.complete(),
        Ended::Abandoned => drop(completer),
    }
}

models_of! {
    Ended::Done, Ended::Abandoned;
    complete_against_slot / abandon_against_slot: |how| with_slot(how, &[], &[0], true);
    complete_against_slot_and_another_waker / abandon_against_slot_and_another_waker: |how| with_slot(how, &[], &[0, 1], true);
    complete_against_another_waker_than_in_the_slot / abandon_against_another_waker_than_in_the_slot: |how| with_slot(how, &[0], &[1, 0], false);
    complete_against_slot_then_detach / abandon_against_slot_then_detach: |how| with_slot(how, &[], &[0], false);
    complete_against_detach_from_the_slot / abandon_against_detach_from_the_slot: |how| with_slot(how, &[0], &[], false);
}

struct Event {
    word: Completion,
    result: Mark,
}

loom::lazy_static! {
    static ref EVENT: Event = Event { word: Completion::new(), result: Mark::named("result") };
}

/// A `static`, in the way that the documentation says: each run has a new one.
#[test]
fn a_static_event_against_a_poll() {
    model(|| {
        let other = thread::spawn(|| {
            EVENT.result.write();
            // SAFETY: the event lives as long as the run, and this is its one completer.
            if let Completed::Wake(waker) = unsafe { Completion::raw_complete(&EVENT.word) } {
                waker.wake();
            }
        });
        let wakes = Wakes::new();
        let (waker, mut registration) = (wakes.waker(), Registration::new());
        // SAFETY: the event lives as long as the run, and its one waiter never detaches.
        let mut poll = || unsafe { Completion::raw_poll(&EVENT.word, &waker, &mut registration) };
        let is_woken = poll().is_pending();
        if !is_woken {
            EVENT.result.read();
        }
        other.join().unwrap();
        assert_eq!(wakes.count(), usize::from(is_woken));
        assert_eq!(poll(), Poll::Ready(Ended::Done));
    });
}

#[test]
fn each_operation_makes_one_exchange_at_most() {
    model(|| {
        let wakes = Wakes::new();
        let link = Link::new();
        let mut waiter = Waiter::new(link);
        assert_eq!(rmws_of(|| waiter.poll(&wakes, Ended::Done)), 1);
        assert_eq!(rmws_of(|| waiter.poll(&wakes, Ended::Done)), 0);
        assert_eq!(rmws_of(|| link.finish(Ended::Done)), 1);
        assert_eq!(rmws_of(|| waiter.poll(&wakes, Ended::Done)), 0);

        let link = Link::new();
        let mut waiter = Waiter::new(link);
        assert!(!waiter.poll(&wakes, Ended::Done));
        let other = Wakes::new();
        assert_eq!(rmws_of(|| waiter.poll(&other, Ended::Done)), 1);
        assert_eq!(rmws_of(|| link.finish(Ended::Done)), 1);
        assert_eq!(rmws_of(|| waiter.poll(&other, Ended::Done)), 0);

        let link = Link::new();
        let mut waiter = Waiter::new(link);
        assert_eq!(rmws_of(|| link.finish(Ended::Done)), 1);
        assert_eq!(rmws_of(|| waiter.poll(&wakes, Ended::Done)), 0);

        let link = Link::new();
        let waiter = Waiter::new(link);
        assert_eq!(rmws_of(|| waiter.detach(Ended::Done, false)), 1);
        assert_eq!(rmws_of(|| link.finish(Ended::Done)), 1);
    });
}

models_of! {
    Ended::Done, Ended::Abandoned;
    complete_against_poll / abandon_against_poll: |how| race(how, &[], &[0], true);
    complete_against_poll_again_with_the_same_waker / abandon_against_poll_again_with_the_same_waker: |how| race(how, &[], &[0, 0], false);
    complete_against_poll_again_with_another_waker / abandon_against_poll_again_with_another_waker: |how| race(how, &[], &[0, 1], true);
    complete_against_detach / abandon_against_detach: |how| race(how, &[], &[], false);
    complete_against_poll_then_detach / abandon_against_poll_then_detach: |how| race(how, &[], &[0], false);
    complete_against_poll_of_a_registered_waiter / abandon_against_poll_of_a_registered_waiter: |how| race(how, &[0], &[0], false);
}

models! {
    complete_against_poll_with_two_wakers_then_detach: race(Ended::Done, &[], &[0, 1], false);
    complete_against_detach_of_a_registered_waiter: race(Ended::Done, &[0], &[], false);
    complete_against_another_waker_of_a_registered_waiter: race(Ended::Done, &[0], &[1], false);
}
