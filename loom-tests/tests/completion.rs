//! Models of the completion word: one completer in a thread of its own against one waiter, for each
//! thing that the two can do.
//!
//! The completer writes a result before its exchange, and the waiter writes a request before each
//! of its exchanges. The side that is told to free the rest accesses both cells exclusively and
//! then frees them. This fails unless everything that the other side did happens before it.
//!
//! Each model runs for a word alone, and for one with a room beside it.
#![cfg(joint_loom)]

use std::{
    ptr::NonNull,
    sync::{Arc, atomic::Ordering},
    task::Poll,
};

use joint::{
    Completion,
    completion::{Completed, Detached, Ended, Registration, Room, Space},
};
use loom::alloc::Track;
use loom_tests::lab::{cell::UnsafeCell, thread};
use loom_tests::{Wakes, assert_killed, model, model_from_both_sides, others_first, rmws_of};

/// With a room or without.
trait Kind: Space + 'static {
    fn completion() -> Completion<Self>
    where
        Self: Sized;
}

impl Kind for () {
    fn completion() -> Completion {
        Completion::new()
    }
}

impl Kind for Room {
    fn completion() -> Completion<Self> {
        Completion::with_room()
    }
}

struct Shared<S> {
    word: Completion<S>,
    request: UnsafeCell<()>,
    result: UnsafeCell<()>,
    _leak: Track<()>,
}

struct Link<S>(NonNull<Shared<S>>);

impl<S> Clone for Link<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Link<S> {}

// SAFETY: each side uses the memory only as the word allows.
unsafe impl<S> Send for Link<S> {}

impl<S: Kind> Link<S> {
    fn new() -> Self {
        let shared = Box::new(Shared {
            word: S::completion(),
            request: UnsafeCell::new(()),
            result: UnsafeCell::new(()),
            _leak: Track::new(()),
        });
        Self(NonNull::from(Box::leak(shared)))
    }

    fn word(self) -> *const Completion<S> {
        // SAFETY: this only computes an address, in memory that the caller has not given up.
        unsafe { &raw const (*self.0.as_ptr()).word }
    }

    fn write_request(self) {
        // SAFETY: the waiter calls this before its exchange.
        unsafe { &self.0.as_ref().request }.with_mut(|_| ());
    }

    fn write_result(self) {
        // SAFETY: the completer calls this before its exchange.
        unsafe { &self.0.as_ref().result }.with_mut(|_| ());
    }

    /// Called by the side that is told to free the rest.
    fn free(self) {
        self.write_request();
        self.write_result();
        // SAFETY: the pointer is from `Box::leak` in `new`, and the other side uses it no more.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }

    /// Everything that the completer does.
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
            Completed::Wake(waker) => waker.into().wake(),
            Completed::Detached => self.free(),
        }
    }
}

/// The waiter, which remembers what it registered.
struct Waiter<S> {
    link: Link<S>,
    registration: Registration,
}

impl<S: Kind> Waiter<S> {
    fn new(link: Link<S>) -> Self {
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

/// Runs the waiter's part against the completer's, and returns after both. Every check of an
/// ordering must precede the join.
fn against<S: Kind, R>(how: Ended, waiter: impl FnOnce(Waiter<S>) -> R) -> R {
    let link = Link::new();
    let completer = thread::spawn(move || link.finish(how));
    others_first();
    let outcome = waiter(Waiter::new(link));
    completer.join().unwrap();
    outcome
}

fn poll<S: Kind>(how: Ended) {
    model_from_both_sides(move || {
        let link = Link::<S>::new();
        let completer = thread::spawn(move || link.finish(how));
        others_first();
        let mut waiter = Waiter::new(link);
        let wakes = Wakes::new();
        let ready = waiter.poll(&wakes, how);
        completer.join().unwrap();
        if ready {
            assert_eq!(wakes.count(), 0, "it was never pending");
        } else {
            assert_eq!(wakes.count(), 1);
            assert!(waiter.poll(&wakes, how), "a wake-up without a result");
        }
        assert_eq!(wakes.wakers(), 0);
    });
}

fn poll_again_with_the_same_waker<S: Kind>(how: Ended) {
    model_from_both_sides(move || {
        let (wakes, pending) = against(how, |mut waiter: Waiter<S>| {
            let wakes = Wakes::new();
            let pending = !waiter.poll(&wakes, how);
            if pending && !waiter.poll(&wakes, how) {
                waiter.detach(how, true);
            }
            (wakes, pending)
        });
        assert!(wakes.count() <= usize::from(pending));
        assert_eq!(wakes.wakers(), 0);
    });
}

fn poll_again_with_another_waker<S: Kind>(how: Ended) {
    model_from_both_sides(move || {
        let link = Link::<S>::new();
        let completer = thread::spawn(move || link.finish(how));
        others_first();
        let mut waiter = Waiter::new(link);
        let (first, last) = (Wakes::new(), Wakes::new());
        let polled = waiter.poll(&first, how);
        let polled_again = polled || waiter.poll(&last, how);
        completer.join().unwrap();
        if !polled_again {
            assert!(waiter.poll(&last, how), "a wake-up without a result");
        }
        let of_first = usize::from(!polled && polled_again);
        assert_eq!(first.count(), of_first);
        assert_eq!(last.count(), usize::from(!polled_again));
        assert_eq!((first.wakers(), last.wakers()), (0, 0));
    });
}

fn detach<S: Kind>(how: Ended) {
    model_from_both_sides(move || {
        against(how, |waiter: Waiter<S>| waiter.detach(how, false));
    });
}

fn poll_then_detach<S: Kind>(how: Ended) {
    model_from_both_sides(move || {
        let (wakes, woken) = against(how, |mut waiter: Waiter<S>| {
            let wakes = Wakes::new();
            let woken = !waiter.poll(&wakes, how) && waiter.detach(how, true);
            (wakes, woken)
        });
        assert_eq!(wakes.count(), usize::from(woken));
        assert_eq!(wakes.wakers(), 0);
    });
}

/// Two wakers, of which the last replaces the first, and then nobody is left to be woken.
fn poll_with_two_wakers_then_detach<S: Kind>(how: Ended) {
    model_from_both_sides(move || {
        let (first, last) = (Wakes::new(), Wakes::new());
        against(how, |mut waiter: Waiter<S>| {
            let ready = [&first, &last].iter().any(|wakes| waiter.poll(wakes, how));
            if !ready {
                waiter.detach(how, true);
            }
        });
        assert!(first.count() + last.count() <= 1);
        assert_eq!((first.wakers(), last.wakers()), (0, 0));
    });
}

/// What a waiter does that has registered the first of two wakers before.
type Then<S> = fn(&mut Waiter<S>, &[Arc<Wakes>; 2], Ended) -> bool;

/// The waiter has registered before the completer begins, and detaches unless it finds the end.
fn registered_before<S: Kind>(how: Ended, then: Then<S>) {
    model_from_both_sides(move || {
        let wakes = [Wakes::new(), Wakes::new()];
        let link = Link::<S>::new();
        let mut waiter = Waiter::new(link);
        assert!(!waiter.poll(&wakes[0], how));
        let completer = thread::spawn(move || link.finish(how));
        others_first();
        if !then(&mut waiter, &wakes, how) {
            waiter.detach(how, true);
        }
        completer.join().unwrap();
        assert!(wakes[0].count() + wakes[1].count() <= 1);
        assert_eq!((wakes[0].wakers(), wakes[1].wakers()), (0, 0));
    });
}

fn registered_then_detach<S: Kind>(how: Ended) {
    registered_before::<S>(how, |_, _, _| false);
}

fn registered_then_poll_again<S: Kind>(how: Ended) {
    registered_before::<S>(how, |waiter, wakes, how| waiter.poll(&wakes[0], how));
}

fn registered_then_poll_with_another_waker<S: Kind>(how: Ended) {
    registered_before::<S>(how, |waiter, wakes, how| waiter.poll(&wakes[1], how));
}

macro_rules! each {
    ($kind:ty) => {
        #[test]
        fn complete_against_poll() {
            poll::<$kind>(Ended::Done);
        }

        #[test]
        fn complete_against_poll_again_with_the_same_waker() {
            poll_again_with_the_same_waker::<$kind>(Ended::Done);
        }

        #[test]
        fn complete_against_poll_again_with_another_waker() {
            poll_again_with_another_waker::<$kind>(Ended::Done);
        }

        #[test]
        fn complete_against_detach() {
            detach::<$kind>(Ended::Done);
        }

        #[test]
        fn complete_against_poll_then_detach() {
            poll_then_detach::<$kind>(Ended::Done);
        }

        #[test]
        fn complete_against_poll_with_two_wakers_then_detach() {
            poll_with_two_wakers_then_detach::<$kind>(Ended::Done);
        }

        #[test]
        fn abandon_against_poll() {
            poll::<$kind>(Ended::Abandoned);
        }

        #[test]
        fn abandon_against_poll_again_with_the_same_waker() {
            poll_again_with_the_same_waker::<$kind>(Ended::Abandoned);
        }

        #[test]
        fn abandon_against_poll_again_with_another_waker() {
            poll_again_with_another_waker::<$kind>(Ended::Abandoned);
        }

        #[test]
        fn abandon_against_detach() {
            detach::<$kind>(Ended::Abandoned);
        }

        #[test]
        fn abandon_against_poll_then_detach() {
            poll_then_detach::<$kind>(Ended::Abandoned);
        }

        #[test]
        fn complete_against_detach_of_a_registered_waiter() {
            registered_then_detach::<$kind>(Ended::Done);
        }

        #[test]
        fn complete_against_poll_of_a_registered_waiter() {
            registered_then_poll_again::<$kind>(Ended::Done);
        }

        #[test]
        fn complete_against_another_waker_of_a_registered_waiter() {
            registered_then_poll_with_another_waker::<$kind>(Ended::Done);
        }

        #[test]
        fn abandon_against_poll_of_a_registered_waiter() {
            registered_then_poll_again::<$kind>(Ended::Abandoned);
        }
    };
}

each!(());

mod with_room {
    use super::*;

    each!(Room);
}

fn assert_rmws<S: Kind>(of_end_after_detach: usize) {
    model(move || {
        let wakes = Wakes::new();
        let link = Link::<S>::new();
        let mut waiter = Waiter::new(link);
        assert_eq!(rmws_of(|| waiter.poll(&wakes, Ended::Done)), 1);
        assert_eq!(rmws_of(|| waiter.poll(&wakes, Ended::Done)), 0);
        assert_eq!(rmws_of(|| link.finish(Ended::Done)), 1);
        assert_eq!(rmws_of(|| waiter.poll(&wakes, Ended::Done)), 0);

        let link = Link::<S>::new();
        let mut waiter = Waiter::new(link);
        assert!(!waiter.poll(&wakes, Ended::Done));
        let other = Wakes::new();
        assert_eq!(rmws_of(|| waiter.poll(&other, Ended::Done)), 1);
        assert_eq!(rmws_of(|| link.finish(Ended::Done)), 1);
        assert_eq!(rmws_of(|| waiter.poll(&other, Ended::Done)), 0);

        let link = Link::<S>::new();
        let mut waiter = Waiter::new(link);
        assert_eq!(rmws_of(|| link.finish(Ended::Done)), 1);
        assert_eq!(rmws_of(|| waiter.poll(&wakes, Ended::Done)), 0);

        let link = Link::<S>::new();
        let waiter = Waiter::new(link);
        assert_eq!(rmws_of(|| waiter.detach(Ended::Done, false)), 1);
        assert_eq!(rmws_of(|| link.finish(Ended::Done)), of_end_after_detach);
    });
}

#[test]
fn each_operation_makes_one_exchange_at_most() {
    assert_rmws::<()>(1);
}

#[test]
fn each_operation_with_room_makes_one_exchange_at_most() {
    assert_rmws::<Room>(0);
}

/// Each half of each ordering is needed: without it, the model that is named here fails.
macro_rules! caught {
    ($($name:ident: $site:literal to $weaker:ident by $model:ident::<$kind:ty>($how:ident);)*) => {$(
        #[test]
        fn $name() {
            assert_killed($site, Ordering::$weaker, || $model::<$kind>(Ended::$how));
        }
    )*};
}

caught! {
    weakened_complete_release_is_caught: "completion::complete" to Acquire by poll::<()>(Done);
    weakened_complete_acquire_is_caught: "completion::complete" to Release by poll::<()>(Done);
    weakened_complete_acquire_is_caught_by_detach: "completion::complete" to Release by detach::<()>(Done);
    weakened_abandon_release_is_caught: "completion::abandon" to Acquire by poll::<()>(Abandoned);
    weakened_abandon_acquire_is_caught: "completion::abandon" to Release by poll::<()>(Abandoned);
    weakened_abandon_acquire_is_caught_by_detach: "completion::abandon" to Release by detach::<()>(Abandoned);
    weakened_register_release_is_caught: "completion::register" to Acquire by poll::<()>(Done);
    weakened_register_acquire_is_caught: "completion::register" to Release by poll::<()>(Done);
    weakened_detach_release_is_caught: "completion::detach" to Acquire by detach::<()>(Done);
    weakened_detach_acquire_is_caught: "completion::detach" to Release by detach::<()>(Done);
    weakened_poll_is_caught: "completion::poll" to Relaxed by poll::<()>(Done);
    weakened_look_is_caught: "completion::look" to Relaxed by poll::<Room>(Done);
    weakened_look_is_caught_by_detach: "completion::look" to Relaxed by detach::<Room>(Done);
    weakened_unobserved_is_caught: "completion::unobserved" to Relaxed by poll::<Room>(Done);
    weakened_register_release_is_caught_with_room: "completion::register" to Acquire by poll::<Room>(Done);
    weakened_complete_release_is_caught_with_room: "completion::complete" to Acquire by registered_then_poll_again::<Room>(Done);
    weakened_abandon_release_is_caught_with_room: "completion::abandon" to Acquire by registered_then_poll_again::<Room>(Abandoned);
    weakened_complete_acquire_is_caught_with_room: "completion::complete" to Release by registered_then_poll_with_another_waker::<Room>(Done);
}
